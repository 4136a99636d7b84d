// What a condition changes: differences with confidence intervals.

import type { App } from "../app";
import { csvButton } from "../chart/save";
import { stage } from "../chart/stage";
import type { ComparisonRow, ComparisonSection, ToldRow } from "../contract";
import { csv } from "../data/csv";
import { capital, shortened, span, titleOf, value, words } from "../data/format";
import { fold, h, table, unbroken } from "../dom";
import { Deltas } from "./deltas";

const HEADER = [
  "Metric",
  "",
  "Difference",
  "95 % interval",
  "Verdict",
  "Baseline",
  "Value",
  "Runs",
];

/** A section for each comparison. */
export function comparisons(app: App, given: readonly ComparisonSection[]): HTMLElement | null {
  if (given.length === 0) return null;
  return h(
    "section",
    { id: "comparisons", "aria-labelledby": "comparisons-title" },
    h("h2", { id: "comparisons-title" }, "Comparison"),
    given.map((one) => {
      return h(
        "section",
        {},
        h("h3", {}, `${capital(words(one.by))}: ${named(one.groups).join(", ")}`),
        (one.headlines ?? []).length > 1
          ? h("p", { class: `said ${one.summary.tone}` }, unbroken(one.summary.text))
          : null,
        (one.headlines ?? []).map((said) =>
          h(
            "p",
            { class: `said ${said.tone}` },
            unbroken([said.text, ...(said.details ?? [])].join(" ")),
          ),
        ),
        h(
          "div",
          { class: "tools" },
          h(
            "p",
            { class: "detail grow" },
            `Compared with ${words(one.by)} ${String(one.baseline)}.`,
          ),
          csvButton(`comparison by ${one.by}`, () => rows(one)),
        ),
        remarks(one),
        chart(app, one),
        fold("The figures as a table", () => steps(one, one.shown)),
        one.apart.length > 0
          ? fold("Each set of conditions on its own", () => steps(one, one.apart))
          : null,
        ranking(one),
      );
    }),
  );
}

function named(groups: readonly unknown[]): string[] {
  const most = groups.length > 4 ? 24 : 60;
  return groups.map((group) => shortened(String(group), most));
}

type Row = ComparisonRow & { told: ToldRow };

/** Its rows of these numbers, with what is read of them. */
function picked({ rows: all, told }: ComparisonSection, numbers: readonly number[]): Row[] {
  return numbers.map((at) => ({ ...(all[at] as ComparisonRow), told: told[at] as ToldRow }));
}

function chart(app: App, one: ComparisonSection): HTMLElement | null {
  if (one.drawn.length === 0) return null;
  const title = `Difference from ${words(one.by)} ${shortened(String(one.baseline), 60)}`;
  return stage(new Deltas(app, title, one.drawn, () => rows(one)));
}

function remarks({ notes, caveats }: ComparisonSection): HTMLElement | null {
  const all = [...notes, ...caveats];
  if (all.length === 0) return null;
  return h(
    "ul",
    { class: "detail" },
    all.map((sentence) => h("li", {}, capital(sentence))),
  );
}

/** A table for each step. */
function steps(one: ComparisonSection, numbers: readonly number[]): HTMLElement[] {
  const groups = new Map<string, Row[]>();
  for (const row of picked(one, numbers)) {
    const key = JSON.stringify([row.protocol, row.model, row.step]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const told = differing(one.rows);
  return [...groups.values()].map((group) => {
    const [first] = group;
    const title = titleOf(first?.step ?? "");
    const detail = [first?.model, first?.workload, one.protocols.length > 1 ? first?.protocol : ""];
    return h(
      "div",
      { class: "step" },
      h("h4", {}, title, " ", h("span", {}, detail.filter(Boolean).join(", "))),
      deltas(`${title}: differences by ${words(one.by)}`, group, told, one.groups.length > 2),
    );
  });
}

/** The conditions that differ between rows. */
function differing(all: readonly ComparisonRow[]): string[] {
  const keys = [...new Set(all.flatMap((row) => Object.keys(row.other_conditions)))];
  return keys.filter(
    (key) =>
      new Set(all.map(({ other_conditions }) => JSON.stringify(other_conditions[key]))).size > 1,
  );
}

function deltas(
  caption: string,
  given: readonly Row[],
  told: readonly string[],
  isOfMany: boolean,
): HTMLElement {
  // two groups need no column that says which
  const whose = (row: ComparisonRow) => {
    const text = [isOfMany ? String(row.group) : "", others(row, told)].filter(Boolean).join(", ");
    return h("span", { class: "whose", title: text }, shortened(text, 24));
  };
  const isNamed = isOfMany || given.some((row) => others(row, told) !== "");
  const kept = (_: unknown, i: number) => isNamed || i !== 1;
  return table(
    caption,
    HEADER.filter(kept),
    given.map((row, i) =>
      [
        row.metric === given[i - 1]?.metric ? "" : capital(row.told.title),
        whose(row),
        row.told.change,
        row.told.interval,
        verdict(row),
        row.told.baseline,
        row.told.value,
        `${row.runs} / ${row.baseline_runs}`,
      ].filter(kept),
    ),
    HEADER.map((_, i) => i === 2 || i === 3 || i > 4).filter(kept),
  );
}

function verdict(row: ComparisonRow): HTMLElement {
  const name = `delta ${row.verdict.replaceAll(" ", "-")}`;
  const why = row.why_neither;
  return h(
    "span",
    {},
    h("span", { class: name }, row.verdict),
    why ? h("small", {}, ` ${why}`) : null,
  );
}

function others(row: ComparisonRow, told: readonly string[]): string {
  return told
    .filter((key) => row.other_conditions[key] !== undefined && row.other_conditions[key] !== null)
    .map((key) => `${words(key)} ${String(row.other_conditions[key])}`)
    .join(", ");
}

function ranking(one: ComparisonSection): HTMLElement | null {
  if (one.ranking.length === 0) return null;
  const header = [
    "Step",
    "Rank",
    words(one.by),
    "Value",
    "95 % interval",
    "Best in",
    "Not distinguished from",
  ];
  return fold("Ranking", () => [
    table(
      `Ranking by ${words(one.by)}`,
      header,
      one.ranking.map((row) => [
        `${words(row.step)}, ${words(row.metric)}`,
        row.rank,
        h("span", { class: "whose", title: String(row.group) }, shortened(String(row.group), 40)),
        row.value === null && row.value_at_least !== null
          ? `> ${value(row.value_at_least, row.unit)}`
          : value(row.value, row.unit),
        span(
          row.ci95.filter((end) => end !== null),
          row.unit,
        ),
        value(row.best_share && row.best_share * 100, "%"),
        row.not_told_apart_from.map(String).join(", ") || "–",
      ]),
      [false, true, false, true, true, true, false],
    ),
  ]);
}

function rows(one: ComparisonSection): string[] {
  const header = [
    "step",
    "metric",
    "group",
    "conditions",
    "unit",
    "baseline",
    "value",
    "delta_pct",
    "delta_low_pct",
    "delta_high_pct",
    "runs",
    "baseline_runs",
    "verdict",
  ];
  return csv(
    header,
    one.rows.map((row) => [
      row.step,
      row.metric,
      String(row.group),
      others(row, Object.keys(row.other_conditions)),
      row.unit,
      row.baseline,
      row.value,
      row.delta_pct,
      row.ci95_pct[0],
      row.ci95_pct[1],
      row.runs,
      row.baseline_runs,
      row.verdict,
    ]),
  );
}
