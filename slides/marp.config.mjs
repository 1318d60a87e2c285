// Nothing that would be loaded from the network: no emoji pictures, no fonts for formulas.
export default {
  themeSet: [new URL("theme.css", import.meta.url).pathname],
  theme: "course",
  html: true,
  bespoke: { osc: false },
  pdfOutlines: true,
  options: { emoji: { shortcode: false, unicode: false }, math: false, markdown: { breaks: false } },
};
