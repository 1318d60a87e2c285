// The tab "What bounds it": the causes in words, the critical path, and what each lane does with its time.

import { type Bound, BUSY, type Page, type Run, RUN, WAIT } from "./data.ts";
import { byId, element, table } from "./dom.ts";
import { cycles, duration, percent } from "./format.ts";
import { timeOf } from "./lanes.ts";

export function showBound(page: Page): void {
  const panel = byId("panel-bound");
  panel.replaceChildren(element("h2", { class: "sr" }, "What bounds it"), ...page.differences.map((text) => element("p", { class: "lead" }, text)));
  for (const run of page.runs) {
    if (page.runs.length > 1) panel.append(element("h3", {}, `${"AB"[run.index]}: ${run.kernel}`));
    panel.append(...(run.bound ? ofBound(run.bound) : ofLanes(run)));
  }
}

function ofBound(bound: Bound): HTMLElement[] {
  const others = bound.causes.slice(1);
  const words = element("div", {},
    element("p", { class: "lead" }, element("b", {}, `Bound by ${bound.name}`), `${bound.rest}.`),
    others.length > 0 && element("h3", {}, "To remove after that"),
    others.length > 0 && element("ol", {}, ...others.map((cause) => element("li", {}, element("b", {}, `${cause.name}: `), `${cause.sentence}.`))));
  const path = table("The critical path: the terms of the time in a row of launches", ["Through", "Its part", "Share", "Time"],
    bound.shares.map((each) => [each.resource, bar([["busy", each.share]]), `${each.percent}\u00a0%`, each.time]));
  const usage = table("Of what the GPU can do, used in the loops over K", ["Part", "Its part", "Share"],
    bound.usage.map((each) => [each.name, bar([["busy", each.share]]), percent(each.share)]));
  const lanes = table("From the first load or MMA to the last MMA, on the SM that ended last",
    ["Lane", "Its time", "Busy", "Waiting", "Idle", "Waits for"],
    bound.lanes.map(({ name, warps, busy, waits, idle }) => {
      const waiting = waits.reduce((sum, each) => sum + each.share, 0);
      return [
        warps > 1 ? `${name}, ${warps} warps` : name, bar([["busy", busy], ["waits", waiting]]), percent(busy), warps ? percent(waiting) : "–",
        percent(idle), waits.slice(0, 3).map((each) => `${each.name} ${percent(each.share)}`).join(", ") || "–",
      ];
    }));
  return [element("div", { class: "columns" }, words, element("div", {}, path, usage)), lanes];
}

/** Of a run without a critical path: what each lane of the first and of the slowest CTA does. */
function ofLanes(run: Run): HTMLElement[] {
  const out: HTMLElement[] = [], [first, slowest] = run.groups;
  if (first) out.push(lanesOf(run, first.label, first.ctas));
  if (slowest && String(slowest.ctas) !== String(first.ctas)) out.push(lanesOf(run, slowest.label, slowest.ctas));
  return out;
}

/** Each lane of the CTAs: its shares of their time. */
function lanesOf(run: Run, label: string, ctas: number[]): HTMLElement {
  const rows = run.lanes.filter((lane) => ctas.includes(lane.cta)).map((lane) => {
    const { total, spent, waits } = timeOf(run, lane.tracks);
    const share = (value: number) => value / Math.max(total, 1e-9);
    const engine = run.tracks[lane.tracks[0]].kind !== "warp";
    const active = share(spent[engine ? BUSY : RUN]), waiting = share(spent[WAIT]);
    const [most] = [...waits].sort((a, b) => b[1] - a[1]);
    const each = most ? most[1] / lane.tracks.length : 0;
    const name = ctas.length > 1 ? `${lane.name}, ${run.ctas.find((cta) => cta.cta === lane.cta)?.name}` : lane.name;
    return [
      name, bar([["busy", active], ["waits", waiting]]), percent(active), engine ? "–" : percent(waiting),
      percent(Math.max(0, 1 - active - waiting)), most ? `${most[0]}: ${cycles(each)} cycles, ${duration(each, run.clockGhz)}` : "–",
    ];
  });
  return table(`${label}: what each lane does with the time`, ["Lane", "Its time", "Busy", "Waiting", "Idle", "Waits longest for"], rows);
}

/** A bar of parts: what each is, and its share. */
export function bar(parts: [string, number][]): HTMLElement {
  return element("span", { class: "bar", "aria-hidden": true }, ...parts.map(([kind, share]) => {
    const part = element("span", { class: kind });
    part.style.width = `${100 * Math.min(1, share)}%`;
    return part;
  }));
}
