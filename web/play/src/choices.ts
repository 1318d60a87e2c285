// What runs: the kernel, its size, the GPU and how many SMs.

import { byId, element } from "../../timeline/src/dom.ts";
import { Launch } from "./launch.ts";
import type { Drill, Kernel, LaunchFields, Session, Sizes } from "./protocol.ts";

const AXES = ["m", "n", "k"] as const;

export class Choices {
  private kernels: Kernel[] = [];
  private before: { kernels: Kernel[]; kernel: string; sizes: Sizes | null; gpu: string; sms: string } | null = null;
  private readonly kernelBox = byId<HTMLSelectElement>("kernel");
  private readonly gpuBox = byId<HTMLSelectElement>("gpu");
  private readonly smsBox = byId<HTMLInputElement>("sms");
  private readonly sizeBoxes = AXES.map((axis) => byId<HTMLInputElement>(`size-${axis}`));
  private readonly launching: Launch;

  /** changed: is called when the reader chooses something else. reveal: shows a line of the text. */
  constructor(session: Session, changed: () => void, private readonly reveal: (line: number) => void) {
    this.gpuBox.replaceChildren(...session.gpus.map(({ name, title }) => element("option", { value: name }, title)));
    this.gpuBox.value = session.ladder;
    if (this.gpuBox.selectedIndex < 0) this.gpuBox.selectedIndex = 0;
    this.launching = new Launch(session, changed);
    byId("sizes").hidden = this.smsBox.closest("label")!.hidden = session.launch !== undefined;
    this.list(session.kernels);
    const first = session.kernel?.replace(/<.*/, "");
    if (first && session.kernels.some((each) => each.name === first)) this.choose(first);
    this.limit(session);
    this.gpuBox.addEventListener("change", () => this.limit(session));
    this.kernelBox.addEventListener("change", () => {
      this.takeSizes();
      this.revealKernel();
      changed();
    });
    for (const box of [this.gpuBox, this.smsBox, ...this.sizeBoxes]) box.addEventListener("change", changed);
  }

  /** Offers these kernels; the chosen one stays if it is among them, else the last one that is written. */
  list(kernels: Kernel[]): void {
    if (this.before && this.kernels.length) return; // a drill
    if (JSON.stringify(kernels) === JSON.stringify(this.kernels)) return;
    const before = this.kernelBox.value;
    this.kernels = kernels;
    this.kernelBox.replaceChildren(...kernels.map(({ name, title, written }) =>
      element("option", { value: name }, `${name}${title && title !== name ? `: ${title}` : ""}${written ? "" : " (open)"}`)));
    if (kernels.some((each) => each.name === before)) {
      this.kernelBox.value = before;
      return this.launching.of(this.chosen);
    }
    const written = kernels.filter((each) => each.written).at(-1) ?? kernels[0];
    if (written) this.choose(written.name, written.sizes);
  }

  choose(kernel: string, sizes?: Sizes | null): void {
    this.kernelBox.value = kernel;
    this.takeSizes(sizes);
  }

  /** The GPU has no more SMs than it has. */
  private limit({ gpus }: Session): void {
    const sms = gpus.find((each) => each.name === this.gpu)?.sms;
    if (!sms) return;
    this.smsBox.max = String(sms);
    this.smsBox.placeholder = String(sms);
    if (this.sms !== null && this.sms > sms) this.smsBox.value = "";
  }

  /** Shows the sizes of the chosen kernel; those that it does not let one choose cannot be changed. */
  private takeSizes(sizes = this.chosen?.sizes ?? null): void {
    this.launching.of(this.chosen);
    const free = sizes ? this.chosen?.free ?? "MNK" : "";
    AXES.forEach((axis, index) => {
      const box = this.sizeBoxes[index];
      box.value = sizes ? String(sizes[axis]) : "";
      box.disabled = !free.includes(axis.toUpperCase());
    });
  }

  /** Runs a drill's kernel, whatever is chosen, until it is released. */
  fix({ kernel, sizes, gpu, sms }: Drill): void {
    this.before = { kernels: this.kernels, kernel: this.kernelBox.value, sizes: this.sizes, gpu: this.gpu, sms: this.smsBox.value };
    this.kernels = [];
    this.list([{ name: kernel, step: null, title: "", written: true, sizes, free: "" }]);
    this.choose(kernel, sizes);
    if (gpu) this.gpuBox.value = gpu;
    this.smsBox.value = sms ? String(sms) : "";
    this.kernelBox.disabled = this.gpuBox.disabled = this.smsBox.disabled = true;
  }

  release(): void {
    if (!this.before) return;
    const { kernels, kernel, sizes, gpu, sms } = this.before;
    this.before = null;
    this.list(kernels);
    this.choose(kernel, sizes);
    this.gpuBox.value = gpu;
    this.smsBox.value = sms;
    this.kernelBox.disabled = this.gpuBox.disabled = this.smsBox.disabled = false;
  }

  /** Shows the first line of the chosen kernel. */
  revealKernel(): void {
    if (this.chosen?.line) this.reveal(this.chosen.line);
  }

  private get chosen(): Kernel | undefined { return this.kernels.find((each) => each.name === this.kernelBox.value); }

  /** The name of the kernel, with the arguments of a template. */
  get kernel(): string { return this.launching.nameOf(this.chosen, this.kernelBox.value); }
  get launch(): LaunchFields | undefined { return this.launching.fields; }
  get step(): number | null { return this.chosen?.step ?? null; }
  get gpu(): string { return this.gpuBox.value; }
  get sms(): number | null { return this.smsBox.value === "" ? null : Number(this.smsBox.value); }
  get sizes(): Sizes | null {
    if (!this.chosen?.sizes) return null;
    const [m, n, k] = this.sizeBoxes.map((box) => Number(box.value));
    return { m, n, k };
  }

  /** What keeps it from running, as one sentence; empty if nothing does. */
  get lack(): string {
    if (!this.kernelBox.value) return this.launch ? "The text has no kernel." : "The text has no function that builds a kernel.";
    const whole = [...Object.values(this.sizes ?? {}), this.sms ?? 1].every((value) => Number.isInteger(value) && value > 0);
    return whole ? this.launching.lackOf(this.chosen) : "The sizes and the number of SMs are whole numbers above 0.";
  }
}
