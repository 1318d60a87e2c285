// Drills: a kernel with one mistake takes the place of the reader's text until it is repaired or given up.

import { element } from "../../timeline/src/dom.ts";
import type { Choices } from "./choices.ts";
import type { Editor } from "./editor.ts";
import type { Drill } from "./protocol.ts";
import { sentenceOf, type Server } from "./server.ts";

export class Drills {
  /** The drill that the editor has; null if it has the reader's text. */
  drill: Drill | null = null;
  private mine = "";
  private line: HTMLElement | null = null;

  /** changed: the editor has another text. */
  constructor(private readonly node: HTMLElement, private readonly server: Server, private readonly editor: Editor, private readonly choices: Choices,
    private readonly changed: () => void) {}

  show(step: number | null): void {
    if (this.drill) return;
    const deal = element("button", { type: "button", disabled: step === null }, step === null ? "Choose a kernel of a step first" : `Deal a drill of step ${step}`);
    const said = element("p", { role: "status" });
    deal.addEventListener("click", () => void this.deal(step!, said));
    this.node.replaceChildren(
      element("p", {}, "A drill is a kernel with one mistake: find its line and its cause, then repair it. Your text comes back afterwards."), deal, said);
  }

  private async deal(step: number, said: HTMLElement): Promise<void> {
    try {
      const drill = await this.server.post<Drill>("/course/drill", { step, seed: null });
      this.mine = this.editor.text;
      this.drill = drill;
      this.editor.load(drill.text);
      this.choices.fix(drill);
      this.ask(drill);
      this.changed();
    } catch (error) {
      said.textContent = sentenceOf(error);
    }
  }

  private ask(drill: Drill): void {
    this.line = element("b", {});
    const outcome = element("p", { role: "status" });
    const causes = drill.causes.map((cause, index) => element("label", { class: "cause" },
      element("input", { type: "radio", name: "cause", value: index, required: true }), ` ${cause}`));
    const form = element("form", {}, element("p", {}, element("b", {}, `Drill ${drill.number} of ${drill.of}: `), drill.symptom),
      element("p", {}, "Put the cursor on the line of the mistake: it is ", this.line, "."),
      element("fieldset", {}, element("legend", {}, "Its cause"), ...causes), element("button", { type: "submit" }, "Answer"), outcome);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.answer(drill, Number(new FormData(form).get("cause")), outcome);
    });
    const back = element("button", { type: "button" }, "Back to my text");
    back.addEventListener("click", () => this.end());
    this.node.replaceChildren(form, element("p", {}, "Then repair it in the editor: each run is judged."), back);
    this.moved();
  }

  /** The cursor went to another line. */
  moved(): void {
    if (this.line) this.line.textContent = `line ${this.editor.cursorLine}`;
  }

  private async answer(drill: Drill, cause: number, outcome: HTMLElement): Promise<void> {
    try {
      const line = this.editor.cursorLine;
      const { sentence } = await this.server.post<{ right: boolean; sentence: string }>("/course/drill/answer", { id: drill.id, line, cause });
      outcome.textContent = `Line ${line}: ${sentence}.`;
    } catch (error) {
      outcome.textContent = sentenceOf(error);
    }
  }

  private end(): void {
    this.drill = this.line = null;
    this.editor.load(this.mine);
    this.choices.release();
    this.show(this.choices.step);
    this.changed();
  }
}
