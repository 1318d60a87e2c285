// The findings as a list: each goes to its line, and offers the help's edit.

import { element } from "../../timeline/src/dom.ts";
import { count } from "../../timeline/src/format.ts";
import type { Editor } from "./editor.ts";
import type { Edit, Finding } from "./protocol.ts";

/** A place in another file than the editor's. */
const placed = (where: string | undefined): HTMLElement | null => where ? element("code", { class: "where" }, where) : null;

export class Findings {
  constructor(private readonly pane: HTMLElement, private readonly editor: Editor, private readonly tell: (text: string) => void) {}

  /** Shows them here and in the editor. without: said where there is none. above: shown above the list. */
  show(findings: Finding[], without: string, ...above: (Node | string)[]): void {
    this.editor.show(findings);
    this.pane.replaceChildren(...above, findings.length ? this.list(findings) : without ? element("p", { class: "lead" }, without) : "");
  }

  /** The findings in order; those that follow from others are folded. */
  list(findings: Finding[]): HTMLElement {
    const causes = findings.filter((finding) => !finding.consequence), others = findings.filter((finding) => finding.consequence);
    return element("div", {},
      element("ol", { class: "findings" }, ...causes.map((finding) => this.item(finding))),
      others.length > 0 && element("details", { class: "consequences" }, element("summary", {}, `${count(others.length, "finding")} that follow${others.length > 1 ? "" : "s"} from these`),
        element("ol", { class: "findings" }, ...others.map((finding) => this.item(finding)))));
  }

  private item(finding: Finding): HTMLElement {
    const { line, help, edit, happened } = finding;
    const name = `${happened === false ? "possible " : ""}${finding.severity}${finding.code ? `[${finding.code}]` : ""}`;
    return element("li", { class: finding.severity },
      element("p", { class: "finding-title" }, line ? this.toLine(line, finding.column ?? 1) : placed(finding.where), " ", element("b", {}, name), ` ${finding.title}`),
      finding.related.length > 0 && element("ul", { class: "related" }, ...finding.related.map((each) =>
        element("li", {}, each.line ? this.toLine(each.line) : placed(each.where), ` ${each.text}`))),
      finding.rule && element("p", { class: "quiet" }, `Rule: ${finding.rule}`),
      help && element("p", { class: "help" }, element("b", {}, "Help: "), help),
      edit && this.editOf(edit),
      finding.text && element("details", {}, element("summary", {}, "The whole page"), element("pre", { tabindex: 0 }, finding.text)));
  }

  private toLine(line: number, column = 1): HTMLElement {
    const button = element("button", { type: "button", class: "to-line" }, `line ${line}`);
    button.addEventListener("click", () => this.editor.goTo(line, column));
    return button;
  }

  /** The edit of a help as two texts, and a button that makes it. */
  editOf(edit: Edit): HTMLElement {
    const button = element("button", { type: "button" }, "Make this edit");
    button.addEventListener("click", () => {
      if (!this.editor.apply(edit)) this.tell(`Line ${edit.line} has changed: the edit does not fit it any more.`);
    });
    return element("div", { class: "edit" },
      element("pre", { class: "removed", "aria-label": "before" }, edit.before), element("pre", { class: "added", "aria-label": "after" }, edit.after), button);
  }
}
