"""The expected and delivered bytes per round of each barrier."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tirx_mini.ir import PrimFunc, Span, TensorMap, Var, int_value
from tirx_mini.isa import BarrierEffect, masked_at_run_time
from tirx_mini.records import dataclass

from ..kind import Explanation, Kind, Notes
from .sites import Site, Sites, find_sites


@dataclass(frozen=True)
class ByteCount:
    """The bytes per round that are expected at a barrier and that its TMA loads deliver. barrier: the buffer's name."""

    barrier: str
    announced: int
    delivered: int
    announce: Site
    loads: tuple[Site, ...]

    def sentence(self, name: str) -> str:
        """Return a sentence about the mismatch at `name`."""
        return f"each round announces {self.announced} bytes to {name}, and its TMA loads deliver {self.delivered}"

    def other_barrier(self, name: str) -> tuple[str, str] | None:
        """Return the message and the hint if the bytes are right, but the loads signal another CTA's barrier."""
        own = [load for load in self.loads if not load.remote]
        if not own or not self.announce.remote or self.delivered * 2 != self.announced:
            return None
        return (
            f"the bytes of all CTAs are announced at one CTA's {name}, and each CTA's loads signal its own {name}",
            "give the loads the barrier at which their bytes are announced: the remote view of the leader's",
        )

    @property
    def notes(self) -> Notes:
        return (
            ("the bytes are announced here", self.announce.span),
            *(("this load delivers bytes", site.span) for site in self.loads),
        )


def announced_elsewhere(func: PrimFunc, sites: Sites, name: str) -> Suspect | None:
    """Check for bytes that each CTA announces at its own barrier, while all loads signal that of one CTA."""
    announce = [site for site in sites.all if site.barrier == name and site.effect and site.effect.expects_bytes]
    loads, cluster = sites.of(name, BarrierEffect.COMPLETE_TX), func.launch.cluster_size if func.launch else 1
    owners = {load.rank for load in loads}
    own = [site for site in announce if not site.remote and not site.by_cta]
    if cluster < 2 or not own or len(owners) != 1 or None in owners or any(load.by_cta for load in loads):
        return None
    (owner,), count = owners, _count(func, name, own[0], loads) if len(own) == 1 else None
    how = f"{name}.remote_view({owner}).arrive(stage, bytes)"
    init = ""
    if count is not None and count.announced * cluster == count.delivered:
        init = f"; each announces its own part, so {name} gets {cluster} arrivals a phase"
    elif count is not None and count.announced == count.delivered:
        init = f", in CTA {owner} only: these are the bytes of all CTAs, and {name} gets one arrival a phase"
    explanation = Explanation(
        f"each CTA announces bytes at its own {name}, and the loads of all CTAs complete at CTA {owner}'s: those that "
        "other CTAs announce never arrive",
        f"announce them at the barrier that the loads signal, {how}{init}",
        tuple(("this load signals the barrier of one CTA", site.span) for site in loads),
        {"barrier": name},
    )
    return Suspect(BYTE_COUNT, explanation, own[0].span)


def byte_count(func: PrimFunc, sites: Sites, barrier: str) -> ByteCount | None:
    """Return the byte count per round of the barriers with this name, or None if the program does not determine it."""
    announce = [site for site in sites.all if site.barrier == barrier and site.effect and site.effect.expects_bytes]
    loads = sites.of(barrier, BarrierEffect.COMPLETE_TX)
    if not announce or not loads or func.launch is None:
        return None
    counts = [_count(func, barrier, one, some) for one, some in zip(announce, _rounds(announce, loads), strict=True)]
    told = {None if count is None else (count.announced, count.delivered) for count in counts}
    return counts[0] if len(told) == 1 else None


def _rounds(announce: Sequence[Site], loads: Sequence[Site]) -> list[list[Site]]:
    """Return the loads of each announcement, an empty list if they are unknown.

    There are several announcements if a function is inlined several times; its loads then have as many copies.
    """
    if len(announce) == 1:
        return [list(loads)]
    lines: dict[Hashable, list[Site]] = {}
    for site in loads:
        lines.setdefault(_line(site), []).append(site)
    same = len({_line(site) for site in announce}) == 1
    if not same or any(len(sites) != len(announce) for sites in lines.values()):
        return [[] for _ in announce]
    return [list(sites) for sites in zip(*lines.values(), strict=True)]


def _line(site: Site) -> Hashable:
    return (site.span.user.file, site.span.user.line) if site.span is not None else None


def _count(func: PrimFunc, barrier: str, announce: Site, loads: Sequence[Site]) -> ByteCount | None:
    """Return the bytes expected at one announcement and delivered by the loads; None if either is unknown."""
    assert func.launch is not None
    announced = int_value(announce.argument("bytes"))
    delivered = [_delivered(func, site, announce) for site in loads]
    known = [count for count in delivered if count is not None]
    if announced is None or not loads or len(known) < len(delivered):
        return None
    return ByteCount(barrier, announced * announce.ctas(func.launch.cluster_size), sum(known), announce, tuple(loads))


def _delivered(func: PrimFunc, load: Site, announce: Site) -> int | None:
    """Return the bytes of a load per round of the loop that announces them, or None if unknown.

    Loads that signal one CTA's barrier from every CTA of the cluster count once for each CTA, and so do announcements.
    A guard around the load alone leaves its number of executions unknown.
    """
    assert func.launch is not None
    maps: dict[Var, TensorMap] = {tensor_map.var: tensor_map for tensor_map in func.tensor_maps}
    found = next((maps[arg] for arg in load.call.args if isinstance(arg, Var) and arg in maps), None)
    times = load.rounds_within(announce.loops)
    own_guards = {id(guard.cond) for guard in load.guards} - {id(guard.cond) for guard in announce.guards}
    if found is None or times is None or own_guards or load.call.attr("cta_mask", 0) or masked_at_run_time(load.call):
        return None
    return found.box_bytes * times * load.ctas(func.launch.cluster_size)


@dataclass(frozen=True)
class Suspect:
    """A mistake that the program shows, independently of the run. span: of the announcement."""

    kind: Kind
    explanation: Explanation
    span: Span | None


BYTE_COUNT = Kind(
    "byte-count", "TX106", "hazard", "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip


def suspects(func: PrimFunc) -> list[Suspect]:
    """Return the barriers whose expected bytes per round differ from the delivered ones, or are missing."""
    sites = find_sites(func)
    loads = [site for site in sites.all if site.effect is BarrierEffect.COMPLETE_TX]
    found: list[Suspect] = []
    announced = {site.barrier for site in sites.all if site.effect and site.effect.expects_bytes}
    for name in dict.fromkeys(load.barrier for load in loads):
        if name and not announced & {name, ""}:
            found.append(_unannounced(func, name, [load for load in loads if load.barrier == name]))
        if (elsewhere := announced_elsewhere(func, sites, name)) is not None:
            found.append(elsewhere)
            continue
        count = byte_count(func, sites, name)
        if count is not None and count.announced != count.delivered:
            about = {"barrier": name}
            order = f"if {name} completes a phase whose bytes have not all landed"
            message, hint = count.other_barrier(name) or (count.sentence(name), bytes_hint(func))
            explanation = Explanation(message, hint, count.notes[1:], about, order=order)
            found.append(Suspect(BYTE_COUNT, explanation, count.announce.span))
    return found


def _unannounced(func: PrimFunc, name: str, loads: list[Site]) -> Suspect:
    """Return the suspect for a barrier whose delivered bytes are never announced."""
    explanation = Explanation(
        f"{deliveries(loads)} deliver bytes to {name}, and nothing announces them: its phases do not wait for these",
        announce_hint(loads, name),
        tuple((f"this {load.role} delivers bytes", load.span) for load in loads[1:]),
        {"barrier": name},
    )
    return Suspect(BYTE_COUNT, explanation, loads[0].span)


def deliveries(sites: Sequence[Site]) -> str:
    """Return the byte-delivering operations in words: "TMA loads and st.async operations"."""
    return " and ".join(dict.fromkeys(_PLURALS.get(site.role, f"{site.role} operations") for site in sites))


def announce_hint(sites: Sequence[Site], name: str) -> str:
    """Return the hint to announce the bytes that the sites deliver to the barrier `name`."""
    own = all(site.role == "TMA load" for site in sites)
    who = "the thread that issues the loads" if own else "a thread of the CTA that receives the bytes"
    return f"let {who} call Tx.ptx.mbarrier.arrive.expect_tx on {name}, with their bytes"


_PLURALS = {"TMA load": "TMA loads", "bulk copy": "bulk copies"}


def bytes_hint(func: PrimFunc) -> str:
    """Return the hint about the number of bytes to announce."""
    hint = "announce the bytes of the copies that signal the barrier: elements of their tiles × bytes of an element"
    clusters = func.launch is not None and func.launch.cluster_size > 1
    return hint + (", of all CTAs whose copies signal it" if clusters else "")
