// The picture: lanes, strips of barriers, arrows and the axis, on one canvas that is as high as what is seen of it.

import { RUN, type Run, WAIT } from "./data.ts";
import { cycles } from "./format.ts";
import type { Item, Lane, Row, Strip } from "./lanes.ts";
import { paintOf } from "./pyramid.ts";
import { stageColour, type Theme } from "./theme.ts";
import type { View } from "./view.ts";

export const OVERVIEW = 20, AXIS = OVERVIEW + 36;
const FONT = '11px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace', LETTER = 6.65;
const SMALL = FONT.replace("11px", "9px");
const DENSE = 0.5, MOST = 2500; // intervals of a row in view, by pixel and in all, beyond which its bins are drawn
const BIN = 2; // pixels of the widest bin
const NARROW = 1; // pixels of the shortest part of a barrier's strip
const DARK = "#1b1f24";

export interface Chosen { run: Run; id: number }

export interface Scene {
  items: Item[]; scroll: number; theme: Theme; view: View;
  hovered: Chosen | null; selected: Chosen | null; place: { run: Run; place: number } | null;
  arrows: { item: Lane; row: number; fromItem: Lane | null; fromTime: number; id: number; strong: boolean }[];
  clockGhz: number; cursor: number | null;
  ruler: { from: number; to: number | null; words: string } | null;
}

export class Painter {
  private readonly context: CanvasRenderingContext2D;
  private width = 0;
  private height = 0;
  private readonly hatches = new Map<string, CanvasPattern>();
  private readonly moved = new DOMMatrix(); // of the hatches
  private whole: { row: Row; width: number; theme: Theme; picture: HTMLCanvasElement } | null = null; // of the overview

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  resize(width: number, height: number): void {
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Forgets patterns in the colours of another theme. */
  recolour(): void { this.hatches.clear(); }

  draw(scene: Scene): void {
    const { context: c, width, height } = this, { theme, view } = scene;
    c.font = FONT;
    c.textBaseline = "middle";
    this.moved.e = view.x(0) % 8;
    for (const pattern of this.hatches.values()) pattern.setTransform(this.moved);
    c.fillStyle = theme.paper;
    c.fillRect(0, 0, width, height);
    const ticks = view.ticks();
    c.fillStyle = theme.line;
    for (const at of ticks) c.fillRect(Math.round(view.x(at)), AXIS, 1, height);
    for (const item of scene.items) {
      const top = item.top - scene.scroll + AXIS;
      if (top > height || top + item.height < AXIS) continue;
      if (item.kind === "heading") this.heading(scene, top, item.height);
      else if (item.kind === "lane") this.lane(scene, item, top);
      else this.strip(scene, item, top);
    }
    this.arrows(scene);
    this.stuck(scene);
    if (scene.cursor !== null) {
      c.fillStyle = theme.muted;
      c.fillRect(Math.round(view.x(scene.cursor)), AXIS, 1, height);
    }
    this.ruler(scene);
    this.axis(scene, ticks);
  }

  /** Two points of the axis, and what is between them. */
  private ruler({ ruler, view, theme }: Scene): void {
    if (!ruler) return;
    const c = this.context, from = view.x(ruler.from), to = view.x(ruler.to ?? ruler.from);
    const left = Math.min(from, to), right = Math.max(from, to);
    c.fillStyle = theme.accent;
    c.globalAlpha = 0.14;
    c.fillRect(left, AXIS, right - left, this.height);
    c.globalAlpha = 1;
    for (const x of [left, right]) c.fillRect(Math.round(x), AXIS, 1, this.height);
    if (!ruler.words) return;
    const wide = ruler.words.length * LETTER + 10;
    const x = Math.max(2, Math.min(this.width - wide - 2, (Math.max(0, left) + Math.min(this.width, right) - wide) / 2));
    c.fillRect(x, AXIS + 5, wide, 18);
    c.fillStyle = theme.paper;
    c.fillText(ruler.words, x + 5, AXIS + 14);
  }

  /** The whole run in a strip: when the first CTA's tensor core, or the first lane, was busy, and what part is seen. */
  private overview(scene: Scene): void {
    const c = this.context, { theme, view } = scene;
    const lanes = scene.items.filter((item): item is Lane => item.kind === "lane");
    const lane = lanes.find((each) => each.name === "tensor core") ?? lanes[0];
    const scale = this.width / view.cycles;
    // A page that is not shown yet has no width.
    if (lane?.rows.length && this.width) c.drawImage(this.wholeOf(lane.rows[0], scale, theme), 0, 0, this.width, OVERVIEW);
    const from = view.from * scale, wide = Math.max(3, (view.to - view.from) * scale);
    c.fillStyle = theme.accent;
    c.globalAlpha = 0.16;
    c.fillRect(from, 1, wide, OVERVIEW - 2);
    c.globalAlpha = 1;
    c.strokeStyle = theme.accent;
    c.lineWidth = 1;
    c.strokeRect(from + 0.5, 1.5, wide - 1, OVERVIEW - 3);
  }

  /** The picture of a whole row, which no move changes. */
  private wholeOf(row: Row, scale: number, theme: Theme): HTMLCanvasElement {
    const { width, whole } = this;
    if (whole?.row === row && whole.width === width && whole.theme === theme) return whole.picture;
    const picture = document.createElement("canvas"), ratio = this.canvas.width / width, c = picture.getContext("2d")!;
    picture.width = this.canvas.width;
    picture.height = Math.round(OVERVIEW * ratio);
    c.scale(ratio, ratio);
    const level = row.pyramid.level(1 / scale);
    level.key.forEach((key, bin) => {
      if (!key) return;
      c.globalAlpha = level.share[bin] / 255;
      c.fillStyle = paintOf(key).activity === WAIT ? theme.line : theme.muted;
      c.fillRect(bin * level.width * scale, 5, level.width * scale, OVERVIEW - 9);
    });
    this.whole = { row, width, theme, picture };
    return picture;
  }

  private heading(scene: Scene, top: number, height: number): void {
    this.context.fillStyle = scene.theme.panel;
    this.context.fillRect(0, top, this.width, height);
  }

  private lane(scene: Scene, lane: Lane, top: number): void {
    const c = this.context;
    c.fillStyle = scene.theme.line;
    c.fillRect(0, top + lane.height - 1, this.width, 1);
    const each = (lane.height - 5) / Math.max(1, lane.rows.length);
    lane.rows.forEach((row, index) => {
      const y = top + 2 + index * each, height = each - (lane.rows.length > 1 ? 1 : 0);
      const first = row.after(scene.view.from), last = row.after(scene.view.to);
      if (last - first > Math.min(MOST, DENSE * this.width) && !scene.place) this.bins(scene, row, y, height);
      else this.intervals(scene, row, y, height, first, Math.min(last + 1, row.ids.length), lane.engine || index === 0);
    });
  }

  private bins(scene: Scene, row: Row, y: number, height: number): void {
    const c = this.context, { view, theme } = scene;
    const level = row.pyramid.level(BIN / view.scale);
    const last = Math.min(level.key.length, Math.ceil(view.to / level.width));
    for (let bin = Math.max(0, Math.floor(view.from / level.width)); bin < last;) {
      const key = level.key[bin], share = level.share[bin] >> 6;
      let next = bin + 1;
      while (next < last && level.key[next] === key && level.share[next] >> 6 === share) next++;
      if (key) {
        const { activity, stage } = paintOf(key);
        c.globalAlpha = ((share + 1) / 4) * (activity === WAIT ? 0.35 : 1);
        c.fillStyle = stageColour(stage, theme.plain);
        c.fillRect(view.x(bin * level.width), y, (next - bin) * level.width * view.scale, height);
      }
      bin = next;
    }
    c.globalAlpha = 1;
  }

  private intervals(scene: Scene, row: Row, y: number, height: number, first: number, last: number, named: boolean): void {
    const c = this.context, { view, theme, place } = scene, { run } = row;
    const { activity, stage, name } = run.intervals;
    for (let at = first; at < last; at++) {
      const id = row.ids[at];
      const from = Math.max(-2, view.x(row.start[at])), to = Math.min(this.width + 2, view.x(row.end[at]));
      const wide = Math.max(to - from, 0.6), number = stage[id] ? stage[id] - 1 : null;
      const colour = stageColour(number, theme.plain);
      const marked = place !== null && place.run === run && run.intervals.place[id] === place.place;
      c.globalAlpha = place !== null && !marked ? 0.2 : 1;
      if (activity[id] === WAIT) {
        c.fillStyle = wide > 2 ? this.hatch(colour, theme) : colour;
        if (wide <= 2) c.globalAlpha *= 0.35;
        c.fillRect(from, y, wide, height);
      } else {
        c.fillStyle = colour;
        this.work(run, id, from, wide > 3 ? wide - 0.5 : wide, y, height, view);
      }
      // The words of a copy stand in its pale part.
      const room = run.intervals.before[id] ? Math.min(wide, view.x(row.start[at] + run.intervals.before[id]) - from) : wide;
      if (room > 34 && height >= 9 && named) this.label(run.names[name[id]], activity[id], number, from, y, room, height, scene, room < wide);
    }
    c.globalAlpha = 1;
    for (const [chosen, thick] of [[scene.hovered, 1], [scene.selected, 2]] as const) {
      if (chosen?.run !== run) continue;
      const at = chosen.id < 0 ? -1 : row.ids.indexOf(chosen.id);
      if (at < 0) continue;
      c.strokeStyle = thick > 1 ? theme.accent : theme.ink;
      c.lineWidth = thick;
      const from = view.x(row.start[at]);
      c.strokeRect(from - 0.5, y - 0.5, Math.max(3, view.x(row.end[at]) - from), height + 1);
    }
  }

  /** A block; that of a copy is paler while no bytes move. */
  private work(run: Run, id: number, from: number, wide: number, y: number, height: number, view: View): void {
    const c = this.context, { before, behind, end, start } = run.intervals;
    if (!before[id] && !behind[id]) {
      c.fillRect(from, y, wide, height);
      return;
    }
    const alpha = c.globalAlpha;
    c.globalAlpha = alpha * 0.45;
    c.fillRect(from, y, wide, height);
    c.globalAlpha = alpha;
    const left = Math.max(from, view.x(start[id] + before[id])), right = Math.min(from + wide, view.x(end[id] - behind[id]));
    if (right > left) c.fillRect(left, y, right - left, height);
  }

  private label(text: string, activity: number, stage: number | null, x: number, y: number, wide: number, height: number, scene: Scene, pale = false): void {
    const c = this.context, room = Math.floor((wide - 8) / LETTER);
    const whole = stage === null || text.endsWith("]") ? text : `${text} · ${stage}`;
    const shown = whole.length <= room ? whole : room > 5 ? `${whole.slice(0, room - 1)}…` : stage === null ? "" : String(stage);
    if (!shown) return;
    if (height < 13) c.font = SMALL;
    if (activity === WAIT) {
      c.fillStyle = scene.theme.paper;
      c.fillRect(x + 3, y + 2, shown.length * (height < 13 ? 5.5 : LETTER) + 3, height - 4);
    }
    c.fillStyle = pale || activity === WAIT || (activity === RUN && stage === null) ? scene.theme.ink : DARK;
    c.fillText(shown, x + 4, y + height / 2 + 0.5);
    if (height < 13) c.font = FONT;
  }

  /** Stripes in the colour of the stage, which move with the time axis. */
  private hatch(colour: string, theme: Theme): CanvasPattern {
    let pattern = this.hatches.get(colour);
    if (!pattern) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const c = tile.getContext("2d")!;
      c.fillStyle = theme.stripe;
      c.fillRect(0, 0, 8, 8);
      c.strokeStyle = colour;
      c.lineWidth = 2.2;
      for (const x of [-8, 0, 8]) {
        c.beginPath();
        c.moveTo(x, 8);
        c.lineTo(x + 8, 0);
        c.stroke();
      }
      this.hatches.set(colour, (pattern = this.context.createPattern(tile, "repeat")!));
      pattern.setTransform(this.moved);
    }
    return pattern;
  }

  /** A barrier: its phases in turn, the arrivals it lacks as a line, the bytes it lacks as an area. */
  private strip(scene: Scene, strip: Strip, top: number): void {
    const c = this.context, { view, theme } = scene, { run } = strip;
    const { time, phase, pending, tx } = run.changes, list = run.changesOf[strip.barrier];
    const base = top + strip.height - 3, tall = strip.height - 6;
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[list[middle]] > view.from) high = middle;
      else low = middle + 1;
    }
    const x = (at: number) => (at < list.length ? Math.min(this.width, view.x(time[list[at]])) : Math.min(this.width, view.x(run.cycles)));
    let labelled = -1, from = Math.max(0, x(Math.max(0, low - 1)));
    if (low === 0) {
      c.fillStyle = theme.line;
      c.fillRect(0, top + 2, Math.max(0, x(0)), strip.height - 4);
    }
    for (let at = Math.max(0, low - 1); at < list.length && view.x(time[list[at]]) < this.width; at++) {
      const change = list[at], to = x(at + 1);
      if (to - from < NARROW) continue; // the next one covers its pixel
      // What a completion leaves is the next phase's.
      const complete = run.signals[run.changes.signal[change]] === "complete";
      const number = phase[change] + (complete ? 1 : 0);
      const wide = Math.max(0.5, to - from);
      c.fillStyle = number % 2 ? theme.panel : theme.line;
      c.fillRect(from, top + 2, wide, strip.height - 4);
      if (tx[change]) {
        const part = (tall * Math.abs(tx[change])) / strip.bytes;
        c.fillStyle = theme.accent;
        c.globalAlpha = 0.35;
        c.fillRect(from, base - part, wide, part);
        c.globalAlpha = 1;
      }
      c.fillStyle = theme.ink;
      c.fillRect(from, base - (tall * pending[change]) / strip.expected, wide, 1.4);
      if (number !== labelled && wide > 30) {
        c.fillStyle = theme.muted;
        c.fillText(`${number}`, from + 4, top + strip.height / 2);
        labelled = number;
      }
      from = to;
    }
    c.fillStyle = theme.line;
    c.fillRect(0, top + strip.height - 1, this.width, 1);
  }

  private arrows(scene: Scene): void {
    const c = this.context, { view, theme } = scene;
    for (const { item, row, fromItem, fromTime, id, strong } of scene.arrows) {
      const each = (item.height - 5) / Math.max(1, item.rows.length);
      const y = item.top - scene.scroll + AXIS + 2 + (row + 0.5) * each;
      const x = view.x(item.run.intervals.end[id]), from = view.x(fromTime);
      const source = fromItem ? fromItem.top - scene.scroll + AXIS + fromItem.height / 2 : y - 14;
      c.strokeStyle = c.fillStyle = strong ? theme.accent : theme.ink;
      c.globalAlpha = strong ? 1 : fromItem?.cta === item.cta ? 0.45 : 0.2;
      c.lineWidth = strong ? 1.8 : 1;
      const bend = Math.max(8, Math.min(24, Math.abs(y - source) / 4));
      c.beginPath();
      c.moveTo(from, source);
      c.bezierCurveTo(from, source + (y - source) / 2, x - bend, y, x, y);
      c.stroke();
      c.beginPath();
      c.arc(from, source, strong ? 3 : 2, 0, 7);
      c.fill();
      c.beginPath();
      c.moveTo(x + 1, y);
      c.lineTo(x - 6, y - 3.5);
      c.lineTo(x - 6, y + 3.5);
      c.fill();
    }
    c.globalAlpha = 1;
  }

  private stuck(scene: Scene): void {
    const c = this.context;
    const runs = new Set(scene.items.map((item) => item.run));
    for (const run of runs) {
      if (run.stuck === null) continue;
      const x = Math.min(this.width - 1, scene.view.x(run.stuck)), text = `nothing can advance after cycle ${cycles(run.stuck)}`;
      c.fillStyle = scene.theme.alarm;
      c.fillRect(x - 1, AXIS, 2, this.height);
      c.globalAlpha = 0.12;
      c.fillRect(x, AXIS, this.width, this.height);
      c.globalAlpha = 1;
      c.fillRect(x - text.length * LETTER - 10, AXIS + 4, text.length * LETTER + 9, 18);
      c.fillStyle = scene.theme.paper;
      c.fillText(text, x - text.length * LETTER - 5, AXIS + 13);
    }
  }

  private axis(scene: Scene, ticks: number[]): void {
    const c = this.context, { theme, view } = scene;
    c.fillStyle = theme.panel;
    c.fillRect(0, 0, this.width, AXIS);
    this.overview(scene);
    c.fillStyle = theme.line;
    c.fillRect(0, AXIS - 1, this.width, 1);
    const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
    const digits = Math.max(0, Math.min(4, 1 + Math.ceil(-Math.log10(step / scene.clockGhz / 1000))));
    ticks.forEach((at) => {
      const x = view.x(at);
      c.fillStyle = theme.muted;
      c.fillRect(Math.round(x), AXIS - 6, 1, 6);
      if (x < 0 || x > this.width - 20) return;
      c.fillStyle = theme.ink;
      c.fillText(cycles(at), x + 4, OVERVIEW + 10);
      c.fillStyle = theme.muted;
      c.fillText(`${(at / scene.clockGhz / 1000).toFixed(digits)} µs`, x + 4, OVERVIEW + 25);
    });
  }
}
