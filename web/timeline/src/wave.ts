// The tab "Wave": each SM is a row and each tile a block, so that the tail and the imbalance are seen.

import { scaleLinear } from "d3-scale";
import type { Page, Run } from "./data.ts";
import { byId, element, table } from "./dom.ts";
import { count, cycles, duration, percent } from "./format.ts";
import { readTheme, stageColour } from "./theme.ts";

interface Block { sm: number; start: number; end: number; name: string; turn: number }

const LEFT = 56, TOP = 24;
const HINT = "Point at a block, or press Tab to the picture and an arrow key, to see its tile.";

export class WaveTab {
  private readonly pictures: { canvas: HTMLCanvasElement; run: Run; blocks: Block[]; cycles: number; chosen: Block | null }[] = [];

  constructor(page: Page) {
    const panel = byId("panel-wave"), longest = Math.max(...page.runs.map((run) => run.cycles), 1);
    panel.replaceChildren(element("h2", { class: "sr" }, "Wave"));
    for (const run of page.runs) {
      const blocks = blocksOf(run), canvas = element("canvas", { role: "application", tabindex: 0, "aria-label": "The tiles of each SM: arrow keys go from one to the next" });
      const about = element("p", { class: "hover", "aria-live": "polite" }, HINT);
      canvas.addEventListener("pointermove", (event) => this.choose(canvas, about, this.blockAt(canvas, event)));
      canvas.addEventListener("keydown", (event) => this.key(canvas, about, event));
      if (page.runs.length > 1) panel.append(element("h3", {}, `${"AB"[run.index]}: ${run.kernel}`));
      panel.append(element("p", { class: "lead keep" }, sentence(run, blocks)), legend(blocks), canvas, about, figures(run, blocks));
      this.pictures.push({ canvas, run, blocks, cycles: longest, chosen: null });
    }
  }

  draw(): void {
    for (const { canvas, run, blocks, chosen, cycles: length } of this.pictures) {
      const width = byId("panel-wave").clientWidth - 40, row = this.rowHeight(run), height = TOP + run.sms * row, ratio = devicePixelRatio || 1;
      if (width <= 0) continue;
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      const c = canvas.getContext("2d")!, theme = readTheme(), scale = (width - LEFT) / length;
      c.scale(ratio, ratio);
      c.fillStyle = theme.paper;
      c.fillRect(0, 0, width, height);
      c.font = "11px system-ui, sans-serif";
      c.fillStyle = theme.muted;
      for (let sm = 0; sm < run.sms; sm += row < 2.5 ? 16 : 8) c.fillText(`SM ${sm}`, 4, TOP + sm * row + 8);
      for (const tick of scaleLinear().domain([0, length]).ticks(8)) {
        c.fillStyle = theme.line;
        c.fillRect(LEFT + tick * scale, TOP - 6, 1, height);
        c.fillStyle = theme.muted;
        c.fillText(tick ? cycles(tick) : "cycle 0", LEFT + tick * scale + 3, 12);
      }
      for (const block of blocks) {
        c.fillStyle = stageColour(block.turn, theme.plain);
        c.fillRect(LEFT + block.start * scale, TOP + block.sm * row, Math.max(0.5, (block.end - block.start) * scale - 1), row - Math.min(0.8, row / 5));
      }
      if (chosen) {
        c.strokeStyle = theme.ink;
        c.lineWidth = 2;
        c.strokeRect(LEFT + chosen.start * scale, TOP + chosen.sm * row, Math.max(2, (chosen.end - chosen.start) * scale), row);
      }
    }
  }

  /** Such that all SMs are seen at once on a small screen. */
  private rowHeight(run: Run): number {
    return Math.max(2, Math.min(14, (byId("panel-wave").clientHeight - 160) / this.pictures.length / run.sms));
  }

  private blockAt(canvas: HTMLCanvasElement, event: PointerEvent): Block | null {
    const { run, blocks, cycles: length } = this.pictures.find((each) => each.canvas === canvas)!;
    const time = ((event.offsetX - LEFT) * length) / (canvas.clientWidth - LEFT), sm = Math.floor((event.offsetY - TOP) / this.rowHeight(run));
    return blocks.find((each) => each.sm === sm && each.start <= time && time <= each.end) ?? null;
  }

  private choose(canvas: HTMLCanvasElement, about: HTMLElement, block: Block | null): void {
    const picture = this.pictures.find((each) => each.canvas === canvas)!;
    if (block === picture.chosen) return;
    picture.chosen = block;
    about.textContent = block
      ? `SM ${block.sm}: ${block.name}, cycle ${cycles(block.start)} to ${cycles(block.end)}, ${duration(block.end - block.start, picture.run.clockGhz)}`
      : HINT;
    this.draw();
  }

  /** Up and down go to the tile of the next SM with one that is nearest in time, left and right along the SM. */
  private key(canvas: HTMLCanvasElement, about: HTMLElement, event: KeyboardEvent): void {
    const { blocks, chosen } = this.pictures.find((each) => each.canvas === canvas)!;
    const along = { ArrowRight: 1, ArrowLeft: -1 }[event.key], across = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!(along || across) || !blocks.length) return;
    event.preventDefault();
    const from = chosen ?? blocks[0];
    const ahead = blocks.filter((each) => chosen && (along ? each.sm === from.sm && (each.turn - from.turn) * along > 0 : (each.sm - from.sm) * across! > 0));
    const far = (each: Block) => (along ? Math.abs(each.turn - from.turn) : Math.abs(each.sm - from.sm) * 1e12 + Math.abs(each.start - from.start));
    this.choose(canvas, about, ahead.sort((a, b) => far(a) - far(b))[0] ?? from);
  }
}

/** The tiles by SM; the CTAs, where the run knows no tiles. `turn` counts the blocks of an SM. */
function blocksOf(run: Run): Block[] {
  const smOf = new Map(run.ctas.map((cta) => [cta.cta, cta]));
  const parts = run.tiles.length ? run.tiles : run.ctas;
  const turns = new Map<number, number>();
  return [...parts].sort((a, b) => a.start - b.start).flatMap((part) => {
    const cta = smOf.get(part.cta);
    if (!cta) return [];
    const turn = turns.get(cta.sm) ?? 0;
    turns.set(cta.sm, turn + 1);
    return [{ sm: cta.sm, start: part.start, end: part.end, name: part === cta ? cta.name : `${cta.name}, ${part.name}`, turn }];
  });
}

export interface WaveFigures { used: number; most: number; mean: number; firstIdle: number; tail: number; occupied: number }

/** SMs with work, blocks of the fullest and of a mean one; the time from the first SM's end to the last's. */
function measure(run: Run, blocks: Block[]): WaveFigures {
  const ends = new Map<number, number>(), numbers = new Map<number, number>();
  let occupied = 0;
  for (const { sm, start, end } of blocks) {
    ends.set(sm, Math.max(ends.get(sm) ?? 0, end));
    numbers.set(sm, (numbers.get(sm) ?? 0) + 1);
    occupied += end - start;
  }
  const firstIdle = Math.min(...ends.values()), last = Math.max(...ends.values());
  return {
    used: ends.size, most: Math.max(...numbers.values()), mean: blocks.length / run.sms, firstIdle, tail: last - firstIdle,
    occupied: occupied / (run.sms * Math.max(run.cycles, 1e-9)),
  };
}

function sentence(run: Run, blocks: Block[]): string {
  if (!blocks.length) return "No tile was finished.";
  const { used, most, mean, tail, occupied } = measure(run, blocks);
  return `${count(blocks.length, "tile")} on ${used} of ${run.sms} SMs: at most ${most} on one, ${mean.toFixed(2)} on average over all. ` +
    `The SMs hold a tile for ${percent(occupied)} of the time; ${tail < 1 ? "all end together" : `the last SM ends ${duration(tail, run.clockGhz)} after the first`}.`;
}

function figures(run: Run, blocks: Block[]): HTMLElement {
  if (!blocks.length) return element("p", {}, "");
  const { used, most, mean, firstIdle, tail, occupied } = measure(run, blocks);
  return table("The wave in figures", ["Figure", "Value"], [
    ["SMs with work", `${used} of ${run.sms}`], ["Tiles of the fullest SM", String(most)], ["Tiles of a mean SM", mean.toFixed(2)],
    ["The first SM ends", `cycle ${cycles(firstIdle)}`], ["From there to the end", `${cycles(tail)} cycles, ${duration(tail, run.clockGhz)}`],
    ["Time that the SMs hold a tile", percent(occupied)],
  ]);
}

function legend(blocks: Block[]): HTMLElement {
  const turns = Math.min(8, Math.max(0, ...blocks.map((block) => block.turn + 1)));
  return element("p", { class: "legend" }, "tiles of an SM, in turn: ", ...Array.from({ length: turns }, (_, turn) => {
    const chip = element("span", { class: "chip" }, `${turn + 1}`);
    chip.style.background = stageColour(turn, "");
    return chip;
  }));
}
