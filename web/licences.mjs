// The licences of what a page bundles ask to be in every copy: each text once, with the packages that it is of.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The licences as one text. metafile: of esbuild. root: the folder to which its paths are relative. */
export function licences({ inputs }, root) {
  const folders = new Set(Object.keys(inputs).map((path) => path.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean));
  const texts = new Map();
  for (const folder of [...folders].sort()) {
    const name = folder.replace(/^.*node_modules\//, ""), file = readdirSync(join(root, folder)).find((each) => /^licen[cs]e/i.test(each));
    if (!file || !existsSync(join(root, folder, file))) throw new Error(`${name} has no licence to show`);
    const text = readFileSync(join(root, folder, file), "utf8").trim();
    texts.set(text, [...(texts.get(text) ?? []), name]);
  }
  return [...texts].map(([text, names]) => `${names.sort().join(", ")}:\n${text}`).join("\n\n");
}
