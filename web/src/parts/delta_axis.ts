// The axis of a chart of differences.

export interface Delta {
  /** What it is of: step, drive model, metric and group, as far as they differ. */
  name: string[];
  /** In percent; the ends are null if there is no interval. */
  at: number;
  low: number | null;
  high: number | null;
  verdict: string;
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
