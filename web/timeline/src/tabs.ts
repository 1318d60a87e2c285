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
  all.forEach((tab, index) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const steps: Record<string, number> = { ArrowRight: index + 1, ArrowLeft: index - 1 + all.length, Home: 0, End: all.length - 1 };
      const next = steps[event.key];
      if (next === undefined) return;
      event.preventDefault();
      all[next % all.length].focus();
      show(all[next % all.length]);
    });
  });
}
