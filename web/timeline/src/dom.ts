// Elements in few words.

type Child = Node | string | null | undefined | false;

/** An element with attributes and children. Attributes that are false or undefined are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string | number | boolean | undefined> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  assign(node, attributes);
  node.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

/** The same for SVG. */
export function svg(tag: string, attributes: Record<string, string | number | boolean | undefined> = {}, ...children: Child[]): SVGElement {
  const node = document.createElementNS(SVG, tag);
  assign(node, attributes);
  node.append(...children.filter((child): child is Node | string => Boolean(child)));
  return node;
}

function assign(node: Element, attributes: Record<string, string | number | boolean | undefined>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** The element of the template with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** A table with a caption and headings; the first cell of each row is its heading. */
export function table(caption: string, headings: string[], rows: Child[][]): HTMLTableElement {
  return element("table", {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map(([first, ...rest]) =>
      element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((cell) => element("td", {}, cell))))));
}
