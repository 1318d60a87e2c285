// The source of the kernel: the line under the pointer is marked, and a chosen line marks its intervals.

import { type Run, WAIT } from "./data.ts";
import { byId, element } from "./dom.ts";
import { percent } from "./format.ts";

const TOKENS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\b(def|if|elif|else|for|while|with|as|in|return|and|or|not|True|False|None|import|from|class|pass|break|continue|is|lambda)\b|\b(\d[\w.]*)\b/g;

function highlighted(text: string): (Node | string)[] {
  const out: (Node | string)[] = [];
  let done = 0;
  for (const match of text.matchAll(TOKENS)) {
    out.push(text.slice(done, match.index));
    const kind = ["comment", "string", "keyword", "literal"][match.slice(1).findIndex(Boolean)];
    out.push(element("span", { class: kind }, match[0]));
    done = match.index + match[0].length;
  }
  out.push(text.slice(done));
  return out;
}

/** Indentation is half as wide as elsewhere, so that more of the nested lines of a kernel is seen. */
function indented(text: string): (Node | string)[] {
  const rest = text.trimStart();
  return [element("span", { class: "indent" }, text.slice(0, text.length - rest.length)), ...highlighted(rest)];
}

/** Cycles of all warps at each place: all, and waiting. */
function spentAt(run: Run): { all: Float64Array; waiting: Float64Array; total: number } {
  const all = new Float64Array(run.places.length), waiting = new Float64Array(run.places.length);
  const { place, start, end, activity, track, count } = run.intervals;
  let total = 0;
  for (let id = 0; id < count; id++) {
    if (!place[id] || run.tracks[track[id]].kind !== "warp") continue;
    const length = end[id] - start[id];
    total += length;
    all[place[id] - 1] += length;
    if (activity[id] === WAIT) waiting[place[id] - 1] += length;
  }
  return { all, waiting, total: Math.max(total, 1e-9) };
}

/** Is told the place whose intervals are to be marked, or null. */
export type Choose = (run: Run, place: number | null) => void;

/** What shows the source beside a timeline. */
export interface SourceView {
  show(run: Run): void;
  /** Marks the line of what is pointed at. */
  mark(run: Run, place: number | null): void;
  /** No line's intervals are marked any more. */
  release(): void;
}

export class Source implements SourceView {
  private readonly list = byId("source");
  private readonly options = new Map<number, HTMLElement>();
  private active: HTMLElement | null = null;
  private run: Run | null = null;
  private chosen: number | null = null;

  constructor(private readonly choose: Choose) {
    this.list.addEventListener("click", (event) => {
      const option = (event.target as HTMLElement).closest<HTMLElement>("[data-place]");
      if (!option) return;
      this.activate(option);
      this.toggle(option);
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focus", () => {
      if (!this.active) this.activate(this.list.querySelector<HTMLElement>("[data-place]"));
    });
  }

  show(run: Run): void {
    if (run === this.run) return;
    this.run = run;
    this.options.clear();
    this.active = null;
    this.chosen = null;
    this.list.removeAttribute("aria-activedescendant");
    const spent = spentAt(run), places = new Map(run.places.map(({ file, line }, place) => [`${file}:${line}`, place]));
    this.list.replaceChildren(...run.files.flatMap((file, index) => [
      ...(run.files.length > 1 ? [element("div", { role: "option", "aria-disabled": true, class: "file" }, file.name)] : []),
      ...file.lines.map((text, at) => this.line(text, file.first + at, places.get(`${index}:${file.first + at}`), spent)),
    ]));
    const first = this.list.querySelector<HTMLElement>("[data-place]");
    if (first) this.list.scrollTop = Math.max(0, first.offsetTop - 54);
    byId("source-name").textContent = run.files.length === 1 ? run.files[0].name : "Source";
  }

  private line(text: string, number: number, place: number | undefined, spent: ReturnType<typeof spentAt>): HTMLElement {
    const share = place === undefined ? 0 : spent.all[place] / spent.total;
    const waits = place === undefined ? 0 : spent.waiting[place] / spent.total;
    const title = share >= 0.005 ? `${percent(share)} of the time of all warps, ${percent(waits)} waiting` : undefined;
    const heat = element("span", { class: "heat", "aria-hidden": true });
    heat.style.setProperty("--share", String(share));
    heat.style.setProperty("--waits", String(share ? waits / share : 0));
    const row = element("div", {
      role: "option", id: place === undefined ? undefined : `place-${place}`, "data-place": place, title,
      "aria-selected": place === undefined ? undefined : "false", "aria-disabled": place === undefined, class: "code",
    }, heat, element("span", { class: "number" }, String(number)), element("code", {}, ...indented(text)));
    if (place !== undefined) this.options.set(place, row);
    return row;
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const all = [...this.options.values()];
    if (step && all.length) this.activate(all[Math.max(0, Math.min(all.length - 1, all.indexOf(this.active!) + step))]);
    else if (event.key === "Home") this.activate(all[0]);
    else if (event.key === "End") this.activate(all[all.length - 1]);
    else if ((event.key === "Enter" || event.key === " ") && this.active) this.toggle(this.active);
    else if (event.key === "Escape" && this.chosen !== null) this.release();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private activate(option: HTMLElement | null): void {
    this.active?.classList.remove("active");
    this.active = option;
    if (!option) return;
    option.classList.add("active");
    this.list.setAttribute("aria-activedescendant", option.id);
    this.scrollTo(option);
  }

  private toggle(option: HTMLElement): void {
    const place = Number(option.dataset.place);
    if (place === this.chosen) return this.release();
    this.release();
    this.chosen = place;
    option.setAttribute("aria-selected", "true");
    this.choose(this.run!, place);
  }

  release(): void {
    if (this.chosen !== null) this.options.get(this.chosen)?.setAttribute("aria-selected", "false");
    this.chosen = null;
    if (this.run) this.choose(this.run, null);
  }

  mark(run: Run, place: number | null): void {
    if (place !== null) this.show(run);
    for (const each of this.list.querySelectorAll(".pointed")) each.classList.remove("pointed");
    const option = place === null ? undefined : this.options.get(place);
    option?.classList.add("pointed");
    if (option) this.scrollTo(option);
  }

  private scrollTo(option: HTMLElement): void {
    const top = option.offsetTop, { scrollTop, clientHeight } = this.list;
    if (top < scrollTop + 20 || top > scrollTop + clientHeight - 40) this.list.scrollTop = top - clientHeight / 2;
  }
}
