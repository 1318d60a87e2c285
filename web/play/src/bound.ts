// What bounds the kernel: the terms of its time as bars, beside those of a run that is pinned.

import { bar } from "../../timeline/src/bound.ts";
import { element, table } from "../../timeline/src/dom.ts";
import { percent, significant } from "../../timeline/src/format.ts";
import type { BoundEvent } from "./protocol.ts";

type Term = BoundEvent["terms"][number];

/** pinned: of an earlier run, to compare. */
export function showBound(pane: HTMLElement, bound: BoundEvent, pinned: BoundEvent | null): void {
  const { terms } = bound;
  pane.replaceChildren(
    element("p", { class: "lead" }, element("b", {}, bound.headline)),
    pinned ? compared(pinned.terms, terms)
      : terms.length ? table("The terms of the time", ["Through", "Its part", "Share", "Time"],
        terms.map((term) => [term.name, bar([["busy", term.share]]), percent(term.share), timeOf(term)])) : "",
    ...bound.sentences.map((text) => element("p", {}, text)),
    element("p", { class: "quiet" }, bound.clock));
}

const timeOf = (term: Term): string => term.time ?? `${significant(term.microseconds)} µs`;

/** The terms of two runs; the bars have one scale. */
function compared(pinned: Term[], now: Term[]): HTMLElement {
  const total = (terms: Term[]) => terms.reduce((sum, term) => sum + term.microseconds, 0);
  const longest = Math.max(total(pinned), total(now), 1e-9);
  const cells = (term: Term | undefined) => (term ? [bar([["busy", term.microseconds / longest]]), timeOf(term)] : ["", "–"]);
  const names = [...new Set([...pinned, ...now].map((term) => term.name))];
  const of = (terms: Term[], name: string) => terms.find((term) => term.name === name);
  const sum = (terms: Term[]) => ["", `${significant(total(terms))} µs`];
  return table("The terms of the time: pinned, and now", ["Through", "Pinned", "Time", "Now", "Time"], [
    ...names.map((name) => [name, ...cells(of(pinned, name)), ...cells(of(now, name))]),
    ["all", ...sum(pinned), ...sum(now)],
  ]);
}
