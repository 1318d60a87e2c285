// A ruler between two points of the time axis: drawn with the pointer, or set by the key m at what is chosen.

import { byId } from "./dom.ts";
import { cycles, duration } from "./format.ts";

export class Ruler {
  /** The two points in cycles; the second is null until it is set. */
  from: number | null = null;
  to: number | null = null;
  private readonly button = byId<HTMLButtonElement>("ruler");
  private dragging = false;

  /** changed: is called after each change. say: tells a screen reader. */
  constructor(private readonly clockGhz: number, private readonly changed: () => void, private readonly say: (text: string) => void) {
    this.button.addEventListener("click", () => {
      this.button.setAttribute("aria-pressed", String(!this.on));
      if (!this.on) this.clear();
      else this.say("Drag over the timeline to measure, or press m at what is chosen.");
    });
  }

  /** Whether the pointer measures instead of moving the view. */
  get on(): boolean { return this.button.getAttribute("aria-pressed") === "true"; }

  get span(): [number, number] | null { return this.from === null || this.to === null ? null : [this.from, this.to]; }

  /** The length between the points, in words; empty if there are not two. */
  get words(): string {
    if (this.from === null || this.to === null) return "";
    const length = Math.abs(this.to - this.from);
    return `${cycles(length)} cycles, ${duration(length, this.clockGhz)}`;
  }

  start(time: number): void {
    this.dragging = true;
    this.from = this.to = time;
    this.changed();
  }

  /** The pointer went to a time. Returns whether that moves the ruler. */
  drag(time: number): boolean {
    if (!this.dragging) return false;
    this.to = time;
    this.changed();
    return true;
  }

  end(): void {
    if (!this.dragging) return;
    this.dragging = false;
    if (this.words) this.say(`The ruler: ${this.words}.`);
  }

  /** Sets the first point at a start, then the second at an end, then the first again. */
  mark([start, end]: [number, number]): void {
    if (this.from === null || this.to !== null) {
      this.from = start;
      this.to = null;
      this.say(`The ruler begins at cycle ${cycles(start)}.`);
    } else {
      this.to = end;
      this.say(`From cycle ${cycles(this.from)} to ${cycles(end)}: ${this.words}.`);
    }
    this.changed();
  }

  clear(): void {
    this.from = this.to = null;
    this.dragging = false;
    this.changed();
  }
}
