// The pane that says all about one interval or one change of a barrier.

import { type Run, WAIT } from "./data.ts";
import { byId, element } from "./dom.ts";
import type { Chosen } from "./draw.ts";
import { causeOf, changeRows, intervalRows, intervalTitle, placeText, signalText, spoken } from "./words.ts";

export class Details {
  private readonly pane = byId("details");
  private readonly live = byId("live");

  /** follow: shows what ended the wait. */
  constructor(private readonly follow: (chosen: Chosen) => void) {}

  clear(): void {
    this.pane.classList.remove("some");
    this.pane.replaceChildren(element("p", { class: "quiet" },
      "Point at an interval, or press Tab to a lane and Enter, to see what it is, what it waited for and who ended that."));
  }

  interval(chosen: Chosen, aloud: boolean): void {
    const { run, id } = chosen, place = run.intervals.place[id];
    const rows = intervalRows(run, id);
    if (place) rows.splice(1, 0, ["line", placeText(run, place - 1)]);
    this.show(intervalTitle(run, id), rows, aloud);
    if (run.intervals.activity[id] === WAIT && causeOf(run, id) >= 0) {
      const button = element("button", { type: "button" }, "Show what ended it");
      button.addEventListener("click", () => this.follow(chosen));
      this.pane.append(button);
    }
  }

  change(run: Run, change: number, aloud: boolean): void {
    const rows = changeRows(run, change), place = run.changes.place[change];
    if (place) rows.push(["line", placeText(run, place - 1)]);
    this.show(signalText(run, change), rows, aloud);
  }

  private show(title: string, rows: [string, string][], aloud: boolean): void {
    const list = element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
    this.pane.classList.add("some");
    this.pane.replaceChildren(element("h3", {}, title), list);
    if (aloud) this.live.textContent = spoken(title, rows);
  }

  say(text: string): void { this.live.textContent = text; }
}
