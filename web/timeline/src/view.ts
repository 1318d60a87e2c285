// The part of the time axis that is seen, moved by mouse, touch and keys. d3-zoom turns gestures into transforms.

import { scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { zoom, type ZoomBehavior, zoomIdentity, type ZoomTransform } from "d3-zoom";

const CLOSEST = 40; // cycles over the whole width, at the highest zoom

export class View {
  width = 800;
  /** Whether a drag does something else than to pan. */
  held: () => boolean = () => false;
  private transform: ZoomTransform = zoomIdentity;
  private readonly gestures: ZoomBehavior<HTMLCanvasElement, unknown>;

  /** above: pixels at the top where a drag does not pan. changed: is called after each move. scrolled: takes the pixels that a drag went up or down. */
  constructor(
    private readonly canvas: HTMLCanvasElement, readonly cycles: number, private readonly above: number, changed: () => void,
    scrolled: (by: number) => void,
  ) {
    let grabbed: number | null = null;
    this.gestures = zoom<HTMLCanvasElement, unknown>()
      .scaleExtent([1, Math.max(1, cycles / CLOSEST)])
      .filter((event: MouseEvent) => !event.button && !(event instanceof WheelEvent ? this.pans(event) : event.offsetY < this.above || this.held()))
      .on("start", (event) => { grabbed = event.sourceEvent?.type === "mousedown" ? event.sourceEvent.clientY : null; })
      .on("zoom", (event) => {
        this.transform = event.transform;
        const y = event.sourceEvent?.clientY;
        if (grabbed !== null && event.sourceEvent?.type === "mousemove") {
          scrolled(grabbed - y);
          grabbed = y;
        }
        changed();
      });
    select(canvas).call(this.gestures).on("dblclick.zoom", null);
    canvas.addEventListener("wheel", (event) => {
      if (!this.pans(event)) return;
      event.preventDefault();
      this.panPixels(event.deltaX || event.deltaY);
    }, { passive: false });
  }

  private pans(event: WheelEvent): boolean {
    return event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  }

  resize(width: number): void {
    const { from, to } = this;
    this.width = width;
    this.gestures.extent([[0, 0], [width, 1]]).translateExtent([[0, -Infinity], [width, Infinity]]);
    this.show(from, to);
  }

  get from(): number { return this.time(0); }
  get to(): number { return this.time(this.width); }
  /** Pixels of a cycle. */
  get scale(): number { return (this.transform.k * this.width) / this.cycles; }

  x(time: number): number { return this.transform.x + time * this.scale; }
  time(x: number): number { return (x - this.transform.x) / this.scale; }

  /** Round cycles, about one for each 120 pixels. */
  ticks(): number[] {
    return scaleLinear().domain([this.from, this.to]).ticks(Math.max(2, Math.floor(this.width / 120)));
  }

  /** Shows the time between two cycles, within what there is. */
  show(from: number, to: number): void {
    const k = Math.min(this.cycles / Math.max(to - from, CLOSEST), Math.max(1, this.cycles / CLOSEST));
    const scale = (Math.max(1, k) * this.width) / this.cycles;
    const middle = (from + to) / 2;
    this.move(zoomIdentity.translate(this.width / 2 - middle * scale, 0).scale(Math.max(1, k)));
  }

  zoomBy(factor: number, around: number): void {
    const span = (this.to - this.from) / factor, share = (around - this.from) / (this.to - this.from);
    this.show(around - share * span, around + (1 - share) * span);
  }

  panPixels(by: number): void {
    this.move(this.transform.translate(-by / this.transform.k, 0));
  }

  /** Moves as little as needed to see an interval, and widens the view to three times the interval if it is longer than it. */
  reveal(start: number, end: number): void {
    const span = this.to - this.from;
    if (end - start > span) this.show(start - (end - start), end + (end - start));
    else if (start < this.from + 0.05 * span) this.show(start - 0.25 * span, start + 0.75 * span);
    else if (end > this.to - 0.05 * span) this.show(end - 0.75 * span, end + 0.25 * span);
  }

  private move(to: ZoomTransform): void {
    const x = Math.min(0, Math.max(to.x, this.width * (1 - to.k)));
    select(this.canvas).call(this.gestures.transform, zoomIdentity.translate(x, 0).scale(to.k));
  }
}
