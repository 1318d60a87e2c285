// What the events of a run show. The results of an earlier text stay until those of a later one come, and are grey.

import { byId, element } from "../../timeline/src/dom.ts";
import { cycles, significant } from "../../timeline/src/format.ts";
import { showBound } from "./bound.ts";
import type { Editor } from "./editor.ts";
import { Findings } from "./findings.ts";
import { Product } from "./product.ts";
import type { BoundEvent, FailedEvent, Finding, RunEvent, VerdictEvent } from "./protocol.ts";
import { Stages } from "./stages.ts";
import { Timeline } from "./timeline.ts";

const PANES = ["findings", "timeline", "bound", "product", "tir", "passes", "cuda", "ptx", "sass"];
const LACKING: Record<string, string> = {
  timeline: "This run has no timeline.", bound: "This run has no bound: the kernel did not end.", product: "This run has no product to compare.",
};

export class Results {
  readonly findings: Findings;
  readonly timeline: Timeline;
  readonly product: Product;
  readonly stages: Stages;
  /** The number of the last run that ended with a verdict. */
  run: number | null = null;
  /** Tells a failed run of course mode, by its number. */
  slowly: (run: number) => void = () => {};
  /** Is told the constants of the kernel that was built. */
  constants: (found: Record<string, { value: number | string; line: number }>) => void = () => {};
  private started: number | null = null;
  private seen = new Set<string>();
  private concealed = false; // what course mode tells in steps
  private bound: BoundEvent | null = null;
  private time = ""; // in the words of the verdict
  private pinned: BoundEvent | null = null;
  private limits = { build: 0, simulate: 0 };

  /** file: the name of the editor's text. */
  constructor(editor: Editor, file: string, private readonly say: (text: string) => void, private readonly tell: (text: string) => void) {
    this.findings = new Findings(byId("pane-findings"), editor, tell);
    this.timeline = new Timeline(byId("pane-timeline"), editor, file);
    this.product = new Product(byId("pane-product"));
    this.stages = new Stages(editor);
    this.timeline.say("The timeline is shown after a run.");
    byId("pane-findings").append(element("p", { class: "lead" }, "The findings are shown after a run."));
    for (const name of ["bound", "product"]) byId(`pane-${name}`).append(element("p", { class: "lead" }, "This is shown after a run."));
  }

  /** All that is shown is of an earlier text. */
  outdated(): void {
    for (const name of PANES) if (byId(`pane-${name}`).dataset.of === "run") byId(`pane-${name}`).dataset.stale = "";
    byId("verdict").dataset.stale = "";
    this.stages.outdated();
    this.note();
  }

  /** Keeps the run that is seen beside later ones; or keeps none. */
  pin(on: boolean): void {
    this.pinned = on ? this.bound : null;
    if (this.bound) showBound(byId("pane-bound"), this.bound, this.pinned);
    void this.timeline.pin(on);
  }

  /** Says whether the pane that is seen is of an earlier text. */
  note(): void {
    byId("stale").hidden = !PANES.some((name) => !byId(`pane-${name}`).hidden && byId(`pane-${name}`).dataset.stale !== undefined);
  }

  private fresh(name: string): void {
    const pane = byId(`pane-${name}`);
    pane.dataset.of = "run";
    delete pane.dataset.stale;
    this.seen.add(name);
    this.note();
  }

  show(event: RunEvent): void {
    switch (event.event) {
      case "started":
        this.started = event.run;
        this.limits = event.limits;
        this.seen.clear();
        return;
      case "built":
        this.constants(event.constants ?? {});
        return this.say("The kernel is built; it is being simulated.");
      case "progress": return this.progress(event);
      case "verdict": return this.verdict(event);
      case "bound":
        this.fresh("bound");
        this.bound = event;
        if (event.time) this.times(event.time);
        return showBound(byId("pane-bound"), event, this.pinned);
      case "product":
        this.fresh("product");
        return this.product.show(event);
      case "timeline":
        this.fresh("timeline");
        void this.timeline.show(event.data);
        return;
      case "stage":
        this.fresh(event.stage);
        return this.stages.show(event);
      case "drill": return this.tell([event.sentence, event.reason].filter(Boolean).join(" "));
      case "failed": return this.failed(event);
      case "done": return this.done(event.seconds);
    }
  }

  private progress({ fraction, seconds, text }: Extract<RunEvent, { event: "progress" }>): void {
    const bar = byId<HTMLProgressElement>("progress");
    bar.hidden = false;
    if (fraction === null) bar.removeAttribute("value");
    else bar.value = fraction;
    this.say(`${text ? `${text} ` : ""}${seconds.toFixed(1)} of at most ${this.limits.simulate} s.`);
  }

  private verdict(event: VerdictEvent): void {
    this.run = this.started;
    const figures = [
      event.microseconds && `${significant(event.microseconds)} µs`, event.cycles && `${cycles(event.cycles)} cycles`,
    ].filter(Boolean).join(", ");
    this.head(event.verdict, event.title || figures);
    this.time = event.time ?? "";
    this.fresh("findings");
    this.concealed = Boolean(event.stages);
    if (event.stages && this.run !== null) this.slowly(this.run);
    else if (event.findings) {
      this.findings.show(event.findings, "Nothing is wrong.");
      byId("pane-findings").append(...(event.notes ?? []).map((note) => element("p", { class: "quiet" }, note)));
    }
  }

  /** The times of the verdict are whole. */
  private times(all: string): void {
    const words = byId("verdict").lastChild;
    if (this.time && words instanceof Text) words.data = words.data.replace(this.time, () => all);
    this.time = all;
  }

  private failed(event: FailedEvent): void {
    if (event.what === "timeline") { // there is a verdict
      this.fresh("timeline");
      return this.timeline.say(`There is no timeline: ${event.title}`);
    }
    this.head("failed", event.title);
    this.fresh("findings");
    const text = event.text && element("pre", { tabindex: 0 }, event.text);
    this.findings.show(event.findings ?? [], event.title, event.findings?.length ? "" : text);
    this.seen.add("failed");
  }

  /** A text that does not parse. */
  unparsed(finding: Finding): void {
    this.head("failed", "The text does not parse.");
    this.fresh("findings");
    this.findings.show([finding], "");
  }

  private head(verdict: string, words: string): void {
    const head = byId("verdict");
    delete head.dataset.stale;
    head.dataset.verdict = verdict === "ok" ? "ok" : "bad";
    head.replaceChildren(element("b", {}, verdict), words ? ` ${words}` : "");
  }

  private done(seconds: number): void {
    byId("progress").hidden = true;
    this.say(`The run took ${significant(seconds)} s.`);
    if (this.seen.has("failed")) return; // the last good results stay
    for (const [name, lacking] of Object.entries(LACKING)) {
      const words = this.concealed ? "Course mode tells a run that fails in steps: they are in the tab Findings." : lacking;
      if (this.seen.has(name)) continue;
      if (name === "timeline") this.timeline.say(words);
      else byId(`pane-${name}`).replaceChildren(element("p", { class: "lead" }, words));
      this.fresh(name);
    }
  }
}
