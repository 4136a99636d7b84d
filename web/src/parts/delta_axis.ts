// Which differences are drawn, and on which axis.

import type { Comparison, ComparisonRow } from "../contract";
import { capital, words } from "../data/format";

/** More would not be looked at; the tables below have all. */
const MOST_ROWS = 120;
/** Up to this many rows, a step's other rates are shown besides its mean. */
const FEW = 6;
const MORE_RATES = ["before", "low", "end", "consistency_mean"];

export interface Delta {
  /** What it is of: step, drive model, metric and group, as far as they differ. */
  name: string[];
  /** In percent; the ends are null if there is no interval. */
  at: number;
  low: number | null;
  high: number | null;
  verdict: string;
}

/** The rows of a comparison that are drawn: each step's rate, or the scores if there are no steps. */
export function deltasOf(one: Comparison, rows: readonly ComparisonRow[]): Delta[] {
  const steps = rows.filter((row) => (row.definition ?? null) === null);
  const means = steps.filter((row) => isRate(row, "mean", steps));
  const few = means.length <= FEW;
  const chosen = steps.length
    ? steps.filter(
        (row) =>
          isRate(row, "mean", steps) ||
          (few && MORE_RATES.some((kind) => isRate(row, kind, steps))),
      )
    : rows.filter((row) => row.title === "score");
  const several = new Set(chosen.map((row) => row.step)).size > 1;
  const metrics = new Set(chosen.map((row) => row.title));
  return chosen
    .filter((row) => row.delta_pct !== null)
    .slice(0, MOST_ROWS)
    .map((row) => ({
      name: [
        several ? capital(words(row.step)) : "",
        row.model ?? "",
        metrics.size > 1 || !several ? (several ? row.title : capital(row.title)) : "",
        one.groups.length > 2 ? String(row.group) : "",
      ].filter(Boolean),
      at: row.delta_pct ?? 0,
      low: row.ci95_pct[0],
      high: row.ci95_pct[1],
      verdict: row.verdict,
    }));
}

/** Whether it is a step's rate of a kind: IOPS for random loads, MB/s for others. */
export function isRate(row: ComparisonRow, kind: string, all: readonly ComparisonRow[]): boolean {
  const units = row.workload.startsWith("random") ? ["iops", "mb_s"] : ["mb_s", "iops"];
  const [wanted, other] = units.map((unit) => `${kind}_${unit}`);
  if (row.metric === wanted) return true;
  return (
    row.metric === other &&
    !all.some(
      (one) =>
        one.metric === wanted &&
        one.step === row.step &&
        one.protocol === row.protocol &&
        (one.model ?? "") === (row.model ?? ""),
    )
  );
}

/** The ends of the axis and its ticks, in percent; intervals far wider than all changes are cut. */
export function axisOf(given: readonly Delta[]): { low: number; high: number; ticks: number[] } {
  const largest = Math.max(1, ...given.map(({ at }) => Math.abs(at)));
  const within = (v: number | null) => Math.max(-3 * largest, Math.min(3 * largest, v ?? 0));
  const ends = given.flatMap(({ at, low, high }) => [at, within(low), within(high)]);
  let [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  if (low === high) [low, high] = [-largest, largest];
  const room = (high - low) * 0.05;
  [low, high] = [low - room, high + room];
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(i * step + 0);
  return { low, high, ticks };
}
