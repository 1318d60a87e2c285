// Names for assistive technology. Tables and pictures that are wider than the page scroll in their boxes, so those are
// reached with the keyboard. The theme makes the boxes of tables, and a bar of buttons for each block of code, after this
// script has started.
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
let pictures = 0;
let blocks = 0;
const look = () => {
  for (const box of document.querySelectorAll(".md-typeset p:has(> img):not([data-name])")) {
    pictures += 1;
    box.dataset.name = `Picture ${pictures}`;
    watched.observe(box);
  }
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

// What a term of the glossary means: shown while the pointer or the focus is on its link, hidden by Escape. A touch has
// no pointer that rests, so the first tap shows the text and the second one follows the link.
const note = document.createElement("div");
note.id = "term-note";
note.setAttribute("role", "tooltip");
note.hidden = true;
document.body.append(note);
let term = null;
let leaving = 0;
const hide = () => {
  clearTimeout(leaving);
  note.hidden = true;
  term?.removeAttribute("aria-describedby");
  term = null;
};
const show = (link) => {
  clearTimeout(leaving);
  if (term === link) return;
  hide();
  term = link;
  note.textContent = link.dataset.term;
  note.hidden = false;
  link.setAttribute("aria-describedby", note.id);
  const at = link.getClientRects()[0] ?? link.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - note.offsetWidth - 8));
  const below = at.bottom + 4;
  const fits = below + note.offsetHeight <= innerHeight || at.top < note.offsetHeight + 4;
  note.style.left = `${left + scrollX}px`;
  note.style.top = `${(fits ? below : at.top - note.offsetHeight - 4) + scrollY}px`;
};
const leave = () => {
  clearTimeout(leaving);
  leaving = setTimeout(hide, 200); // the pointer may move on to the text
};
const linkOf = (event) => event.target.closest?.("a[data-term]");
const touched = (event) => event.pointerType === "touch";
let tapped = null;
document.addEventListener("pointerover", (event) => {
  if (touched(event)) return;
  if (linkOf(event)) show(linkOf(event));
  else if (note.contains(event.target)) clearTimeout(leaving);
  else if (term !== null && term !== document.activeElement) leave();
});
document.addEventListener("pointerdown", (event) => {
  tapped = touched(event) && linkOf(event) !== term ? linkOf(event) : null;
  if (!linkOf(event) && !note.contains(event.target)) hide();
});
document.addEventListener("focusin", (event) => {
  if (linkOf(event) && tapped === null) show(linkOf(event));
});
document.addEventListener("focusout", hide);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});
document.addEventListener("click", (event) => {
  if (tapped === null || linkOf(event) !== tapped) return;
  event.preventDefault();
  show(tapped);
  tapped = null;
});
