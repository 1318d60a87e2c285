// The tab "What bounds it": the sentence, and how each lane of a CTA spends its time.

import { BUSY, type Page, type Run, RUN, WAIT } from "./data.ts";
import { byId, element, table } from "./dom.ts";
import { cycles, duration, percent } from "./format.ts";
import { timeOf } from "./lanes.ts";

export function showBound(page: Page): void {
  const panel = byId("panel-bound");
  panel.replaceChildren(element("h2", { class: "sr" }, "What bounds it"), ...page.differences.map((text) => element("p", { class: "lead" }, text)));
  for (const run of page.runs) panel.append(...ofRun(run, page.runs.length > 1));
}

function ofRun(run: Run, several: boolean): HTMLElement[] {
  const out: HTMLElement[] = [];
  if (several) out.push(element("h3", {}, `${"AB"[run.index]}: ${run.kernel}`));
  if (run.bound) {
    out.push(element("p", { class: "lead" }, run.bound.sentence));
    for (const text of run.bound.paragraphs) out.push(element("p", {}, text));
    if (run.bound.shares.length) {
      out.push(table("The critical path, by what it goes through", ["Through", "Share", "Drawn"],
        run.bound.shares.map(([name, share]) => [name, percent(share), bar([["busy", share]])])));
    }
  }
  const [first, slowest] = run.groups;
  if (first) out.push(lanes(run, first.label, first.ctas));
  if (slowest && String(slowest.ctas) !== String(first.ctas)) out.push(lanes(run, slowest.label, slowest.ctas));
  return out;
}

/** Each lane of the CTAs: its shares of their time. */
function lanes(run: Run, label: string, ctas: number[]): HTMLElement {
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

function bar(parts: [string, number][]): HTMLElement {
  return element("span", { class: "bar", "aria-hidden": true }, ...parts.map(([kind, share]) => {
    const part = element("span", { class: kind });
    part.style.width = `${100 * Math.min(1, share)}%`;
    return part;
  }));
}
