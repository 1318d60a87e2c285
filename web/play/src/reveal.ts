// Course mode tells a failed run in four steps, each opened by the reader.

import { element } from "../../timeline/src/dom.ts";
import type { Editor } from "./editor.ts";
import type { Findings } from "./findings.ts";
import type { ProductEvent, Reveal } from "./protocol.ts";
import { sentenceOf, type Server } from "./server.ts";

const TITLES = ["What a GPU would show", "Which rule is broken", "The report", "The help"];

export class Reveals {
  private readonly steps: { body: HTMLElement; button: HTMLButtonElement }[];
  private readonly node: HTMLElement;
  private opened = 0;

  /** run: its number. product: shows the picture of D. */
  constructor(private readonly server: Server, private readonly run: number, private readonly editor: Editor, private readonly findings: Findings,
    private readonly product: (event: ProductEvent) => void, private readonly tell: (text: string) => void) {
    this.steps = TITLES.map((_, index) => {
      const button = element("button", { type: "button", disabled: index > 0 }, "");
      button.addEventListener("click", () => void this.open(index));
      return { button, body: element("div", { "aria-live": "polite" }) };
    });
    this.node = element("ol", { class: "reveals" }, ...TITLES.map((title, index) =>
      element("li", {}, element("h2", {}, title), this.steps[index].body, this.steps[index].button)));
    this.label();
  }

  /** Shows the steps in place of the findings. */
  show(): void { this.findings.show([], "", this.node); }

  /** The second step judges the line of the cursor: its button names it. */
  label(): void {
    const line = this.editor.cursorLine;
    this.steps.forEach(({ button }, index) => {
      button.textContent = index === 1 ? `Mark line ${line}: it breaks the rule` : "Show";
    });
  }

  private async open(index: number): Promise<void> {
    const { body, button } = this.steps[index], line = index === 1 ? this.editor.cursorLine : null;
    button.disabled = true;
    let answer: Reveal;
    try {
      answer = await this.server.post<Reveal>("/course/reveal", { run: this.run, stage: index + 1, line });
    } catch (error) {
      button.disabled = false;
      return this.tell(sentenceOf(error));
    }
    body.replaceChildren(...this.parts(index, answer, line));
    if (index === 1 && answer.right === false) button.disabled = false; // another line may be marked
    else button.hidden = true;
    this.opened = Math.max(this.opened, index + 1);
    const next = this.steps[this.opened];
    if (next) next.button.disabled = false;
    if (answer.product) this.product(answer.product);
  }

  private parts(index: number, answer: Reveal, line: number | null): (Node | string)[] {
    const { right, rule, sentence, help, findings } = answer;
    if (index === 0) return [element("p", {}, sentence ?? "")];
    if (index === 1) {
      return [element("p", {}, element("b", {}, right ? `Line ${line} is right.` : `Line ${line} is not where it is broken.`)), element("p", {}, rule ?? "")];
    }
    if (index === 2) {
      this.editor.show(findings ?? []);
      return [this.findings.list(findings ?? [])];
    }
    if (findings) this.editor.show(findings); // with their help
    return [element("p", {}, help || "There is no help for this finding.")];
  }
}
