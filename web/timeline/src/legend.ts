// The colours of a timeline in words.

import type { Page } from "./data.ts";
import { byId, element } from "./dom.ts";
import { STAGES } from "./theme.ts";

export function legend(page: Page): void {
  const stages = Math.min(STAGES.length, Math.max(0, ...page.runs.map((run) => run.intervals.stage.reduce((most, stage) => Math.max(most, stage), 0))));
  byId("legend").append("stage ", ...Array.from({ length: stages }, (_, stage) => {
    const chip = element("span", { class: "chip" }, String(stage));
    chip.style.background = STAGES[stage];
    return chip;
  }), element("span", { class: "chip none" }, "no stage"), element("span", { class: "chip waiting" }, "waits"));
}
