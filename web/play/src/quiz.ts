// Hints for the TODOs of a step, and its quiz: figures to predict.

import { element } from "../../timeline/src/dom.ts";
import type { Editor } from "./editor.ts";
import type { Mark, Question, Todo } from "./protocol.ts";
import { sentenceOf, type Server } from "./server.ts";

const LEVELS = 3;

/** The hints: for each TODO of a step three, each opened by the reader. */
export async function showHints(node: HTMLElement, server: Server, editor: Editor, step: number | null): Promise<void> {
  const text = editor.text;
  try {
    const { todos } = await server.post<{ todos: Todo[] }>("/course/todos", { text });
    const mine = todos.filter((todo) => step === null || todo.step === step);
    node.replaceChildren(mine.length
      ? element("ol", { class: "todos" }, ...mine.map((todo) => todoItem(todo, server, editor)))
      : element("p", {}, "This kernel has no TODO with hints."));
  } catch (error) {
    node.replaceChildren(element("p", {}, sentenceOf(error)));
  }
}

function todoItem(todo: Todo, server: Server, editor: Editor): HTMLElement {
  const texts = element("div", { "aria-live": "polite" });
  let level = 0;
  const more = element("button", { type: "button" }, "Hint 1");
  more.addEventListener("click", () => void (async () => {
    try {
      const { text } = await server.post<{ text: string }>("/course/hint", { text: editor.text, todo: todo.id, level: level + 1 });
      level++;
      texts.append(element("pre", {}, text));
      more.textContent = `Hint ${level + 1}`;
      more.hidden = level >= LEVELS;
    } catch (error) {
      texts.append(element("p", {}, sentenceOf(error)));
    }
  })());
  const line = element("button", { type: "button", class: "to-line" }, `line ${todo.line}`);
  line.addEventListener("click", () => editor.goTo(todo.line));
  return element("li", {}, element("p", {}, todo.line ? line : null, ` ${todo.title}${todo.open ? "" : " (filled in)"}`), texts, more);
}

/** The questions of a step, one after another. */
export class Quiz {
  private step: number | null = null;

  constructor(private readonly node: HTMLElement, private readonly server: Server) {}

  async show(step: number | null): Promise<void> {
    if (step === this.step && step !== null) return; // an answer stays
    this.step = step;
    await this.ask(0);
  }

  private async ask(index: number): Promise<void> {
    const { node, server, step } = this;
    if (step === null) return node.replaceChildren(element("p", {}, "Choose a kernel of a step to be asked about it."));
    try {
      const question = await server.post<Question>("/course/quiz", { step, question: index, answer: null, why: "" });
      const answer = element("input", { type: "text", inputmode: "decimal", required: true, autocomplete: "off", id: "quiz-answer" });
      const why = element("input", { type: "text", autocomplete: "off", id: "quiz-why" });
      const outcome = element("div", { "aria-live": "polite" });
      const form = element("form", {},
        element("p", {}, element("b", {}, `Question ${index + 1} of ${question.count}: `), ...prose(question.question)),
        element("p", {}, element("label", { for: "quiz-answer" }, `Your number, in ${question.unit} `), answer),
        element("p", {}, element("label", { for: "quiz-why" }, "Why, in a sentence "), why),
        element("button", { type: "submit" }, "Answer"), outcome);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        void this.mark(index, question, answer.value, why.value, outcome);
      });
      node.replaceChildren(form);
    } catch (error) {
      node.replaceChildren(element("p", {}, sentenceOf(error)));
    }
  }

  private async mark(index: number, { count }: Question, answer: string, why: string, outcome: HTMLElement): Promise<void> {
    outcome.replaceChildren(element("p", {}, "The simulator computes the figure …"));
    try {
      const mark = await this.server.post<Mark>("/course/quiz", { step: this.step, question: index, answer, why });
      const last = index + 1 >= count, next = element("button", { type: "button" }, last ? "Begin again" : "Next question");
      next.addEventListener("click", () => void this.ask(last ? 0 : index + 1));
      outcome.replaceChildren(
        element("p", { class: mark.right ? "right-answer" : "wrong-answer" }, element("b", {}, mark.right ? "Right" : "Not right"),
          `: the simulator's figure is ${mark.figure}.`, mark.measured === null ? "" : ` Measured on a B200: ${mark.measured}.`),
        mark.said ? element("p", {}, ...prose(mark.said)) : "", ...mark.reasons.map((reason) => element("p", {}, ...prose(reason))), next);
    } catch (error) {
      outcome.replaceChildren(element("p", {}, sentenceOf(error)));
    }
  }
}

/** Text whose parts between backticks are code. */
function prose(text: string): (Node | string)[] {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}
