// The launch of a kernel of CUDA C++ or PTX: its arguments, the grid and the block, as the command `check` takes them.

import { byId } from "../../timeline/src/dom.ts";
import type { Kernel, LaunchFields, Session } from "./protocol.ts";

const EXTENTS = ["grid", "block", "cluster"] as const;
const DTYPES: Record<string, string> = {
  float: "float32", double: "float64", int: "int32", unsigned: "uint32", short: "int16", char: "int8", half: "float16", __half: "float16",
  __nv_bfloat16: "bfloat16", int64_t: "int64", uint64_t: "uint64", int32_t: "int32", uint32_t: "uint32", int8_t: "int8", uint8_t: "uint8",
};

/** Arguments that fit the parameters of a kernel, as an example. */
export function exampleOf(parameters: string): string {
  const parts = parameters.split(",").filter((part) => part.trim());
  return parts.map((part) => {
    if (!part.includes("*")) return "1024";
    const word = part.match(/\w+/g)?.find((each) => each in DTYPES);
    return `${word ? DTYPES[word] : "float32"}[1024]`;
  }).join(", ");
}

export class Launch {
  private readonly args = byId<HTMLInputElement>("launch-args");
  private readonly extents = EXTENTS.map((name) => byId<HTMLInputElement>(`launch-${name}`));
  private readonly smem = byId<HTMLInputElement>("launch-smem");
  private readonly template = byId<HTMLInputElement>("launch-template");
  /** Whether the file's kernels are launched so. */
  private readonly shown: boolean;

  /** changed: is called when the reader changes a field. */
  constructor({ launch, kernel }: Session, changed: () => void) {
    this.shown = launch !== undefined;
    byId("launch").hidden = !this.shown;
    if (!launch) return;
    this.args.value = launch.args;
    EXTENTS.forEach((name, index) => { this.extents[index].value = launch[name]; });
    this.smem.value = launch.smem ? String(launch.smem) : "";
    this.template.value = /<(.*)>$/.exec(kernel ?? "")?.[1] ?? "";
    for (const box of [this.args, ...this.extents, this.smem, this.template]) box.addEventListener("change", changed);
  }

  /** Shows what this kernel takes. */
  of(kernel: Kernel | undefined): void {
    if (!this.shown) return;
    this.args.placeholder = exampleOf(kernel?.parameters ?? "");
    this.template.closest("label")!.hidden = !kernel?.template;
  }

  /** The name by which this kernel is launched. */
  nameOf(kernel: Kernel | undefined, name: string): string {
    return this.shown && kernel?.template ? `${name}<${this.template.value.trim()}>` : name;
  }

  get fields(): LaunchFields | undefined {
    if (!this.shown) return undefined;
    const [grid, block, cluster] = this.extents.map((box) => box.value.trim());
    return { args: this.args.value.trim(), grid, block, cluster, smem: Number(this.smem.value) };
  }

  /** What keeps a kernel from running, as one sentence; empty if nothing does. */
  lackOf(kernel: Kernel | undefined): string {
    const fields = this.fields;
    if (!fields) return "";
    if (kernel?.template && !this.template.value.trim()) return `${kernel.name} is a template: fill in its arguments, as in float.`;
    if (!fields.grid || !fields.block) return "Fill in how the kernel is launched: Arguments, Grid as in 8,4 and Block as in 128.";
    return Number.isInteger(fields.smem) && fields.smem >= 0 ? "" : "The bytes of shared memory are a whole number.";
  }
}
