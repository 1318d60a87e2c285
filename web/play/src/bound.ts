// What bounds the kernel: the terms of its time as bars.

import { bar } from "../../timeline/src/bound.ts";
import { element, table } from "../../timeline/src/dom.ts";
import { percent, significant } from "../../timeline/src/format.ts";
import type { BoundEvent } from "./protocol.ts";

export function showBound(pane: HTMLElement, bound: BoundEvent): void {
  const terms = bound.terms.map((term) =>
    [term.name, bar([["busy", term.share]]), percent(term.share), term.time ?? `${significant(term.microseconds)} µs`]);
  pane.replaceChildren(
    element("p", { class: "lead" }, element("b", {}, bound.headline)),
    terms.length ? table("The terms of the time", ["Through", "Its part", "Share", "Time"], terms) : "",
    ...bound.sentences.map((text) => element("p", {}, text)),
    element("p", { class: "quiet" }, bound.clock));
}
