// Bundles and minifies the page's script and style into the Python package, or into the folder that is named.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? join(here, "../../tirx_mini/report/timeline/assets");

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"], // the first with DecompressionStream, and what came out beside them
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});

// The licences of what is bundled ask to be in every copy: each text once, with those that it is of.
const packages = [...new Set(Object.keys(metafile.inputs).map((path) => path.match(/^node_modules\/([^/]+)/)?.[1]).filter(Boolean))].sort();
const licences = new Map();
for (const name of packages) {
  const text = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim();
  licences.set(text, [...(licences.get(text) ?? []), name]);
}
const notice = [...licences].map(([text, names]) => `${names.join(", ")}:\n${text}`).join("\n\n");
const script = join(out, "page.js");
writeFileSync(script, `/*\n${notice}\n*/\n${readFileSync(script, "utf8")}`);
