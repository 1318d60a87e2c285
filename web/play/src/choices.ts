// What runs: the kernel, its size, the GPU and how many SMs.

import { byId, element } from "../../timeline/src/dom.ts";
import type { Kernel, Session, Sizes } from "./protocol.ts";

const AXES = ["m", "n", "k"] as const;

export class Choices {
  private kernels: Kernel[] = [];
  private readonly kernelBox = byId<HTMLSelectElement>("kernel");
  private readonly gpuBox = byId<HTMLSelectElement>("gpu");
  private readonly smsBox = byId<HTMLInputElement>("sms");
  private readonly sizeBoxes = AXES.map((axis) => byId<HTMLInputElement>(`size-${axis}`));

  /** changed: is called when the reader chooses something else. */
  constructor(session: Session, changed: () => void) {
    this.gpuBox.replaceChildren(...session.gpus.map(({ name, title }) => element("option", { value: name }, title)));
    this.gpuBox.value = session.ladder;
    if (this.gpuBox.selectedIndex < 0) this.gpuBox.selectedIndex = 0;
    this.list(session.kernels);
    this.kernelBox.addEventListener("change", () => {
      this.takeSizes();
      changed();
    });
    for (const box of [this.gpuBox, this.smsBox, ...this.sizeBoxes]) box.addEventListener("change", changed);
  }

  /** Offers these kernels; the chosen one stays if it is among them, else the last one that is written. */
  list(kernels: Kernel[]): void {
    if (JSON.stringify(kernels) === JSON.stringify(this.kernels)) return;
    const before = this.kernelBox.value;
    this.kernels = kernels;
    this.kernelBox.replaceChildren(...kernels.map(({ name, title, written }) =>
      element("option", { value: name }, `${name}${title ? `: ${title}` : ""}${written ? "" : " (open)"}`)));
    if (kernels.some((each) => each.name === before)) {
      this.kernelBox.value = before;
      return;
    }
    const written = kernels.filter((each) => each.written).at(-1) ?? kernels[0];
    if (written) this.choose(written.name, written.sizes);
  }

  choose(kernel: string, sizes: Sizes): void {
    this.kernelBox.value = kernel;
    this.takeSizes(sizes);
  }

  private takeSizes(sizes = this.kernels.find((each) => each.name === this.kernel)?.sizes): void {
    if (sizes) AXES.forEach((axis, index) => { this.sizeBoxes[index].value = String(sizes[axis]); });
  }

  get kernel(): string { return this.kernelBox.value; }
  get step(): number | null { return this.kernels.find((each) => each.name === this.kernel)?.step ?? null; }
  get gpu(): string { return this.gpuBox.value; }
  get sms(): number | null { return this.smsBox.value === "" ? null : Number(this.smsBox.value); }
  get sizes(): Sizes {
    const [m, n, k] = this.sizeBoxes.map((box) => Number(box.value));
    return { m, n, k };
  }

  /** What keeps it from running, as one sentence; empty if nothing does. */
  get lack(): string {
    if (!this.kernel) return "The text has no function that builds a kernel.";
    const whole = [...Object.values(this.sizes), this.sms ?? 1].every((value) => Number.isInteger(value) && value > 0);
    return whole ? "" : "The sizes and the number of SMs are whole numbers above 0.";
  }
}
