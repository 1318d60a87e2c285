// Names for assistive technology. Tables that are wider than the page scroll in their boxes, so those are reached with the
// keyboard. The theme makes the boxes, and a bar of buttons for each block of code, after this script has started.
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) {
      target.tabIndex = 0;
      target.setAttribute("role", "region");
      target.setAttribute("aria-label", target.dataset.name);
    } else {
      for (const attribute of ["tabindex", "role", "aria-label"]) target.removeAttribute(attribute);
    }
  }
});
let tables = 0;
let blocks = 0;
const look = () => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([data-name])")) {
    tables += 1;
    box.dataset.name = `Table ${tables}`;
    watched.observe(box);
  }
  for (const bar of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
    blocks += 1;
    bar.setAttribute("aria-label", `Code ${blocks}`);
  }
};
look();
new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
