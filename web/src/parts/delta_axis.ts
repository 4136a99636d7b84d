// How differences are named, and on which axis.

import type { ComparisonRow, ComparisonSection } from "../contract";
import { capital, words } from "../data/format";

/** More would not be looked at; the tables below have all. */
const MOST_ROWS = 120;
export interface Delta {
  /** What it is of: step, drive model, metric and group, as far as they differ. */
  name: string[];
  /** In percent; the ends are null if there is no interval. */
  at: number;
  low: number | null;
  high: number | null;
  verdict: string;
}

/** The differences of a comparison's rows that are drawn. */
export function deltasOf(
  one: Pick<ComparisonSection, "groups">,
  chosen: readonly ComparisonRow[],
): Delta[] {
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
