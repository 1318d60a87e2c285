// What an interval or a change of a barrier is, in words: for the details, the hint at the pointer and screen readers.

import { BUSY, type Run, WAIT } from "./data.ts";
import { count, cycles, duration } from "./format.ts";

export function trackName(run: Run, track: number): string {
  const { cta, kind, warp, role } = run.tracks[track];
  const name = run.ctas.find((each) => each.cta === cta)?.name ?? `CTA ${cta}`;
  return kind === "warp" ? `${role} (warp ${warp}) of ${name}` : `${kind} of ${name}`;
}

export function intervalTitle(run: Run, id: number): string {
  const name = run.names[run.intervals.name[id]];
  return run.intervals.activity[id] === WAIT ? `waits for ${name}` : name;
}

/** The change that ended a wait, as its number; -1 if there is none. */
export const causeOf = (run: Run, id: number): number => run.intervals.cause[id] - 1;

/** Who ended a wait, how, and when. */
export function causeText(run: Run, id: number): string | null {
  const cause = causeOf(run, id);
  if (cause < 0) {
    const open = run.stuck !== null && run.intervals.activity[id] === WAIT && run.intervals.end[id] > run.stuck - 1; // an eighth of a cycle is lost on the way
    return open ? "nothing: it waits for ever" : null;
  }
  return `${signalText(run, cause)} by ${trackName(run, run.changes.source[cause])}, at cycle ${cycles(run.changes.time[cause])}`;
}

export const signalText = (run: Run, change: number): string => run.signals[run.changes.signal[change]];

/** The number of the line, with the file's name where the run has several. */
export function placeText(run: Run, place: number): string {
  const { file, line } = run.places[place];
  return run.files.length > 1 ? `${line} of ${run.files[file].name}` : String(line);
}

export function took(run: Run, id: number): string {
  const length = run.intervals.end[id] - run.intervals.start[id];
  return `${cycles(length)} cycles, ${duration(length, run.clockGhz)}`;
}

/** The rows of the details of an interval. */
export function intervalRows(run: Run, id: number): [string, string][] {
  const { track, start, end, activity, stage, operands, phase, barrier, before, behind } = run.intervals;
  const rows: [string, string][] = [
    ["who", trackName(run, track[id])],
    ["when", `cycle ${cycles(start[id])} to ${cycles(end[id])}`],
    [activity[id] === WAIT ? "waited" : activity[id] === BUSY ? "busy" : "took", took(run, id)],
  ];
  if (before[id] || behind[id]) {
    const moving = end[id] - start[id] - before[id] - behind[id];
    rows.push(["bytes move", `for ${cycles(moving)} of them, from cycle ${cycles(start[id] + before[id])}`]);
  }
  if (stage[id]) rows.push(["stage", String(stage[id] - 1)]);
  if (barrier[id]) {
    const name = run.barriers[barrier[id] - 1].name;
    rows.push([activity[id] === WAIT ? "mbarrier" : "signals", phase[id] ? `${name}, phase ${phase[id] - 1}` : name]);
  }
  rows.push(...run.operands[operands[id]]);
  const ended = causeText(run, id);
  if (ended) rows.push(["ended by", ended]);
  return rows;
}

/** The rows of the details of a change of a barrier. */
export function changeRows(run: Run, change: number): [string, string][] {
  const { time, barrier, source, phase, pending, tx } = run.changes;
  return [
    ["mbarrier", run.barriers[barrier[change]].name],
    ["when", `cycle ${cycles(time[change])}, ${duration(time[change], run.clockGhz)}`],
    ["who", trackName(run, source[change])],
    ["phase", String(phase[change])],
    ["then lacks", `${count(pending[change], "arrival")} and ${count(tx[change], "byte")}`],
  ];
}

/** One sentence for a screen reader. */
export const spoken = (title: string, rows: [string, string][]): string =>
  `${title}. ${rows.map(([name, value]) => `${name}: ${value}`).join("; ")}.`;
