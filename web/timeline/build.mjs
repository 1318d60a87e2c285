// Bundles and minifies the page's script and style into the Python package, or into the folder that is named.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { licences } from "../licences.mjs";

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

const script = join(out, "page.js");
writeFileSync(script, `/*\n${licences(metafile, here)}\n*/\n${readFileSync(script, "utf8")}`);
