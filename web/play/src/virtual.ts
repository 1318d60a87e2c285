// A list of lines of which only those in view are elements, so that a text of any length costs the same.

import { classHighlighter, highlightTree } from "@lezer/highlight";
import type { Parser } from "@lezer/common";
import { element } from "../../timeline/src/dom.ts";

/** source: the line of the kernel's text from which a row descends; 0 is none. kind: a class of the row. */
export interface Row { text: string; number: string; source: number; kind: string }

const HEIGHT = 18, AHEAD = 12;
const MOST_HIGHLIGHTED = 400_000; // characters

interface Span { from: number; to: number; classes: string }

export class Lines {
  readonly node: HTMLElement;
  private readonly inner = element("div", { class: "lines-inner", role: "presentation" });
  private rows: Row[] = [];
  private spans: Span[][] = [];
  private shown: [number, number] = [-1, -1];
  private lit = 0;
  private fresh = true;
  private active = -1;

  /** pointed: is told the source line of the row that is pointed at or gone to; 0 for none. */
  constructor(private readonly id: string, label: string, private readonly pointed: (source: number) => void = () => {}) {
    this.node = element("div", { class: "lines", id, role: "listbox", tabindex: 0, "aria-label": label }, this.inner);
    this.node.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.node);
    this.inner.addEventListener("pointermove", (event) => this.pointed(this.rows[this.indexOf(event)]?.source ?? 0));
    this.inner.addEventListener("pointerleave", () => this.pointed(0));
    this.inner.addEventListener("click", (event) => this.activate(this.indexOf(event)));
    this.node.addEventListener("keydown", (event) => this.key(event));
  }

  private indexOf(event: MouseEvent): number {
    return Math.floor((event.clientY - this.inner.getBoundingClientRect().top) / HEIGHT);
  }

  show(rows: Row[], parser: Parser | null = null): void {
    this.rows = rows;
    this.spans = parser ? highlighted(rows, parser) : [];
    this.active = -1;
    this.node.removeAttribute("aria-activedescendant");
    this.inner.style.height = `${rows.length * HEIGHT}px`;
    this.inner.style.minWidth = `calc(${rows.reduce((most, row) => Math.max(most, row.text.length), 0)}ch + 70px)`;
    this.redraw();
  }

  /** Marks the descendants of a line of the kernel's text. reveal: shows the first if none is in view. */
  light(source: number, reveal: boolean): void {
    this.lit = source;
    if (source && reveal) {
      const found = this.rows.flatMap((row, index) => (row.source === source ? [index] : []));
      const top = this.node.scrollTop / HEIGHT, bottom = top + this.node.clientHeight / HEIGHT - 1;
      if (found.length && !found.some((index) => index >= top && index <= bottom)) this.scrollTo(found[0]);
    }
    this.redraw();
  }

  private scrollTo(index: number): void {
    this.node.scrollTop = Math.max(0, index * HEIGHT - this.node.clientHeight / 3);
  }

  private key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.node.clientHeight / HEIGHT) - 1), last = this.rows.length - 1;
    const to: Record<string, number> = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: last,
    };
    if (event.key === "Escape") {
      if (this.active < 0) return; // it is for what is around the list
      this.activate(-1);
      this.pointed(0);
    } else if (to[event.key] !== undefined && last >= 0) {
      this.activate(Math.max(0, Math.min(last, to[event.key])));
      this.pointed(this.rows[this.active].source);
    } else return;
    event.preventDefault();
  }

  private activate(index: number): void {
    this.active = index;
    const { scrollTop, clientHeight } = this.node;
    if (index >= 0 && (index * HEIGHT < scrollTop || (index + 2) * HEIGHT > scrollTop + clientHeight)) this.scrollTo(index);
    this.redraw();
    if (index >= 0) this.node.setAttribute("aria-activedescendant", `${this.id}-${index}`);
    else this.node.removeAttribute("aria-activedescendant");
  }

  private redraw(): void {
    this.shown = [-1, -1];
    this.draw();
  }

  /** Nothing has been seen: the first text opens where the kernel's text has descendants. */
  private open(): void {
    if (!this.fresh || !this.rows.length || !this.node.clientHeight) return;
    this.fresh = false;
    this.node.scrollTop = Math.max(0, (this.rows.findIndex((row) => row.source > 0) - 2) * HEIGHT);
  }

  private draw(): void {
    this.open();
    const first = Math.max(0, Math.floor(this.node.scrollTop / HEIGHT) - AHEAD);
    const last = Math.min(this.rows.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / HEIGHT) + AHEAD);
    if (first === this.shown[0] && last === this.shown[1]) return;
    this.shown = [first, last];
    const out: HTMLElement[] = [];
    for (let index = first; index < last; index++) out.push(this.row(index));
    this.inner.replaceChildren(...out);
  }

  private row(index: number): HTMLElement {
    const { text, number, source, kind } = this.rows[index];
    const classes = ["row", kind, this.lit && source === this.lit ? "lit" : "", index === this.active ? "active" : ""].filter(Boolean).join(" ");
    const node = element("div", {
      class: classes, role: "option", id: `${this.id}-${index}`, "aria-selected": index === this.active ? "true" : "false",
      "aria-setsize": this.rows.length, "aria-posinset": index + 1,
    }, element("span", { class: "number" }, number), element("code", {}, ...this.pieces(index, text)));
    node.style.top = `${index * HEIGHT}px`;
    return node;
  }

  private pieces(index: number, text: string): (string | Node)[] {
    const out: (string | Node)[] = [];
    let done = 0;
    for (const { from, to, classes } of this.spans[index] ?? []) {
      if (from > done) out.push(text.slice(done, from));
      out.push(element("span", { class: classes }, text.slice(from, to)));
      done = to;
    }
    out.push(text.slice(done));
    return out;
  }
}

/** The coloured parts of each row, from one parse of all rows. */
function highlighted(rows: Row[], parser: Parser): Span[][] {
  const starts: number[] = [];
  let length = 0;
  const code = rows.map(({ text, kind }) => (kind === "gap" ? "" : text));
  for (const text of code) {
    starts.push(length);
    length += text.length + 1;
  }
  if (length > MOST_HIGHLIGHTED) return [];
  const out: Span[][] = rows.map(() => []);
  let row = 0;
  highlightTree(parser.parse(code.join("\n")), classHighlighter, (from, to, classes) => {
    while (row + 1 < rows.length && starts[row + 1] <= from) row++;
    for (let at = row; at < rows.length && starts[at] < to; at++) { // a comment may span several rows
      const begin = Math.max(0, from - starts[at]), end = Math.min(code[at].length, to - starts[at]);
      if (end > begin) out[at].push({ from: begin, to: end, classes });
    }
  });
  return out;
}

/** The rows of a text. lines: for each line its line in the kernel's text, or 0. */
export function rowsOf(text: string, lines: number[] = []): Row[] {
  return text.split("\n").map((each, index) => ({ text: each, number: String(index + 1), source: lines[index] ?? 0, kind: "" }));
}
