// Course mode: a failed run is told in four steps, and a tab has hints, the quiz and drills.

import { byId, element } from "../../timeline/src/dom.ts";
import type { Choices } from "./choices.ts";
import { Drills } from "./drills.ts";
import type { Editor } from "./editor.ts";
import type { Session } from "./protocol.ts";
import { Quiz, showHints } from "./quiz.ts";
import type { Results } from "./results.ts";
import { Reveals } from "./reveal.ts";
import type { Server } from "./server.ts";

export class Course {
  on = false;
  readonly drills: Drills;
  private readonly quiz: Quiz;
  private readonly hints = element("div");
  private readonly button = byId<HTMLButtonElement>("course");
  private reveals: Reveals | null = null;

  /** changed: what is to run, or how it is told, has changed. */
  constructor(private readonly server: Server, session: Session, private readonly editor: Editor, private readonly choices: Choices,
    private readonly results: Results, changed: () => void, private readonly tell: (text: string) => void) {
    const quiz = element("div"), drills = element("div");
    this.quiz = new Quiz(quiz, server);
    this.drills = new Drills(drills, server, editor, choices, changed);
    byId("pane-course").append(
      element("h2", {}, "Hints"), this.hints, element("h2", {}, "Quiz"), quiz, element("h2", {}, "Drills"), drills);
    const { course } = session;
    this.button.hidden = course === false;
    this.button.addEventListener("click", () => {
      if (typeof course === "object") return tell(course.missing);
      this.on = !this.on;
      this.button.setAttribute("aria-pressed", String(this.on));
      byId("tab-course").hidden = !this.on;
      if (this.on) this.draw();
      else if (!byId("pane-course").hidden) byId("tab-findings").click();
      changed();
    });
  }

  /** Shows the hints, the quiz and the drills of the chosen step; called when they are seen. */
  draw(): void {
    if (byId("pane-course").hidden) return;
    const step = this.drills.drill ? null : this.choices.step;
    if (this.drills.drill) this.hints.replaceChildren(element("p", {}, "A drill has no hints."));
    else void showHints(this.hints, this.server, this.editor, step);
    void this.quiz.show(step);
    this.drills.show(step);
  }

  /** A run has failed: it is told step by step. */
  tellSlowly(run: number): void {
    this.reveals = new Reveals(this.server, run, this.editor, this.results.findings, (event) => this.results.show(event), this.tell);
    this.reveals.show();
  }

  moved(): void {
    this.reveals?.label();
    this.drills.moved();
  }
}
