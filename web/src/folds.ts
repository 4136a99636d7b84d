// Keeps what the reader has expanded when the page is fetched again.

/** A name for each fold of the page: its id, or the section that it is in and its summary. */
function named(main: HTMLElement): [string, HTMLDetailsElement][] {
  return [...main.querySelectorAll("details")].map((details) => {
    if (details.id) return [details.id, details];
    const section = details.parentElement?.closest("[id]")?.id ?? "";
    return [`${section}/${details.querySelector("summary")?.textContent ?? ""}`, details];
  });
}

/** The names of the open folds. */
export function openFolds(main: HTMLElement): Set<string> {
  return new Set(
    named(main)
      .filter(([, details]) => details.open)
      .map(([name]) => name),
  );
}

/** Opens the folds that still exist. */
export function unfold(main: HTMLElement, names: ReadonlySet<string>): void {
  for (const [name, details] of named(main)) {
    if (names.has(name)) details.dispatchEvent(new Event("unfold"));
  }
}
