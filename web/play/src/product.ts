// The product D as a picture of its tiles: right, wrong, or not written.

import { element } from "../../timeline/src/dom.ts";
import { count } from "../../timeline/src/format.ts";
import { readTheme } from "../../timeline/src/theme.ts";
import type { ProductEvent } from "./protocol.ts";

const NAMES = ["right", "wrong", "not written"], MOST_NAMED = 40, LARGEST = 40;

export class Product {
  private product: ProductEvent | null = null;
  private readonly canvas = element("canvas", { role: "img" });

  constructor(private readonly pane: HTMLElement) {}

  show(product: ProductEvent): void {
    this.product = product;
    const { tiles, tile, rows, columns } = product, all = tiles.flat();
    const numbers = NAMES.map((_, kind) => all.filter((each) => each === kind).length);
    const words = `Of ${count(all.length, "tile")} of D, ${numbers.map((number, kind) => `${number} ${number === 1 ? "is" : "are"} ${NAMES[kind]}`).join(", ")}.`;
    this.canvas.setAttribute("aria-label", words);
    const bad = tiles.flatMap((row, i) => row.flatMap((kind, j) => (kind ? [{ i, j, kind }] : [])));
    this.pane.replaceChildren(
      element("p", { class: "lead" }, words),
      element("p", { class: "quiet" }, `D has ${rows} × ${columns} elements; a tile has ${tile[0]} × ${tile[1]}.`),
      this.canvas,
      legend(),
      product.worst.length ? element("ul", {}, ...product.worst.map((each) => element("li", {}, `${nameOf(each.tile[0], each.tile[1])}: ${each.sentence}`))) : "",
      bad.length ? element("p", {}, `Not right: ${bad.slice(0, MOST_NAMED).map(({ i, j, kind }) => `${nameOf(i, j)} ${NAMES[kind]}`).join(", ")}` +
        `${bad.length > MOST_NAMED ? `, and ${bad.length - MOST_NAMED} more` : ""}.`) : "");
    this.draw();
  }

  /** Draws the picture in the colours of the theme, at the width of the pane. */
  draw(): void {
    const { product, canvas } = this, room = this.pane.clientWidth - 40;
    if (!product || room <= 0) return;
    const across = product.tiles[0]?.length ?? 0, down = product.tiles.length;
    const size = Math.max(2, Math.min(LARGEST, Math.floor(room / Math.max(1, across)))), ratio = devicePixelRatio || 1;
    const width = size * across + 1, height = size * down + 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const c = canvas.getContext("2d")!, theme = readTheme();
    c.scale(ratio, ratio);
    c.fillStyle = theme.line;
    c.fillRect(0, 0, width, height);
    product.tiles.forEach((row, i) => row.forEach((kind, j) => {
      const x = j * size + 1, y = i * size + 1, inside = size > 3 ? size - 1 : size;
      c.fillStyle = kind === 0 ? "#44bb99" : kind === 1 ? theme.alarm : theme.panel;
      c.fillRect(x, y, inside, inside);
      if (size < 8 || kind === 0) return;
      // A cross or a dash, for those who do not see the colours.
      c.strokeStyle = kind === 1 ? theme.paper : theme.muted;
      c.lineWidth = 1.5;
      c.beginPath();
      const low = 0.3 * inside, high = 0.7 * inside;
      if (kind === 1) {
        c.moveTo(x + low, y + low);
        c.lineTo(x + high, y + high);
        c.moveTo(x + high, y + low);
        c.lineTo(x + low, y + high);
      } else {
        c.moveTo(x + low, y + inside / 2);
        c.lineTo(x + high, y + inside / 2);
      }
      c.stroke();
    }));
  }
}

const nameOf = (i: number, j: number): string => `(${i}, ${j})`;

function legend(): HTMLElement {
  return element("p", { class: "legend" }, ...NAMES.map((name, kind) =>
    element("span", { class: `tile-chip kind-${kind}` }, ["", "× ", "– "][kind], name)));
}
