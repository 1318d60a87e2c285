// Two texts as one list of lines: taken away, added, and some unchanged ones around them.

import { Text } from "@codemirror/state";
import { Chunk } from "@codemirror/merge";
import type { Row } from "./virtual.ts";

const AROUND = 3;

interface Side { text: string; lines: number[] }

/** The rows of the difference; nothing if the texts are equal. indentation: whether a line that is only moved to the side differs. */
export function diffRows(before: Side, after: Side, indentation = true): Row[] {
  const [a, b] = [before, after].map(({ text }) => Text.of(text.split("\n").map((line) => (indentation ? line : line.trimStart()))));
  const lines = { before: before.text.split("\n"), after: after.text.split("\n") };
  const out: Row[] = [];
  let atA = 1, atB = 1; // the first lines that are not written yet
  const same = (count: number) => {
    for (let i = 0; i < count; i++, atA++, atB++) out.push(rowOf(lines.after, after, atB, ""));
  };
  const gap = (count: number, ends: [boolean, boolean]) => {
    const head = ends[0] ? 0 : Math.min(AROUND, count), tail = ends[1] ? 0 : Math.min(AROUND, count - head);
    const left = count - head - tail;
    same(head);
    if (left) out.push({ text: left === 1 ? "1 equal line" : `${left} equal lines`, number: "", source: 0, kind: "gap" });
    atA += left;
    atB += left;
    same(tail);
  };
  const chunks = Chunk.build(a, b, { scanLimit: 2000, timeout: 200 });
  for (const [index, chunk] of chunks.entries()) {
    const fromA = lineOf(a, chunk.fromA), toA = lineOf(a, chunk.toA), toB = lineOf(b, chunk.toB);
    gap(fromA - atA, [index === 0, false]);
    for (; atA < toA; atA++) out.push(rowOf(lines.before, before, atA, "removed"));
    for (; atB < toB; atB++) out.push(rowOf(lines.after, after, atB, "added"));
  }
  if (chunks.length) gap(a.lines + 1 - atA, [false, true]);
  return out;
}

/** The number of the line at a position; one more than the last at the end of a text. */
const lineOf = (text: Text, at: number): number => (at > text.length ? text.lines + 1 : text.lineAt(at).number);

function rowOf(text: string[], side: Side, line: number, kind: string): Row {
  const sign = kind === "added" ? "+" : kind === "removed" ? "−" : "";
  return { text: text[line - 1], number: `${line}${sign}`, source: side.lines[line - 1] ?? 0, kind };
}
