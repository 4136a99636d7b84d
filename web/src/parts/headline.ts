// The answer at the top of the page.

import type { Page } from "../contract";
import { counted, moment } from "../data/format";
import { fold, h, unbroken } from "../dom";
import { causeRank, letter } from "../style/causes";

const TONES = { good: "✓", bad: "!", unsure: "?" } as const;

/** Title, verdict, the number of steps with each verdict, and more sentences. */
export function headline(page: Page): HTMLElement {
  const { tone, text, more, counts } = page.headline;
  const steps = Object.entries(counts)
    .filter(([, n]) => n > 0)
    .sort(([a], [b]) => causeRank(a) - causeRank(b));
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
    steps.length
      ? h(
          "ul",
          { class: "counts", "aria-label": "Steps by verdict" },
          steps.map(([cause, n]) => h("li", {}, letter(cause), ` ${counted(n, "step")}: ${cause}`)),
        )
      : null,
    more.length
      ? h(
          "ul",
          { class: "more" },
          more.map((sentence) => h("li", {}, unbroken(sentence))),
        )
      : null,
    h("p", { class: "origin" }, `${page.made_by} · ${moment(page.made_unix_s)}`),
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
