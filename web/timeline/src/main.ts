// The page: what its head says, its tabs, its help.

import { showBound } from "./bound.ts";
import { type Page, read } from "./data.ts";
import { byId, element } from "./dom.ts";
import { legend } from "./legend.ts";
import { showRoofline } from "./roofline.ts";
import { tabs } from "./tabs.ts";
import { STAGES, themeSwitch } from "./theme.ts";
import { TimelineTab } from "./timeline.ts";
import { WaveTab } from "./wave.ts";

function head(page: Page): void {
  byId("title").textContent = page.title;
  byId("figures").replaceChildren(...page.runs.flatMap((run, index) => [
    ...(page.runs.length > 1 ? [element("li", { class: "which" }, "AB"[index])] : []),
    ...run.figures.map(([name, value]) => element("li", {}, element("span", {}, `${name} `), element("b", {}, value))),
  ]));
  // Of two runs, how they differ; the tab has what bounds each.
  const [bound] = page.runs.map((run) => run.bound);
  const words = page.differences.length ? [page.differences.slice(0, 3).join(" ")]
    : bound ? [element("b", {}, `Bound by ${bound.name}`), `${bound.rest}.`] : [];
  byId("bound").hidden = !words.length;
  byId("bound").replaceChildren(...words);
  const shown = page.runs.flatMap((run) => run.findings);
  byId("findings").hidden = !shown.length;
  byId("findings").append(...shown.map((finding) => {
    const words = [element("b", {}, `${finding.severity}[${finding.code}]: `), finding.message,
      finding.hint && element("span", { class: "quiet" }, ` Help: ${finding.hint}.`)];
    if (!finding.notes.length) return element("p", { class: finding.severity }, ...words);
    return element("details", { class: finding.severity }, element("summary", {}, ...words), ...finding.notes.map((note) => element("p", {}, note)));
  }));
}

function help(): void {
  const dialog = byId<HTMLDialogElement>("help");
  byId("help-open").addEventListener("click", () => dialog.showModal());
  byId("help-close").addEventListener("click", () => dialog.close());
  document.addEventListener("keydown", (event) => {
    if (event.key === "?" && !dialog.open) dialog.showModal();
  });
}

async function main(): Promise<void> {
  const page = await read(byId("data").textContent!);
  STAGES.push(...page.stages);
  head(page);
  legend(page);
  help();
  const timeline = new TimelineTab(page), wave = new WaveTab(page);
  showBound(page);
  showRoofline(page);
  tabs((panel) => {
    if (panel === "panel-wave") wave.draw();
  });
  themeSwitch(() => {
    timeline.recolour();
    wave.draw();
  });
  addEventListener("resize", () => wave.draw());
  document.documentElement.dataset.ready = "";
}

main().catch((error: unknown) => {
  byId("title").textContent = `The page cannot be shown: ${String(error)}. It needs a browser from 2023 or later.`;
  throw error;
});
