// The editor of the kernel's text, with the findings in its gutter.

import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorSelection, EditorState, type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Edit, Finding, Language } from "./protocol.ts";

const markLines = StateEffect.define<number[]>();
const pointed = Decoration.line({ class: "pointed" });

/** The lines that are marked from another pane. */
const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    let out = set.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(markLines)) continue;
      const { doc } = transaction.state;
      out = Decoration.set(effect.value.filter((line) => line >= 1 && line <= doc.lines).map((line) => pointed.range(doc.line(line).from)), true);
    }
    return out;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Marks a change that the page makes: it is no key of the reader. */
const loaded = Annotation.define<boolean>();

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--ink)", backgroundColor: "var(--paper)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "19px" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 5%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--panel)", color: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 22%, transparent)",
  },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--accent) 12%, transparent)" },
  ".cm-line.pointed": { backgroundColor: "color-mix(in srgb, var(--accent) 16%, transparent)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-panel button, .cm-panel input": { backgroundColor: "var(--paper)", color: "var(--ink)", backgroundImage: "none" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", maxWidth: "70ch" },
});

const LANGUAGES: Record<Language, () => Extension> = { python, cpp, ptx: () => [] };

export interface EditorEvents {
  /** The reader changed the text. */
  changed(): void;
  /** The cursor went to a line without a change of the text. */
  moved(line: number): void;
  /** The pointer is over this line; 0 if it has left. */
  hovered(line: number): void;
}

export class Editor {
  readonly view: EditorView;
  private readonly locked = new Compartment();
  private entered = false; // Tab indents
  private line = 1;
  private over = 0;
  private edits: Edit[] = []; // that the findings offer

  constructor(parent: HTMLElement, nonce: string, language: Language, private readonly events: EditorEvents) {
    this.view = new EditorView({ parent, state: EditorState.create({ extensions: this.extensions(nonce, LANGUAGES[language]()) }) });
    this.view.setTabFocusMode(true);
  }

  private extensions(nonce: string, language: Extension): Extension[] {
    return [
      EditorView.cspNonce.of(nonce), theme, this.locked.of([]),
      lineNumbers(), highlightActiveLineGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(),
      highlightSelectionMatches(), search({ top: true }), indentUnit.of("    "), EditorState.tabSize.of(4),
      language, syntaxHighlighting(classHighlighter), lintGutter(), marks,
      EditorView.contentAttributes.of({ "aria-label": "The kernel's text", "aria-describedby": "editor-keys", tabindex: "0" }),
      Prec.highest(keymap.of([
        { key: "Enter", run: () => !this.entered && this.enter() },
        { key: "Escape", run: () => this.leave() },
        { key: "Mod-.", run: () => this.edits.some((edit) => edit.line === this.cursorLine && this.apply(edit)) },
      ])),
      keymap.of([...defaultKeymap.filter((each) => each.key !== "Mod-Enter"), ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
      EditorView.domEventHandlers({
        pointerdown: () => void this.enter(),
        blur: () => void this.leave(),
        pointermove: (event, view) => {
          const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
          this.hover(at === null ? 0 : view.state.doc.lineAt(at).number);
        },
        pointerleave: () => this.hover(0),
      }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((each) => each.annotation(loaded))) {
          this.enter();
          this.events.changed();
        }
        const line = this.cursorLine;
        if (line === this.line) return;
        this.line = line;
        if (update.selectionSet && !update.docChanged) this.events.moved(line);
      }),
    ];
  }

  /** From here on Tab indents. */
  private enter(): boolean {
    this.entered = true;
    this.view.setTabFocusMode(false);
    return true;
  }

  /** From here on Tab goes to the next control. */
  private leave(): boolean {
    const was = this.entered;
    this.entered = false;
    this.view.setTabFocusMode(true);
    return was;
  }

  private hover(line: number): void {
    if (line === this.over) return;
    this.over = line;
    this.events.hovered(line);
  }

  get text(): string { return this.view.state.doc.toString(); }
  get cursorLine(): number { return this.view.state.doc.lineAt(this.view.state.selection.main.head).number; }

  /** Replaces the whole text; this counts as no key. */
  load(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, annotations: loaded.of(true) });
  }

  /** Replaces the whole text as the reader would. */
  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  lock(): void {
    this.view.dispatch({ effects: this.locked.reconfigure([EditorState.readOnly.of(true)]) });
  }

  /** Marks these lines, and shows the first one if asked to. */
  mark(lines: number[], reveal = false): void {
    const effects: StateEffect<unknown>[] = [markLines.of(lines)];
    const { doc } = this.view.state;
    if (reveal && lines.length && lines[0] <= doc.lines) {
      effects.push(EditorView.scrollIntoView(doc.line(Math.max(1, lines[0])).from, { y: "nearest", yMargin: 60 }));
    }
    this.view.dispatch({ effects });
  }

  /** Puts a line at the top. */
  reveal(line: number): void {
    const { doc } = this.view.state;
    if (line <= doc.lines) this.view.dispatch({ effects: EditorView.scrollIntoView(doc.line(line).from, { y: "start", yMargin: 0 }) });
  }

  /** Puts the cursor on a line and the focus into the editor. */
  goTo(line: number, column = 1): void {
    const { doc } = this.view.state, at = doc.line(Math.min(Math.max(1, line), doc.lines));
    const head = Math.min(at.from + Math.max(0, column - 1), at.to);
    this.view.dispatch({ selection: EditorSelection.cursor(head), effects: EditorView.scrollIntoView(head, { y: "center" }) });
    this.view.focus();
  }

  show(findings: Finding[]): void {
    this.edits = findings.flatMap(({ edit }) => edit ?? []);
    this.view.dispatch(setDiagnostics(this.view.state, findings.flatMap((finding) => this.diagnostic(finding))));
  }

  private diagnostic(finding: Finding): Diagnostic[] {
    const { doc } = this.view.state;
    if (!finding.line || finding.line > doc.lines) return [];
    const line = doc.line(finding.line), indent = line.text.length - line.text.trimStart().length;
    const from = Math.min(line.to, line.from + (finding.column ? finding.column - 1 : indent));
    const last = finding.end_line && finding.end_line <= doc.lines ? doc.line(finding.end_line) : line;
    const to = finding.end_column ? Math.min(last.to, last.from + finding.end_column - 1) : line.to;
    const help = finding.help ? `\nHelp: ${finding.help}` : "";
    const { edit } = finding, actions = edit ? [{ name: "Make the edit", apply: () => void this.apply(edit) }] : [];
    const code = finding.code ? `[${finding.code}]` : "";
    return [{ from, to: Math.max(from, to), severity: finding.severity === "note" ? "info" : finding.severity, message: `${finding.severity}${code}: ${finding.title}${help}`, actions }];
  }

  /** Replaces a line by the help's edit, which one undo takes back. Returns whether the line is as the edit expects it. */
  apply(edit: Edit): boolean {
    const { doc } = this.view.state;
    if (edit.line < 1 || edit.line > doc.lines) return false;
    const first = doc.line(edit.line), last = doc.line(Math.min(doc.lines, edit.line + edit.before.split("\n").length - 1));
    const { from, to } = { from: first.from, to: last.to };
    if (doc.sliceString(from, to).trim() !== edit.before.trim()) return false;
    const indent = edit.after.startsWith(" ") ? "" : first.text.slice(0, first.text.length - first.text.trimStart().length);
    this.view.dispatch({ changes: { from, to, insert: indent + edit.after }, selection: EditorSelection.cursor(from), annotations: isolateHistory.of("full") });
    this.view.focus();
    return true;
  }
}
