// The tab of the timeline: which CTAs are shown, what is pointed at and chosen, and what the keys do.

import type { Page, Run } from "./data.ts";
import { WAIT } from "./data.ts";
import { Details } from "./details.ts";
import { byId, element } from "./dom.ts";
import { AXIS, type Chosen, OVERVIEW, Painter, type Scene } from "./draw.ts";
import { count, cycles, duration } from "./format.ts";
import { find, type Item, type Lane, layOut, type Strip } from "./lanes.ts";
import { Ruler } from "./ruler.ts";
import { type Choose, Source, type SourceView } from "./source.ts";
import { readTheme } from "./theme.ts";
import { View } from "./view.ts";
import { causeOf, intervalTitle, took } from "./words.ts";

const PAUSE = 120; // ms between two sentences on what is seen
const WIDE = 26, MOST = 60; // pixels of a wait whose arrow is drawn; how many arrows are

export class TimelineTab {
  private items: Item[] = [];
  private laneOf = new Map<string, Lane>();
  private theme = readTheme();
  private hovered: Chosen | null = null;
  private selected: Chosen | null = null;
  private place: { run: Run; place: number } | null = null;
  private cursor: number | null = null;
  private asked = false;
  private saying = 0; // the timer of words that are due
  private saidAt = -PAUSE;
  private pulled = false; // the axis, since the last picture
  private shownOnce = false;
  private readonly scroller = byId("lanes");
  private readonly labels = byId("labels");
  private readonly canvas = byId<HTMLCanvasElement>("canvas");
  private readonly painter = new Painter(this.canvas);
  private readonly view: View;
  private readonly details = new Details((chosen) => this.follow(chosen));
  private readonly source: SourceView;
  private readonly ruler: Ruler;
  private readonly barriers = byId<HTMLInputElement>("barriers");
  private readonly pickers: HTMLSelectElement[] = [];

  /** sourceOf: makes what shows the source; it is told how to mark the intervals of a place. */
  constructor(private readonly page: Page, sourceOf: (choose: Choose) => SourceView = (choose) => new Source(choose)) {
    this.source = sourceOf((run, place) => this.markPlace(run, place));
    this.view = new View(this.canvas, Math.max(...page.runs.map((run) => run.cycles), 1), OVERVIEW, () => this.redraw(),
      (by) => { this.scroller.scrollTop += by; });
    this.ruler = new Ruler(page.runs[0].clockGhz, () => this.redraw(), (text) => this.details.say(text));
    this.view.held = () => this.ruler.on;
    for (const run of page.runs) this.addPicker(run);
    this.barriers.checked = page.runs.length === 1;
    this.barriers.addEventListener("change", () => this.arrange());
    this.source.show(page.runs[0]);
    this.details.clear();
    this.scroller.addEventListener("scroll", () => this.redraw());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("wheel", () => { this.pulled = true; });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => this.redraw()); // and says what is seen
    this.canvas.addEventListener("pointerup", () => this.ruler.end());
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.click(event));
    byId("panel-timeline").addEventListener("keydown", (event) => this.key(event));
    const buttons: [string, () => void][] = [
      ["zoom-in", () => this.zoom(2)], ["zoom-out", () => this.zoom(0.5)], ["zoom-all", () => this.view.show(0, this.view.cycles)],
      ["zoom-steps", () => this.showSteps()],
    ];
    for (const [id, action] of buttons) byId(id).addEventListener("click", action);
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    this.arrange();
  }

  recolour(): void {
    this.theme = readTheme();
    this.painter.recolour();
    this.redraw();
  }

  /** The part of the time axis that is seen, in cycles. */
  get seenCycles(): [number, number] { return [this.view.from, this.view.to]; }

  /** Shows these CTAs of a run, as the picker's entry of the same name does. */
  private addPicker(run: Run): void {
    const id = `cta-${run.index}`, picker = element("select", { id });
    run.groups.forEach(({ label }, index) => picker.append(element("option", { value: index }, label)));
    const shown = run.groups.findIndex(({ ctas }) => ctas.some((cta) => run.shown.includes(cta)));
    picker.value = String(Math.max(0, shown));
    picker.addEventListener("change", () => this.arrange());
    const label = this.page.runs.length > 1 ? `CTA of ${"AB"[run.index]}` : "CTA";
    byId("pickers").append(element("label", { for: id }, label), picker);
    this.pickers.push(picker);
  }

  private arrange(): void {
    const chosen = this.page.runs.map((run, index) => ({ run, ctas: run.groups[Number(this.pickers[index].value)]?.ctas ?? [] }));
    const { items, height } = layOut(chosen, this.barriers.checked);
    this.items = items;
    this.laneOf.clear();
    for (const { run, ctas } of chosen) {
      for (const lane of run.lanes.filter((each) => ctas.includes(each.cta))) {
        const item = items.find((each): each is Lane => each.kind === "lane" && each.run === run && each.cta === lane.cta && each.name === lane.name);
        for (const track of lane.tracks) if (item) this.laneOf.set(`${run.index}:${track}`, item);
      }
    }
    this.labels.style.height = `${height + AXIS}px`;
    this.labels.replaceChildren(...items.map((item) => this.label(item)));
    this.hovered = this.selected = null;
    this.resize();
  }

  private label(item: Item): HTMLElement {
    const placed = <T extends HTMLElement>(node: T): T => {
      node.style.top = `${item.top + AXIS}px`;
      node.style.height = `${item.height}px`;
      return node;
    };
    if (item.kind === "heading") return placed(element("h2", {}, item.text));
    const about = item.kind === "lane" ? item.about : "";
    const button = placed(element("button", { type: "button", class: item.kind }, element("span", {}, item.name), " ", about && element("small", {}, about)));
    button.addEventListener("keydown", (event) => this.laneKey(event, item));
    button.addEventListener("click", () => this.enter(item));
    button.addEventListener("focus", () => this.scrollTo(item));
    return button;
  }

  private resize(): void {
    const width = this.scroller.clientWidth - this.labels.clientWidth, height = this.scroller.clientHeight;
    if (width <= 0 || height <= 0) return;
    this.painter.resize(width, height);
    this.view.resize(width);
    if (!this.shownOnce) this.showSteps();
    this.shownOnce = true;
    this.redraw();
  }

  private redraw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.painter.draw(this.scene());
      this.seen();
    });
  }

  /** Says which part of the time axis is seen; while a wheel or a finger moves it, some times a second: other words lay out the page. */
  private seen(): void {
    const wait = this.pulled ? this.saidAt + PAUSE - performance.now() : 0;
    this.pulled = false;
    if (this.saying && wait > 0) return;
    clearTimeout(this.saying);
    this.saying = 0;
    if (wait <= 0) return this.say();
    this.saying = window.setTimeout(() => {
      this.saying = 0;
      this.say();
    }, wait);
  }

  private say(): void {
    this.saidAt = performance.now();
    const { from, to } = this.view;
    const [run] = this.page.runs, kernel = to - from >= run.cycles ? ", the kernel without its launch" : "";
    const ruler = this.ruler.words ? `; ruler: ${this.ruler.words}` : "";
    byId("seen-range").textContent = `cycle ${cycles(from)} to ${cycles(to)}, ${duration(to - from, run.clockGhz)}${kernel}`;
    const words = byId("seen-ruler");
    if (words.textContent !== ruler) words.textContent = ruler;
  }

  private scene(): Scene {
    const { items, theme, view, hovered, selected, place, cursor } = this;
    const { from, to, words } = this.ruler;
    return {
      ruler: from === null ? null : { from, to, words }, items, theme, view, hovered, selected, place, cursor, scroll: this.scroller.scrollTop,
      clockGhz: this.page.runs[0].clockGhz, arrows: this.arrows(),
    };
  }

  private arrows(): Scene["arrows"] {
    const out: Scene["arrows"] = [], { view } = this;
    const add = (run: Run, lane: Lane, row: number, id: number, strong: boolean) => {
      const cause = causeOf(run, id);
      if (cause < 0) return;
      const fromItem = this.laneOf.get(`${run.index}:${run.changes.source[cause]}`) ?? null;
      out.push({ item: lane, row, fromItem, fromTime: run.changes.time[cause], id, strong });
    };
    const longest = WIDE / view.scale;
    for (const lane of this.items) {
      if (lane.kind !== "lane" || out.length > MOST) continue;
      lane.rows.forEach((row, index) => {
        const first = row.after(view.from), last = Math.min(row.after(view.to) + 1, row.ids.length);
        if (last - first > 2000 || index > 0) return;
        for (let at = first; at < last && out.length <= MOST; at++) {
          const id = row.ids[at];
          if (lane.run.intervals.activity[id] === WAIT && row.end[at] - row.start[at] > longest) add(lane.run, lane, index, id, false);
        }
      });
    }
    for (const chosen of [this.hovered, this.selected]) {
      if (!chosen || chosen.id < 0) continue;
      const found = find(this.items, chosen.run, chosen.id);
      if (found) add(chosen.run, found.lane, found.row, chosen.id, true);
    }
    return out;
  }

  // -- the pointer -----------------------------------------------------------------------------------------------------

  private itemAt(y: number): Item | undefined {
    const at = y - AXIS + this.scroller.scrollTop;
    return y < AXIS ? undefined : this.items.find((item) => at >= item.top && at < item.top + item.height);
  }

  private intervalAt(lane: Lane, x: number, y: number): Chosen | null {
    const inside = y - AXIS + this.scroller.scrollTop - lane.top - 2;
    const row = lane.rows[Math.max(0, Math.min(lane.rows.length - 1, Math.floor((inside * lane.rows.length) / (lane.height - 5))))];
    const at = row ? row.at(this.view.time(x), 3 / this.view.scale) : -1;
    return at < 0 ? null : { run: lane.run, id: row.ids[at] };
  }

  private press(event: PointerEvent): void {
    if (event.offsetY < OVERVIEW || !this.ruler.on) return this.jump(event);
    this.canvas.setPointerCapture(event.pointerId);
    this.ruler.start(this.edgeAt(event));
  }

  /** The time at the pointer, or that of an interval's edge beside it. */
  private edgeAt(event: PointerEvent): number {
    const time = this.view.time(event.offsetX), item = this.itemAt(event.offsetY), reach = 6 / this.view.scale;
    const chosen = item?.kind === "lane" ? this.intervalAt(item, event.offsetX, event.offsetY) : null;
    const edges = chosen ? [chosen.run.intervals.start[chosen.id], chosen.run.intervals.end[chosen.id]] : [];
    const [nearest] = edges.sort((a, b) => Math.abs(a - time) - Math.abs(b - time));
    return nearest !== undefined && Math.abs(nearest - time) <= reach ? nearest : Math.max(0, Math.min(this.view.cycles, time));
  }

  /** Sets a point of the ruler: at the chosen interval or change, else in the middle of what is seen. */
  private measure(): void {
    const { selected, cursor, view } = this, middle = (view.from + view.to) / 2;
    const { start, end } = selected?.run.intervals ?? { start: [], end: [] };
    this.ruler.mark(selected ? [start[selected.id], end[selected.id]] : [cursor ?? middle, cursor ?? middle]);
  }

  /** In the overview, a press or a drag moves the view there. */
  private jump(event: PointerEvent): void {
    if (event.offsetY >= OVERVIEW) return;
    const span = this.view.to - this.view.from, middle = (event.offsetX / this.view.width) * this.view.cycles;
    this.view.show(middle - span / 2, middle + span / 2);
    if (event.type === "pointerdown") this.canvas.setPointerCapture(event.pointerId);
  }

  /** Some steps of the pipeline, where it runs steadily; the end of a run that hangs. */
  private showSteps(): void {
    const [from, to] = this.page.window ?? [0, this.view.cycles];
    this.view.show(from, to);
  }

  private point(event: PointerEvent): void {
    if (event.buttons) {
      this.pulled = true;
      if (this.ruler.drag(this.edgeAt(event))) return;
      if (this.canvas.hasPointerCapture(event.pointerId)) this.jump(event);
      return;
    }
    const item = this.itemAt(event.offsetY);
    this.hover(item?.kind === "lane" ? this.intervalAt(item, event.offsetX, event.offsetY) : null);
    if (item?.kind === "strip" && !this.selected) {
      const change = this.changeAt(item, this.view.time(event.offsetX));
      if (change >= 0) this.details.change(item.run, change, false);
    }
    this.canvas.style.cursor = this.hovered ? "pointer" : "grab";
    this.hint(event);
  }

  private hint(event: PointerEvent): void {
    const hint = byId("hint"), chosen = this.hovered;
    hint.hidden = !chosen;
    if (!chosen) return;
    hint.textContent = `${intervalTitle(chosen.run, chosen.id)}, ${took(chosen.run, chosen.id)}`;
    const left = Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8);
    hint.style.transform = `translate(${left}px, ${event.clientY + 16}px)`;
  }

  private hover(chosen: Chosen | null): void {
    if (chosen?.id === this.hovered?.id && chosen?.run === this.hovered?.run) return;
    this.hovered = chosen;
    if (!chosen) byId("hint").hidden = true;
    this.describe(chosen ?? this.selected, false);
    this.redraw();
  }

  private describe(chosen: Chosen | null, aloud: boolean): void {
    if (!chosen) {
      this.source.mark(this.page.runs[0], null);
      return;
    }
    this.details.interval(chosen, aloud);
    const place = chosen.run.intervals.place[chosen.id];
    this.source.mark(chosen.run, place ? place - 1 : null);
  }

  private click(event: MouseEvent): void {
    if (this.ruler.on) return;
    const item = this.itemAt(event.offsetY);
    this.select(item?.kind === "lane" ? this.intervalAt(item, event.offsetX, event.offsetY) : null, false);
    if (!this.selected) this.source.release();
  }

  // -- what is chosen --------------------------------------------------------------------------------------------------

  private select(chosen: Chosen | null, aloud: boolean): void {
    this.selected = chosen;
    this.cursor = null;
    if (chosen) {
      this.describe(chosen, aloud);
      this.view.reveal(chosen.run.intervals.start[chosen.id], chosen.run.intervals.end[chosen.id]);
    } else this.details.clear();
    this.redraw();
  }

  private markPlace(run: Run, place: number | null): void {
    this.place = place === null ? null : { run, place };
    if (place !== null) {
      const number = run.intervals.place.reduce((sum, each) => sum + Number(each === place + 1), 0);
      this.details.say(`${count(number, "interval")} of line ${run.places[place].line} are marked.`);
      this.place!.place = place + 1;
    }
    this.redraw();
  }

  /** Chooses what ended a wait: the interval of its source at that time, or the change itself. */
  private follow({ run, id }: Chosen): void {
    const cause = causeOf(run, id);
    if (cause < 0) return;
    const time = run.changes.time[cause], track = run.changes.source[cause];
    const lane = this.laneOf.get(`${run.index}:${track}`);
    const ends = lane?.rows.flatMap((row) => {
      const at = row.at(time - 0.01, 50);
      return at < 0 || run.intervals.track[row.ids[at]] !== track ? [] : [row.ids[at]];
    }) ?? [];
    // Of an engine with several at once, the one that ends then.
    const nearest = ends.sort((a, b) => Math.abs(run.intervals.end[a] - time) - Math.abs(run.intervals.end[b] - time))[0];
    if (nearest === undefined) {
      this.details.change(run, cause, true);
      this.cursor = time;
      this.view.reveal(time, time + 1);
    } else {
      this.select({ run, id: nearest }, true);
      this.focusLane(lane!);
    }
    this.redraw();
  }

  private changeAt(strip: Strip, time: number): number {
    const list = strip.run.changesOf[strip.barrier], times = strip.run.changes.time;
    let found = -1;
    for (const change of list) if (times[change] <= time || found < 0) found = change;
    return found;
  }

  // -- keys ------------------------------------------------------------------------------------------------------------

  private zoom(factor: number): void {
    const chosen = this.selected, { from, to } = this.view;
    const middle = chosen ? (chosen.run.intervals.start[chosen.id] + chosen.run.intervals.end[chosen.id]) / 2 : (from + to) / 2;
    this.view.zoomBy(factor, middle >= from && middle <= to ? middle : (from + to) / 2);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target instanceof HTMLSelectElement || event.target instanceof HTMLInputElement) return;
    const { view } = this, span = view.to - view.from;
    const far = event.shiftKey ? 0.9 : 0.2;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => view.show(view.from - far * span, view.to - far * span),
      ArrowRight: () => view.show(view.from + far * span, view.to + far * span),
      ArrowUp: () => { this.scroller.scrollTop -= 60; },
      ArrowDown: () => { this.scroller.scrollTop += 60; },
      "+": () => this.zoom(2), "=": () => this.zoom(2), "-": () => this.zoom(0.5), "0": () => view.show(0, view.cycles), s: () => this.showSteps(),
      Home: () => view.show(0, span),
      End: () => view.show(view.cycles - span, view.cycles),
      m: () => this.measure(),
      Escape: () => { this.select(null, false); this.source.release(); this.ruler.clear(); },
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** Enter goes into a lane; there the arrow keys go from interval to interval, and Enter follows an arrow. */
  private laneKey(event: KeyboardEvent, item: Item): void {
    if (item.kind === "strip") return this.stripKey(event, item);
    if (item.kind !== "lane" || !this.selected) return;
    const found = find([item], this.selected.run, this.selected.id);
    if (!found) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], side = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const ids = item.rows[found.row].ids, next = ids[found.position + step];
      if (next !== undefined) this.select({ run: item.run, id: next }, true);
    } else if (side) {
      const row = item.rows[found.row + side];
      const at = row ? row.at(item.run.intervals.start[this.selected.id], Infinity) : -1;
      if (at >= 0) this.select({ run: item.run, id: row.ids[at] }, true);
    } else if (event.key === "Enter") this.follow(this.selected);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private stripKey(event: KeyboardEvent, strip: Strip): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || this.cursor === null) return;
    const list = strip.run.changesOf[strip.barrier];
    const at = list.indexOf(this.changeAt(strip, this.cursor)) + step;
    if (at >= 0 && at < list.length) this.showChange(strip, list[at]);
    event.preventDefault();
    event.stopPropagation();
  }

  private showChange(strip: Strip, change: number): void {
    const time = strip.run.changes.time[change];
    this.selected = null;
    this.cursor = time;
    this.details.change(strip.run, change, true);
    const place = strip.run.changes.place[change];
    this.source.mark(strip.run, place ? place - 1 : null);
    this.view.reveal(time, time + 1);
    this.redraw();
  }

  private enter(item: Item): void {
    const middle = (this.view.from + this.view.to) / 2;
    if (item.kind === "strip") {
      const change = this.changeAt(item, middle);
      if (change >= 0) this.showChange(item, change);
    }
    if (item.kind !== "lane" || (this.selected && find([item], this.selected.run, this.selected.id))) return;
    const row = item.rows.find((each) => each.ids.length);
    if (row) this.select({ run: item.run, id: row.ids[row.at(middle, Infinity)] }, true);
  }

  private scrollTo(item: Item): void {
    const { scrollTop, clientHeight } = this.scroller;
    if (item.top < scrollTop) this.scroller.scrollTop = item.top;
    else if (item.top + item.height + AXIS > scrollTop + clientHeight) this.scroller.scrollTop = item.top + item.height + AXIS - clientHeight;
  }

  private focusLane(lane: Lane): void {
    (this.labels.children[this.items.indexOf(lane)] as HTMLElement | undefined)?.focus({ preventScroll: true });
  }
}
