"""A stand-in for Modal's servers: it speaks their protocol with Modal's own client, and runs functions for real.

The client gets its address from `MODAL_SERVER_URL`, a setting of `modal.config`. This server stores the files that
the client sends, lays out images and mounts in a folder, and runs a function there in a process of its own: what was
not sent is not there. It builds no image: the packages are those of this Python.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from google.protobuf.empty_pb2 import Empty
from grpclib import GRPCError, Status
from grpclib.server import Server, Stream
from modal_proto import api_pb2
from modal_proto.api_grpc import ModalClientBase

DONE = api_pb2.GenericResult.GENERIC_STATUS_SUCCESS
_FAILED = api_pb2.GenericResult.GENERIC_STATUS_FAILURE
_GENERATOR = api_pb2.DATA_FORMAT_GENERATOR_DONE
CONTAINER = """
import pickle, sys
import run_modal
name, generator, args = pickle.load(sys.stdin.buffer)
frames = sys.stdout.buffer
sys.stdout = sys.stderr
found = getattr(run_modal, name).local(*args)
for frame in found if generator else [found]:
    data = pickle.dumps(frame)
    frames.write(len(data).to_bytes(4, "big") + data)
    frames.flush()
"""
"""A process in the cloud: the function and its arguments come from stdin, what it yields or returns goes to stdout."""


@dataclass
class Call:
    """A call of a function. gpu: that was asked for. frames: what it yields, pickled; total: how many, at the end."""

    name: str
    gpu: str
    args: tuple[Any, ...]
    frames: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    total: int = 0
    status: int = 0


@dataclass
class Cloud:
    """What the client did, and how the servers behave.

    folder: for the files of containers. contents: of files, by their SHA-256. builds: images that were built. created:
    functions by name. stopped: the apps that the client ended. free: whether machines are free. rejection: what comes
    instead of an app; refusal: instead of a GPU. ending: what a function ends with. path: of containers.
    """

    folder: Path
    contents: dict[str, bytes]
    url: str = ""
    free: bool = True
    refusal: tuple[Status, str] | None = None
    rejection: tuple[Status, str] | None = None
    ending: api_pb2.GenericResult = field(default_factory=lambda: api_pb2.GenericResult(status=DONE))
    path: str = field(default_factory=lambda: os.environ["PATH"])
    mounts: dict[str, dict[str, str]] = field(default_factory=dict)
    images: dict[str, api_pb2.Image] = field(default_factory=dict)
    builds: list[str] = field(default_factory=list)
    created: dict[str, api_pb2.Function] = field(default_factory=dict)
    gpus: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    containers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Of a client that is logged in here."""
        return {"MODAL_SERVER_URL": self.url, "MODAL_TOKEN_ID": "ak-test", "MODAL_TOKEN_SECRET": "as-test"}

    def sent(self) -> set[str]:
        """The names of all files that images and functions were given."""
        return {name for mount in self.mounts.values() for name in mount}

    def stop(self) -> None:
        """End all containers, as Modal does when an app is over."""
        for child in self.containers:
            child.kill()

    def lay_out(self, function: api_pb2.Function) -> Path:
        """The root of a container's file system, with all that was sent for the function."""
        root = self.folder / identifier("root", repr((function.image_id, *sorted(function.mount_ids))).encode())
        image = self.images[function.image_id]
        layers = [image]
        while layers[-1].base_images:
            layers.append(self.images[layers[-1].base_images[0].image_id])
        for layer in reversed(layers):
            target = next((words[2] for words in map(str.split, layer.dockerfile_commands) if words[0] == "COPY"), "")
            for name, digest in self.mounts.get(layer.context_mount_id, {}).items():
                self._write(root / f"{target}/{name}".lstrip("/"), digest)
        for mount in function.mount_ids:
            for name, digest in self.mounts.get(mount, {}).items():
                self._write(root / name.lstrip("/"), digest)
        return root

    def _write(self, path: Path, digest: str) -> None:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.contents[digest])

    def start(self, name: str, args: tuple[Any, ...]) -> subprocess.Popen[bytes]:
        """A container that runs a function."""
        root, function = self.lay_out(self.created[name]), self.created[name]
        generator = function.function_type == api_pb2.Function.FUNCTION_TYPE_GENERATOR
        kit = root / "root" / "kit"
        environment = {
            "PATH": self.path, "PYTHONPATH": os.pathsep.join(map(str, (root / "root", kit))), "PYTHONUTF8": "1",
            **{key: value for key, value in os.environ.items() if key in ("SYSTEMROOT", "HOME", "TMPDIR", "TEMP")},
        }  # fmt: skip
        child = subprocess.Popen(
            [sys.executable, "-c", CONTAINER], cwd=kit, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.containers.append(child)
        assert child.stdin is not None
        child.stdin.write(pickle.dumps((name, generator, args)))
        child.stdin.close()
        return child


def answer(reply: Callable[[Cloud, Any], Any]) -> Callable[[Any, Stream[Any, Any]], Any]:
    """The method of a service for a function from a request to its response."""

    async def method(self: Service, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        await stream.send_message(reply(self.cloud, request))

    return method


def missing(name: str) -> Callable[[Any, Stream[Any, Any]], Any]:
    async def method(self: Service, stream: Stream[Any, Any]) -> None:
        raise GRPCError(Status.UNIMPLEMENTED, f"this stand-in knows no {name}")

    return method


def identifier(kind: str, content: bytes) -> str:
    """The same for the same content, as Modal's images and mounts."""
    return f"{kind}-{sha256(content).hexdigest()[:16]}"


def handle(name: str, kind: int) -> api_pb2.FunctionHandleMetadata:
    return api_pb2.FunctionHandleMetadata(function_name=name, function_type=kind, definition_id="de-1")


class Service(ModalClientBase):
    """The calls that the client makes for `modal run`."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    ClientHello = answer(lambda cloud, _: api_pb2.ClientHelloResponse())
    AppHeartbeat = answer(lambda cloud, _: Empty())
    AuthTokenGet = answer(lambda cloud, _: api_pb2.AuthTokenGetResponse(token=""))
    AppPublish = answer(lambda cloud, _: api_pb2.AppPublishResponse(url="https://cloud.test/app"))
    MountBatchedCheckExistence = answer(
        lambda cloud, request: api_pb2.MountBatchedCheckExistenceResponse(
            missing_sha256_hex_hashes=[digest for digest in request.sha256_hex_hashes if digest not in cloud.contents]
        )
    )
    EnvironmentGetOrCreate = answer(
        lambda cloud, _: api_pb2.EnvironmentGetOrCreateResponse(
            environment_id="en-1",
            metadata=api_pb2.EnvironmentMetadata(
                name="main", settings=api_pb2.EnvironmentSettings(image_builder_version="2025.06")
            ),
        )
    )

    async def AppCreate(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        if self.cloud.rejection is not None:
            raise GRPCError(*self.cloud.rejection)
        await stream.send_message(api_pb2.AppCreateResponse(app_id="ap-1", app_page_url="https://cloud.test/app"))

    async def AppClientDisconnect(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        self.cloud.stopped.append(request.app_id)
        self.cloud.stop()
        await stream.send_message(Empty())

    async def AppGetLogs(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        while not self.cloud.stopped:
            await asyncio.sleep(0.02)
        await stream.send_message(api_pb2.TaskLogsBatch(app_done=True))

    async def MountPutFile(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        assert sha256(request.data).hexdigest() == request.sha256_hex
        self.cloud.contents[request.sha256_hex] = request.data
        await stream.send_message(api_pb2.MountPutFileResponse(exists=True))

    async def MountGetOrCreate(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        files = {file.filename: file.sha256_hex for file in request.files}
        mount = identifier("mo", repr(sorted(files.items())).encode() + request.deployment_name.encode())
        self.cloud.mounts[mount] = files
        await stream.send_message(api_pb2.MountGetOrCreateResponse(mount_id=mount))

    async def ImageGetOrCreate(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        image = identifier("im", request.image.SerializeToString(deterministic=True))
        if image not in self.cloud.images:
            self.cloud.images[image] = request.image
            self.cloud.builds.append(image)
        result = api_pb2.GenericResult(status=DONE)
        metadata = api_pb2.ImageMetadata(python_version_info="3.12.9")
        await stream.send_message(api_pb2.ImageGetOrCreateResponse(image_id=image, result=result, metadata=metadata))

    async def FunctionPrecreate(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        metadata = handle(request.function_name, request.function_type)
        function = f"fu-{request.function_name}"
        await stream.send_message(api_pb2.FunctionPrecreateResponse(function_id=function, handle_metadata=metadata))

    async def FunctionCreate(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        function = request.function
        name = f"fu-{function.function_name}"
        self.cloud.created[function.function_name] = function
        self.cloud.gpus[name] = function.resources.gpu_config.gpu_type
        metadata = handle(function.function_name, function.function_type)
        ranked = api_pb2.FunctionData.RankedFunction(rank=0, function=function)
        data = api_pb2.FunctionData(function_name=function.function_name, ranked_functions=[ranked])
        await stream.send_message(
            api_pb2.FunctionCreateResponse(
                function_id=name, function=function, handle_metadata=metadata, function_data=data
            )
        )

    async def FunctionBindParams(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        if self.cloud.refusal is not None:
            raise GRPCError(*self.cloud.refusal)
        name = request.function_id.removeprefix("fu-")
        gpu = request.function_options.resources.gpu_config.gpu_type
        self.cloud.gpus[f"{request.function_id}@{gpu}"] = gpu
        metadata = handle(name, self.cloud.created[name].function_type)
        await stream.send_message(
            api_pb2.FunctionBindParamsResponse(
                bound_function_id=f"{request.function_id}@{gpu}", handle_metadata=metadata
            )
        )

    async def FunctionMap(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        args, _ = pickle.loads(request.pipelined_inputs[0].input.args)
        name = request.function_id.removeprefix("fu-").partition("@")[0]
        call = Call(name, self.cloud.gpus[request.function_id], args)
        self.cloud.calls.append(call)
        if self.cloud.free:
            threading.Thread(target=self._run, args=(asyncio.get_running_loop(), call), daemon=True).start()
        item = api_pb2.FunctionPutInputsResponseItem(idx=0, input_id="in-0", input_jwt="jwt")
        name = f"fc-{len(self.cloud.calls) - 1}"
        await stream.send_message(api_pb2.FunctionMapResponse(function_call_id=name, pipelined_inputs=[item]))

    def _run(self, loop: asyncio.AbstractEventLoop, call: Call) -> None:
        """Run a container. What it says are the frames of the call, and None is the last."""
        child = self.cloud.start(call.name, call.args)
        assert child.stdout is not None
        with child.stdout as frames:
            while head := frames.read(4):
                loop.call_soon_threadsafe(call.frames.put_nowait, frames.read(int.from_bytes(head, "big")))
        call.status = child.wait()
        loop.call_soon_threadsafe(call.frames.put_nowait, None)

    def _call(self, name: str) -> Call:
        return self.cloud.calls[int(name.removeprefix("fc-"))]

    async def FunctionCallGetDataOut(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        call = self._call(request.function_call_id)
        while (data := await call.frames.get()) is not None:
            call.total += 1
            await stream.send_message(
                api_pb2.DataChunk(data_format=api_pb2.DATA_FORMAT_PICKLE, data=data, index=call.total)
            )
        call.ended.set()
        await asyncio.Event().wait()  # the client closes the stream

    async def FunctionGetOutputs(self, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        call = self._call(request.function_call_id)
        if self.cloud.created[call.name].function_type == api_pb2.Function.FUNCTION_TYPE_GENERATOR:
            await call.ended.wait()
            data, kind = api_pb2.GeneratorDone(items_total=call.total).SerializeToString(), _GENERATOR
        else:
            data, kind = await call.frames.get() or b"", api_pb2.DATA_FORMAT_PICKLE
        ending = self.cloud.ending
        if call.status or not data:
            ending = api_pb2.GenericResult(status=_FAILED, exception="the container ended without a result")
        result = api_pb2.GenericResult(status=ending.status, exception=ending.exception)
        if ending.status == DONE:
            result.data = data
        output = api_pb2.FunctionGetOutputsItem(result=result, idx=0, data_format=kind)
        await stream.send_message(api_pb2.FunctionGetOutputsResponse(outputs=[output]))


for _name in Service.__abstractmethods__:
    setattr(Service, _name, missing(_name))
Service.__abstractmethods__ = frozenset()


@contextmanager
def serving(folder: Path, contents: dict[str, bytes]) -> Iterator[Cloud]:
    """A cloud at an address of this machine. folder, contents: as of a `Cloud`, which several may share in turn."""
    cloud, ready, loop = Cloud(folder, contents), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        server = Server([Service(cloud)])
        await server.start("127.0.0.1", 0)
        assert server._server is not None
        cloud.url = f"http://127.0.0.1:{server._server.sockets[0].getsockname()[1]}"
        ready.set()
        await stop.wait()
        server.close()
        await server.wait_closed()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    try:
        assert ready.wait(10)
        yield cloud
    finally:
        cloud.stop()
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
