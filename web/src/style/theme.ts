// Light and dark: the reader's choice, otherwise the system's.

import { button } from "../dom";
import type { Shade } from "./colors";

const KEY = "heatsoak-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: Shade | null = stored();

function stored(): Shade | null {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : null;
  } catch {
    return null; // A file's page may have no storage.
  }
}

/** The current shade. */
export function shade(): Shade {
  return chosen ?? (system.matches ? "dark" : "light");
}

/** Calls back when the shade changes. */
export function onShade(listener: () => void): void {
  listeners.add(listener);
}

/** Sets the shade on the page, for its style sheet. */
export function apply(of: Shade = shade()): void {
  document.documentElement.dataset.shade = of;
}

function changed(): void {
  apply();
  for (const listener of listeners) listener();
}

system.addEventListener("change", changed);

/** A button that switches to the other shade. */
export function shadeButton(): HTMLElement {
  const label = () => (shade() === "dark" ? "Light" : "Dark");
  const made = button(
    label(),
    () => {
      chosen = shade() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(KEY, chosen);
      } catch {
        // Without storage it lasts until the page is closed.
      }
      changed();
    },
    { class: "shade", title: "Switch between light and dark" },
  );
  onShade(() => {
    made.textContent = label();
  });
  return made;
}
