// Bundles and minifies the page of `tirx play` into the Python package, or into the folder that is named.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { licences } from "../licences.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? join(here, "../../tirx_mini/play/assets");
mkdirSync(out, { recursive: true });

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: [{ in: "src/main.ts", out: "play" }, { in: "src/play.css", out: "play" }],
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome111", "firefox113", "safari16.4"], // the first with color-mix, and what came out beside them
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});
const notice = licences(metafile, here);
writeFileSync(join(out, "LICENSES"), `${notice}\n`);
const script = join(out, "play.js");
writeFileSync(script, `/*\n${notice}\n*/\n${readFileSync(script, "utf8")}`);
copyFileSync(join(here, "src/index.html"), join(out, "index.html"));
