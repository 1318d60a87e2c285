// Nothing that would be loaded from the network: no emoji pictures, no fonts for formulas.
import { fileURLToPath } from "node:url";

export default {
  themeSet: [fileURLToPath(new URL("theme.css", import.meta.url))],
  theme: "course",
  html: true,
  bespoke: { osc: false },
  pdfOutlines: true,
  options: { emoji: { shortcode: false, unicode: false }, math: false, markdown: { breaks: false } },
};
