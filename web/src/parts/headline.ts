// The answer at the top of the page.

import type { Page } from "../contract";
import { code, fold, h, unbroken } from "../dom";

const TONES = { good: "✓", bad: "!", unsure: "?" } as const;

/** Title, verdict, and the numbers that it comes to. */
export function headline(page: Page): HTMLElement {
  const { tone, text, figures, of } = page.headline;
  return h(
    "header",
    { class: "headline" },
    h("h1", {}, page.title),
    h(
      "p",
      { class: `verdict ${tone}` },
      h("span", { class: "tone", "aria-hidden": "true" }, TONES[tone]),
      h("span", {}, unbroken(text)),
    ),
    figures.length
      ? h(
          "dl",
          { class: "figures" },
          figures.map(({ name, text }) =>
            h("div", {}, h("dt", {}, unbroken(name)), h("dd", {}, text)),
          ),
        )
      : null,
    of ? h("p", { class: "detail" }, `The worst: ${of}`) : null,
  );
}

/** Why, and what to do next. */
export function reasons(page: Page): HTMLElement {
  const { more, next, command } = page.headline;
  return h(
    "div",
    { class: "reasons" },
    more.length
      ? h(
          "ul",
          { class: "more" },
          more.map((sentence) => h("li", {}, unbroken(sentence))),
        )
      : null,
    next ? h("p", {}, command ? `${next}:` : next) : null,
    code("", command ? [command] : []),
  );
}

/** More remarks than these are folded. */
const MOST_NOTES = 4;

/** Remarks on the whole page and on its recordings. */
export function notes({ notes: all }: Page): HTMLElement | null {
  if (all.length === 0) return null;
  const list = (some: readonly string[]) =>
    h(
      "ul",
      {},
      some.map((note) => h("li", {}, unbroken(note))),
    );
  const rest = all.slice(MOST_NOTES);
  return h(
    "section",
    { class: "notes", id: "notes", "aria-labelledby": "notes-title" },
    h("h2", { id: "notes-title" }, "What to know when reading this"),
    list(all.slice(0, MOST_NOTES)),
    rest.length ? fold(`${rest.length} more`, () => [list(rest)]) : null,
  );
}
