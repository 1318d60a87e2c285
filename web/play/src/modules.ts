// The modules beside the file that its text imports: they are part of a run, and are edited elsewhere.

import { byId } from "../../timeline/src/dom.ts";

export class Modules {
  private names: string[] = [];

  constructor(names: string[]) { this.list(names); }

  /** Those of the present text. Returns whether they are others than before. */
  list(names: string[]): boolean {
    const changed = String(names) !== String(this.names), line = byId("modules");
    this.names = names;
    line.hidden = !names.length;
    line.textContent = names.length ? `Imported from beside the file: ${names.map((name) => `${name}.py`).join(", ")}` : "";
    return changed;
  }

  get opened(): string[] { return this.names; }
}
