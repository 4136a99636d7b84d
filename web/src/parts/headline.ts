// The answer at the top of the page.

import type { Page } from "../contract";
import { moment, number } from "../data/format";
import { h, unbroken } from "../dom";
import { causeLook, causeRank } from "../style/causes";

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
          steps.map(([cause, n]) =>
            h(
              "li",
              { style: `--cause: var(--cause-${cause}, var(--cause-unknown))` },
              h("b", { class: "letter", "aria-hidden": "true" }, causeLook(cause).letter),
              ` ${number(n)} ${n === 1 ? "step" : "steps"}: ${cause}`,
            ),
          ),
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

/** Remarks on the whole page. */
export function notes(page: Page): HTMLElement | null {
  if (page.notes.length === 0) return null;
  return h(
    "section",
    { class: "notes", "aria-labelledby": "notes-title" },
    h("h2", { id: "notes-title" }, "What to know when reading this"),
    h(
      "ul",
      {},
      page.notes.map((note) => h("li", {}, note)),
    ),
  );
}
