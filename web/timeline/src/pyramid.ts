// Rows seen from afar: for each bin of 2^level cycles, what takes most of it and how much of it is taken.

import type { Run } from "./data.ts";

/** What fills a bin: `key` is paintKey of most of it (0 is nothing), `share` is from 0 to 255. */
export interface Level { width: number; key: Uint8Array; share: Uint8Array }

/** Activity and stage of an interval as one number that is not 0. Stages beyond 60 share a number. */
export const paintKey = (activity: number, stage: number): number => 1 + activity * 64 + Math.min(stage, 61);

/** The activity and the stage (null for none) of a key. */
export const paintOf = (key: number): { activity: number; stage: number | null } => {
  const stage = (key - 1) % 64;
  return { activity: Math.floor((key - 1) / 64), stage: stage ? stage - 1 : null };
};

export class Pyramid {
  private readonly levels = new Map<number, Level>();

  constructor(private readonly run: Run, private readonly ids: Uint32Array) {}

  /** The bins of at most `cycles`. */
  level(cycles: number): Level {
    const exponent = Math.floor(Math.log2(cycles));
    let level = this.levels.get(exponent);
    if (!level) this.levels.set(exponent, (level = this.build(2 ** exponent)));
    return level;
  }

  private build(width: number): Level {
    const { start, end, activity, stage } = this.run.intervals;
    const bins = Math.ceil(this.run.cycles / width) + 1;
    const key = new Uint8Array(bins), share = new Uint8Array(bins);
    const spent = new Float64Array(256), seen: number[] = [];
    let bin = -1;
    const close = () => {
      let most = 0, all = 0;
      for (const each of seen) {
        all += spent[each];
        if (spent[each] > spent[most] || most === 0) most = each;
      }
      for (const each of seen) spent[each] = 0;
      seen.length = 0;
      if (bin >= 0 && bin < bins) {
        key[bin] = most;
        share[bin] = Math.min(255, Math.round((255 * all) / width));
      }
    };
    for (const id of this.ids) {
      const paint = paintKey(activity[id], stage[id]);
      const last = Math.floor(end[id] / width);
      for (let at = Math.floor(start[id] / width); at <= last; at++) {
        const part = Math.min(end[id], (at + 1) * width) - Math.max(start[id], at * width);
        if (part <= 0) continue;
        if (at !== bin) {
          close();
          bin = at;
        }
        if (!spent[paint]) seen.push(paint);
        spent[paint] += part;
      }
    }
    close();
    return { width, key, share };
  }
}
