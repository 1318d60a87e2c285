// Colours: those of the style sheet for the canvas, and the palette of pipeline stages.

import { byId } from "./dom.ts";

/** The fills of the stages, told by the page's data. */
export const STAGES: string[] = [];

export interface Theme {
  paper: string; panel: string; ink: string; muted: string; line: string; accent: string; plain: string; alarm: string;
  stripe: string;
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    paper: of("paper"), panel: of("panel"), ink: of("ink"), muted: of("muted"), line: of("line"), accent: of("accent"),
    plain: of("plain"), alarm: of("alarm"), stripe: of("stripe"),
  };
}

/** The colour of a stage; `none` for work that belongs to no stage. */
export const stageColour = (stage: number | null, none: string): string =>
  stage === null || !STAGES.length ? none : STAGES[stage % STAGES.length];

/** Makes the button go round: as the system has it, light, dark. */
export function themeSwitch(changed: () => void): void {
  const button = byId<HTMLButtonElement>("theme"), root = document.documentElement;
  const order = ["system", "light", "dark"];
  const show = (choice: string) => {
    if (choice === "system") delete root.dataset.theme;
    else root.dataset.theme = choice;
    button.textContent = `Colours: ${choice}`;
    button.dataset.choice = choice;
    changed();
  };
  button.addEventListener("click", () => show(order[(order.indexOf(button.dataset.choice ?? "system") + 1) % 3]));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  show("system");
}
