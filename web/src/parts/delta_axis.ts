// The axis of a chart of differences.

import type { Delta } from "../contract";

/** The ends of the axis and its ticks; intervals far wider than all changes are cut. */
export function axisOf(given: readonly Delta[]): { low: number; high: number; ticks: number[] } {
  const largest = Math.max(1, ...given.map(({ at }) => Math.abs(at)));
  const within = (v = 0) => Math.max(-3 * largest, Math.min(3 * largest, v));
  const ends = given.flatMap(({ at, range }) => [at, within(range?.low), within(range?.high)]);
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
