// The tab "Roofline": the tensor cores' peak, the bounds of the memories, and this kernel's points, both axes logarithmic.

import { scaleLog } from "d3-scale";
import type { Page, Roof, Roofline, Run } from "./data.ts";
import { byId, element, svg, table } from "./dom.ts";
import { rate, significant } from "./format.ts";

const WIDTH = 680, HEIGHT = 500, LEFT = 64, RIGHT = 24, TOP = 24, BOTTOM = 48;

export function showRoofline(page: Page): void {
  const panel = byId("panel-roofline");
  panel.replaceChildren(element("h2", { class: "sr" }, "Roofline"));
  for (const run of page.runs) {
    if (page.runs.length > 1) panel.append(element("h3", {}, `${"AB"[run.index]}: ${run.kernel}`));
    if (run.roofline) panel.append(...ofRun(run, run.roofline));
    else panel.append(element("p", {}, "The kernel did not end, or executed no MMA: it has no place on a roofline."));
  }
}

function ofRun(run: Run, roofline: Roofline): Element[] {
  const { peak, memories, points } = roofline;
  const figures = table(`${run.gpu}: the bounds`, ["Bound", "Value", "From"],
    [peak, ...memories].map((roof) => [roof.name, valueOf(roof), roof.source]));
  const reached = table(`${run.kernel}: where it is`, ["By traffic of", "Intensity", "Reached", "Of the bound there"],
    points.map((point, index) => {
      const bound = Math.min(peak.value, point.intensity * memories[index].value);
      return [point.name, `${significant(point.intensity)} FLOP/byte`, `${rate(point.tflops)} TFLOPS`,
        `${Math.round((100 * point.tflops) / bound)} % of ${rate(bound)} TFLOPS`];
    }));
  const words = roofline.sentences.map((text) => element("p", { class: "lead" }, text));
  return [element("div", { class: "columns" }, element("div", {}, ...words, reached, figures), element("figure", {}, chart(run, roofline)))];
}

function chart(run: Run, { peak, memories, points }: Roofline): SVGElement {
  const ridges = memories.map((memory) => peak.value / memory.value);
  const known = points.map((point) => point.intensity);
  const x = scaleLog().domain([Math.min(8, ...known) / 2, Math.max(2000, ...known, ...ridges) * 2]).range([LEFT, WIDTH - RIGHT]);
  const low = Math.min(...points.map((point) => point.tflops), peak.value / 100) / 2;
  const y = scaleLog().domain([low, peak.value * 1.8]).range([HEIGHT - BOTTOM, TOP]);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": `Roofline of ${run.kernel} on ${run.gpu}; the tables beside it have the figures` });
  for (const value of decades(x.domain())) {
    picture.append(svg("line", { class: "grid", x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - BOTTOM }),
      svg("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, significant(value)));
  }
  for (const value of decades(y.domain())) {
    picture.append(svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, significant(value)));
  }
  picture.append(
    svg("text", { x: WIDTH / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "arithmetic intensity, FLOP/byte"),
    svg("text", { x: -HEIGHT / 2, y: 14, transform: "rotate(-90)", "text-anchor": "middle" }, "TFLOPS"));
  const [left, right] = x.domain();
  memories.forEach((memory, index) => {
    const start = Math.max(left, low / memory.value);
    const angle = (Math.atan2(y(memory.value * start) - y(memory.value * start * 2), x(start * 2) - x(start)) * 180) / Math.PI;
    const at = [x(start * 1.5) + 4, y(memory.value * start * 1.5) - 8];
    picture.append(
      svg("line", { class: `roof memory-${index}`, x1: x(start), y1: y(memory.value * start), x2: x(ridges[index]), y2: y(peak.value) }),
      svg("text", { class: "name", transform: `translate(${at}) rotate(${-angle})` }, `${memory.name}, ${valueOf(memory)}`));
  });
  picture.append(
    svg("line", { class: "roof", x1: x(Math.min(...ridges)), x2: x(right), y1: y(peak.value), y2: y(peak.value) }),
    svg("text", { class: "name", x: WIDTH - RIGHT, y: y(peak.value) - 8, "text-anchor": "end" }, `${peak.name}, ${valueOf(peak)}`));
  points.forEach((point, index) => picture.append(mark(x(point.intensity), y(point.tflops), index, point.name)));
  return picture;
}

function valueOf({ value, unit }: Roof): string {
  return `${unit === "TFLOPS" ? rate(value) : significant(value)} ${unit}`;
}

/** A point: a shape of its own for each memory, and its name. */
function mark(x: number, y: number, index: number, name: string): SVGElement {
  const shape = index === 0
    ? svg("circle", { cx: x, cy: y, r: 7 })
    : svg("rect", { x: x - 6, y: y - 6, width: 12, height: 12, transform: `rotate(45 ${x} ${y})` });
  return svg("g", { class: `point memory-${index}` }, shape, svg("text", { class: "name", x, y: y + 24, "text-anchor": "middle" }, `by ${name}`));
}

function decades([low, high]: number[]): number[] {
  const out: number[] = [];
  for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power++) out.push(10 ** power);
  return out;
}
