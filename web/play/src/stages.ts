// The stages of the compiler as lists of lines: TIR, the passes as differences, CUDA, PTX and SASS.

import { cppLanguage } from "@codemirror/lang-cpp";
import { pythonLanguage } from "@codemirror/lang-python";
import type { Parser } from "@lezer/common";
import { byId, element } from "../../timeline/src/dom.ts";
import { count } from "../../timeline/src/format.ts";
import { diffRows } from "./diff.ts";
import type { Editor } from "./editor.ts";
import { type StageEvent, type StageItem, type StageName, STAGES } from "./protocol.ts";
import { Lines, type Row, rowsOf } from "./virtual.ts";

const TITLES: Record<StageName, string> = { tir: "TIR", passes: "Passes", cuda: "CUDA", ptx: "PTX", sass: "SASS" };
const PARSERS: Partial<Record<StageName, Parser>> = { tir: pythonLanguage.parser, passes: pythonLanguage.parser, cuda: cppLanguage.parser };

class Stage {
  private readonly lines: Lines;
  private readonly picker: HTMLSelectElement;
  private readonly about = element("span", { class: "quiet", role: "status" });
  private readonly toolbar: HTMLElement;
  private items: StageItem[] = [];
  /** Whether it has been shown for the text of the last run. */
  current = false;

  constructor(readonly name: StageName, private readonly pane: HTMLElement, editor: Editor) {
    this.lines = new Lines(`lines-${name}`, `${TITLES[name]}; the arrow keys go from line to line`, (source) => editor.mark(source ? [source] : [], source > 0));
    this.picker = element("select", { id: `pick-${name}` });
    this.picker.addEventListener("change", () => this.draw());
    const step = (by: number, text: string, label: string) => {
      const button = element("button", { type: "button", "aria-label": label }, text);
      button.addEventListener("click", () => {
        this.picker.selectedIndex = Math.max(0, Math.min(this.items.length - 1, this.picker.selectedIndex + by));
        this.draw();
      });
      return button;
    };
    this.toolbar = element("div", { class: "toolbar" }, element("label", {}, name === "passes" ? "Pass " : "Text ", this.picker),
      step(-1, "←", "Previous"), step(1, "→", "Next"), this.about);
    this.say(`${TITLES[name]} is shown after a run.`);
  }

  say(text: string): void {
    this.pane.replaceChildren(element("p", { class: "lead padded" }, text));
  }

  show(event: StageEvent): void {
    this.current = true;
    if (!event.items) return this.say(event.missing ?? "There is no text of this stage.");
    const before = this.picker.value, items = this.items = event.items;
    this.picker.replaceChildren(...items.map((item, index) =>
      element("option", { value: item.name }, this.name === "passes" ? `${index}: ${item.name}` : item.name)));
    if (items.some((item) => item.name === before)) this.picker.value = before;
    this.toolbar.hidden = items.length < 2;
    this.pane.replaceChildren(this.toolbar, this.lines.node);
    this.draw();
  }

  private draw(): void {
    const index = Math.max(0, this.picker.selectedIndex), item = this.items[index];
    const { rows, words } = this.name === "passes" && index ? difference(this.items[index - 1], item) : whole(item);
    this.about.textContent = words;
    this.lines.show(rows, PARSERS[this.name] ?? null);
  }

  light(line: number, reveal: boolean): void {
    if (!this.pane.hidden) this.lines.light(line, reveal);
  }
}

function whole(item: StageItem | undefined): { rows: Row[]; words: string } {
  const rows = item ? rowsOf(item.text, item.lines) : [];
  return { rows, words: count(rows.length, "line") };
}

/** What a pass changes. */
function difference(before: StageItem, after: StageItem): { rows: Row[]; words: string } {
  const rows = diffRows(before, after, false), of = (kind: string) => rows.filter((row) => row.kind === kind).length;
  return { rows, words: rows.length ? `${count(of("added"), "line")} added, ${of("removed")} removed` : "The pass changes nothing." };
}

export class Stages {
  private readonly all: Map<StageName, Stage>;

  constructor(editor: Editor) {
    this.all = new Map(STAGES.map((name) => [name, new Stage(name, byId(`pane-${name}`), editor)]));
  }

  show(event: StageEvent): void { this.all.get(event.stage)?.show(event); }

  /** No stage is of the present text any more. */
  outdated(): void { for (const stage of this.all.values()) stage.current = false; }

  isCurrent(name: StageName): boolean { return this.all.get(name)!.current; }

  /** Marks the descendants of a line in the stage that is seen. */
  light(line: number, reveal: boolean): void {
    for (const stage of this.all.values()) stage.light(line, reveal);
  }
}
