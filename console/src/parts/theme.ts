/** Light or dark: as the system says, or as chosen here, which the browser remembers. */
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const NAME = "larder-theme";

export const theme = signal<Theme>(stored());

export function setTheme(next: Theme): void {
  theme.value = next;
  try {
    localStorage.setItem(NAME, next);
  } catch {
    // A browser without storage forgets the choice.
  }
  applyTheme();
}

export function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
}

function stored(): Theme {
  try {
    const text = localStorage.getItem(NAME);
    return text === "light" || text === "dark" ? text : "system";
  } catch {
    return "system";
  }
}
