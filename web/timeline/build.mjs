// Bundles and minifies the page's script and style into the Python package, or into the folder that is named.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const here = new URL(".", import.meta.url);
const out = process.argv[2] ?? fileURLToPath(new URL("../../tirx_mini/report/timeline/assets/", here));

await build({
  absWorkingDir: fileURLToPath(here),
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"], // the first with DecompressionStream, and a year of grace
  charset: "utf8",
  legalComments: "none",
});
