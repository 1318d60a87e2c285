// The timeline of the last run. The editor is its source pane: lines are marked there, and the cursor's line marks its intervals.

import { type Page, type Place, read, type Run } from "../../timeline/src/data.ts";
import { byId, element } from "../../timeline/src/dom.ts";
import { legend } from "../../timeline/src/legend.ts";
import type { Choose, SourceView } from "../../timeline/src/source.ts";
import { STAGES } from "../../timeline/src/theme.ts";
import { TimelineTab } from "../../timeline/src/timeline.ts";
import type { Editor } from "./editor.ts";

/** The editor as what shows the source. */
class EditorSource implements SourceView {
  private chosen: number | null = null;

  constructor(private readonly editor: Editor, private readonly run: Run, private readonly choose: Choose, private readonly file: string) {}

  /** The run whose source the editor has; a pinned one may have had another text. */
  show(): void {}

  mark(run: Run, place: number | null): void {
    this.editor.mark(place === null || run !== this.run || !this.edited(run.places[place]) ? [] : [run.places[place].line], true);
  }

  release(): void {
    if (this.chosen !== null) this.choose(this.run, null);
    this.chosen = null;
  }

  /** Whether a place is in the editor's text, and not in a module beside it. */
  private edited(place: Place): boolean { return this.run.files[place.file].name.split(/[\\/]/).at(-1) === this.file; }

  /** Marks the intervals of a line of the text. */
  line(line: number): void {
    const place = this.run.places.findIndex((each) => each.line === line && this.edited(each));
    if (place < 0) return this.release();
    this.chosen = place;
    this.choose(this.run, place);
  }
}

export class Timeline {
  private waiting: string | null = null; // data that is read when the pane is seen
  private tab: TimelineTab | null = null;
  private source: EditorSource | null = null;
  private page: Page | null = null;
  private seenFirst = "";
  private runs = 0; // that are drawn
  private pinned: Run | null = null;
  private again = false; // what is pinned has changed since it was drawn

  /** file: the name of the editor's text. */
  constructor(private readonly pane: HTMLElement, private readonly editor: Editor, private readonly file: string) {}

  async show(data: string): Promise<void> {
    this.waiting = data;
    if (!this.pane.hidden) await this.draw();
  }

  say(text: string): void {
    this.waiting = this.tab = this.source = this.page = null;
    this.pane.replaceChildren(element("p", { class: "lead padded" }, text));
  }

  /** Draws data that has not been drawn; called when the pane becomes visible. */
  async draw(): Promise<void> {
    const data = this.waiting;
    if (data === null) {
      if (this.page && this.again) this.mount(this.page);
      return;
    }
    const page = await read(data);
    if (data !== this.waiting) return; // a later run
    this.waiting = null;
    this.mount(page);
  }

  /** Keeps the run that is seen beside later ones; or keeps none. */
  async pin(on: boolean): Promise<void> {
    if (this.waiting !== null) this.page = await read(this.waiting);
    this.pinned = on ? this.page?.runs[0] ?? null : null;
    this.again = true;
    if (!this.pane.hidden) await this.draw();
  }

  /** The run with the pinned one before it, if one is. */
  private beside(page: Page): Page {
    const [now] = page.runs;
    return this.pinned ? { ...page, window: null, runs: [this.pinned, { ...now, index: 1 }] } : { ...page };
  }

  private mount(alone: Page): void {
    const page = this.beside(alone), runs = page.runs.length;
    const before = this.tab?.seenCycles, same = this.page?.runs[0].kernel === alone.runs[0].kernel && runs === this.runs;
    const barriers = this.tab ? byId<HTMLInputElement>("barriers").checked : true;
    const top = this.tab ? byId("lanes").scrollTop : 0;
    if (before && same && String(before.map(Math.round)) !== this.seenFirst) page.window = before; // the reader has moved it
    this.again = false;
    STAGES.splice(0, STAGES.length, ...page.stages);
    this.pane.replaceChildren(byId<HTMLTemplateElement & HTMLElement>("timeline").content.cloneNode(true));
    this.page = alone;
    this.runs = runs;
    this.tab = new TimelineTab(page, (choose) => (this.source = new EditorSource(this.editor, page.runs.at(-1)!, choose, this.file)));
    this.seenFirst = String(this.tab.seenCycles.map(Math.round));
    if (same) {
      const box = byId<HTMLInputElement>("barriers");
      if (box.checked !== barriers) box.click();
      byId("lanes").scrollTop = top;
    }
    legend(page);
  }

  /** The cursor went to a line of the text. */
  line(line: number): void {
    if (!this.pane.hidden) this.source?.line(line);
  }

  recolour(): void { this.tab?.recolour(); }
}
