// The tabs, by the pattern of the ARIA Authoring Practices: arrow keys, Home and End go from tab to tab.

/** shown: is told the panel that has become visible, so that it can draw itself at its size. */
export function tabs(shown: (panel: string) => void): void {
  const all = [...document.querySelectorAll<HTMLButtonElement>('[role="tab"]')];
  const show = (chosen: HTMLButtonElement) => {
    for (const tab of all) {
      const here = tab === chosen;
      tab.setAttribute("aria-selected", String(here));
      tab.tabIndex = here ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")!)!.hidden = !here;
    }
    shown(chosen.getAttribute("aria-controls")!);
  };
  all.forEach((tab) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const there = all.filter((each) => !each.hidden), index = there.indexOf(tab);
      const steps: Record<string, number> = { ArrowRight: index + 1, ArrowLeft: index - 1 + there.length, Home: 0, End: there.length - 1 };
      const next = steps[event.key];
      if (next === undefined) return;
      event.preventDefault();
      there[next % there.length].focus();
      show(there[next % there.length]);
    });
  });
}
