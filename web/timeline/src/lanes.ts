// What is drawn, from top to bottom: for each chosen CTA its lanes, then its barriers. Each lane has one row or more.

import { type Run, WAIT } from "./data.ts";
import { Pyramid } from "./pyramid.ts";

/** Intervals that do not overlap, by their start. */
export class Row {
  readonly start: Float64Array;
  readonly end: Float64Array;
  private pyramids?: Pyramid;

  constructor(readonly run: Run, readonly ids: Uint32Array) {
    this.start = Float64Array.from(ids, (id) => run.intervals.start[id]);
    this.end = Float64Array.from(ids, (id) => run.intervals.end[id]);
  }

  /** The position of the first interval that ends after `time`. */
  after(time: number): number {
    let low = 0, high = this.ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The position of the interval at `time`, or of the nearest one; -1 if there is none within `slack` cycles. */
  at(time: number, slack: number): number {
    const next = this.after(time);
    if (next < this.ids.length && this.start[next] <= time) return next;
    const ahead = next < this.ids.length ? this.start[next] - time : Infinity;
    const behind = next > 0 ? time - this.end[next - 1] : Infinity;
    if (Math.min(ahead, behind) > slack) return -1;
    return ahead < behind ? next : next - 1;
  }

  get pyramid(): Pyramid {
    return (this.pyramids ??= new Pyramid(this.run, this.ids));
  }
}

interface Box { top: number; height: number }
export interface Heading extends Box { kind: "heading"; text: string; run: Run }
export interface Lane extends Box { kind: "lane"; name: string; run: Run; cta: number; rows: Row[]; about: string; engine: boolean }
export interface Strip extends Box { kind: "strip"; name: string; run: Run; cta: number; barrier: number; expected: number; bytes: number }
export type Item = Heading | Lane | Strip;

const HEADING = 26, SINGLE = 24, THIN = 10, MANY = 8, STRIP = 20, GAP = 5;

/** Places intervals that may overlap in as few rows as hold them, at most `MANY`; later ones share the last row. */
function pack(run: Run, track: number): Uint32Array[] {
  const rows: { ids: number[]; end: number }[] = [];
  for (let id = run.firstOf[track]; id < run.firstOf[track + 1]; id++) {
    let row = rows.find((each) => each.end <= run.intervals.start[id]);
    if (!row) {
      if (rows.length < MANY) rows.push((row = { ids: [], end: 0 }));
      else row = rows.reduce((a, b) => (a.end <= b.end ? a : b));
    }
    row.ids.push(id);
    row.end = Math.max(row.end, run.intervals.end[id]);
  }
  return rows.map((row) => Uint32Array.from(row.ids));
}

const packed = new WeakMap<Run, Map<string, Row[]>>();

function rowsOf(run: Run, tracks: number[]): Row[] {
  const known = packed.get(run) ?? new Map<string, Row[]>(), key = String(tracks);
  packed.set(run, known);
  let rows = known.get(key);
  if (!rows) known.set(key, (rows = tracks.flatMap((track) => pack(run, track)).map((ids) => new Row(run, ids))));
  return rows;
}

/** The items of the chosen CTAs, with their places; and the height of all. */
export function layOut(chosen: { run: Run; ctas: number[] }[], barriers: boolean): { items: Item[]; height: number } {
  const items: Item[] = [];
  let top = 0;
  const add = <T extends Item>(item: Omit<T, "top">) => {
    items.push({ ...item, top } as unknown as T);
    top += item.height;
  };
  for (const { run, ctas } of chosen) {
    for (const cta of ctas) {
      const name = run.ctas.find((each) => each.cta === cta)?.name ?? `CTA ${cta}`;
      const whose = chosen.length > 1 ? `${"AB"[run.index]}: ${run.kernel}, ${name}` : name;
      add<Heading>({ kind: "heading", text: whose, run, height: HEADING });
      for (const lane of run.lanes.filter((each) => each.cta === cta)) {
        const rows = rowsOf(run, lane.tracks);
        const height = (rows.length <= 1 ? SINGLE : rows.length * Math.max(THIN, Math.ceil(SINGLE / rows.length))) + GAP;
        add<Lane>({ kind: "lane", name: lane.name, run, cta, rows, height, about: aboutLane(run, lane.tracks), engine: run.tracks[lane.tracks[0]].kind !== "warp" });
      }
      const strips = run.barriers.map((each, barrier) => ({ ...each, barrier })).filter((each) => each.cta === cta);
      const used = barriers ? strips : [];
      if (used.length) add<Heading>({ kind: "heading", text: `mbarriers of ${name}`, run, height: HEADING });
      for (const { barrier, name } of used) {
        const { pending, tx } = run.changes;
        let expected = 1, bytes = 1;
        for (const change of run.changesOf[barrier]) {
          expected = Math.max(expected, pending[change]);
          bytes = Math.max(bytes, Math.abs(tx[change]));
        }
        add<Strip>({ kind: "strip", name, run, cta, barrier, expected, bytes, height: STRIP });
      }
    }
  }
  return { items, height: top };
}

/** "12 % running, 80 % waiting": of the time of the lane's warps; "54 % busy" of an engine. */
function aboutLane(run: Run, tracks: number[]): string {
  const { total, spent } = timeOf(run, tracks);
  const share = (value: number) => `${Math.round((100 * value) / Math.max(total, 1e-9))} %`;
  return run.tracks[tracks[0]]?.kind === "warp" ? `${share(spent[WAIT])} waiting` : `${share(spent[2])} busy`;
}

/** Cycles of each activity, the time in which the CTA of the tracks runs (all tracks together), and waits by barrier. */
export function timeOf(run: Run, tracks: number[]): { total: number; spent: [number, number, number]; waits: Map<string, number> } {
  const spent: [number, number, number] = [0, 0, 0], waits = new Map<string, number>();
  const { start, end, activity, name } = run.intervals;
  let total = 0;
  for (const track of tracks) {
    const cta = run.ctas.find((each) => each.cta === run.tracks[track].cta);
    total += cta ? cta.end - cta.start : run.cycles;
    let covered = -Infinity;
    for (let id = run.firstOf[track]; id < run.firstOf[track + 1]; id++) {
      const from = Math.max(start[id], covered);
      if (end[id] <= from) continue;
      covered = end[id];
      spent[activity[id]] += end[id] - from;
      if (activity[id] === WAIT) {
        const what = run.names[name[id]].replace(/\[\d+\]$/, "");
        waits.set(what, (waits.get(what) ?? 0) + end[id] - from);
      }
    }
  }
  return { total, spent, waits };
}

/** The lane and row of an interval among the items. */
export function find(items: Item[], run: Run, id: number): { lane: Lane; row: number; position: number } | null {
  for (const lane of items) {
    if (lane.kind !== "lane" || lane.run !== run) continue;
    for (let row = 0; row < lane.rows.length; row++) {
      const position = lane.rows[row].ids.indexOf(id);
      if (position >= 0) return { lane, row, position };
    }
  }
  return null;
}
