// The constants that a kernel reads, as sliders: a run takes other values for them, and the text stays as it is.

import { byId, element } from "../../timeline/src/dom.ts";

type Found = Record<string, { value: number | string; line: number }>;

const MOST = 8; // times the value that the text has

export class Constants {
  private readonly pane = byId("constants");
  private readonly others = new Map<string, { was: number; value: number }>();
  private shown = "";

  /** changed: another value is chosen. goTo: shows a line of the text. */
  constructor(private readonly changed: () => void, private readonly goTo: (line: number) => void) {}

  /** The values that differ from those of the text. */
  get values(): Record<string, number> {
    return Object.fromEntries([...this.others].map(([name, { value }]) => [name, value]));
  }

  /** Shows the constants of the kernel that was built. A value of the text that has changed counts again. */
  show(found: Found): void {
    const numbers = Object.entries(found).flatMap(([name, { value, line }]) => (Number.isInteger(value) && Number(value) > 0 ? [{ name, value: Number(value), line }] : []))
      .sort((a, b) => a.line - b.line || a.name.localeCompare(b.name));
    const key = JSON.stringify(numbers);
    if (key === this.shown) return;
    this.shown = key;
    for (const [name, { was }] of this.others) if (!numbers.some((each) => each.name === name && each.value === was)) this.others.delete(name);
    const open = this.pane.querySelector("details")?.open ?? false;
    this.pane.hidden = !numbers.length;
    this.pane.replaceChildren(element("details", { open }, element("summary", {}, "Constants"),
      element("div", { class: "sliders" }, ...numbers.map((each) => this.slider(each)))));
  }

  private slider({ name, value, line }: { name: string; value: number; line: number }): HTMLElement {
    const steps = stepsAround(value), id = `constant-${name}`, now = this.others.get(name)?.value ?? value;
    const range = element("input", { type: "range", id, min: 0, max: steps.length - 1, step: 1, value: steps.indexOf(now) });
    const output = element("output", { for: id });
    const place = element("button", { type: "button", class: "to-line" }, `line ${line}`);
    place.addEventListener("click", () => this.goTo(line));
    const write = () => {
      const chosen = steps[Number(range.value)];
      output.textContent = chosen === value ? String(value) : `${chosen} (the text has ${value})`;
      range.setAttribute("aria-valuetext", output.textContent);
    };
    write();
    range.addEventListener("input", write);
    range.addEventListener("change", () => {
      const chosen = steps[Number(range.value)];
      if (chosen === value) this.others.delete(name);
      else this.others.set(name, { was: value, value: chosen });
      this.changed();
    });
    return element("div", { class: "slider" }, element("label", { for: id }, name), range, output, line ? place : null);
  }
}

/** The values that a slider offers: powers of two around one, else all numbers up to twice a value. */
function stepsAround(value: number): number[] {
  if (value > 4 && Number.isInteger(Math.log2(value))) {
    const first = Math.max(1, value / MOST);
    return Array.from({ length: Math.log2((value * MOST) / first) + 1 }, (_, index) => first * 2 ** index);
  }
  const step = value > 64 ? 2 ** Math.floor(Math.log2(value / 16)) : 1, first = value % step || step;
  return Array.from({ length: Math.floor((2 * value - first) / step) + 1 }, (_, index) => first + index * step);
}
