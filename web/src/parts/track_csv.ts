// The samples of a workload as a table: a row per sample, a column per quantity.

import type { App } from "../app";
import type { ChartSeries, WorkloadSection } from "../contract";
import { type Cell, csv } from "../data/csv";

const SUFFIXES: Record<string, string> = { "%": "pct", µs: "us" };

/** A name for a column, its unit last: `temperature_c`. */
export function columnName(quantity: string, unit: string): string {
  const suffix = (SUFFIXES[unit] ?? unit.toLowerCase()).match(/[a-z0-9]+/g)?.join("_") ?? "";
  return suffix === "" || suffix === quantity ? quantity : `${quantity}_${suffix}`;
}

/** All samples of a workload that are on the page. */
export function trackRows(app: App, given: WorkloadSection): string[] {
  const name = (track: ChartSeries) => columnName(track.quantity, track.unit);
  const names = [...new Set(given.lines.flatMap((line) => line.tracks.map(name)))];
  function* rows(): Iterable<Cell[]> {
    for (const line of given.lines) {
      for (const track of line.tracks) {
        const series = app.series(track);
        const at = names.indexOf(name(track));
        for (let i = 0; i < series.length; i++) {
          const row: Cell[] = [line.label, track.name, series.t(i)];
          row[3 + at] = series.v(i);
          for (let j = 3; j < 3 + names.length; j++) row[j] ??= null;
          yield row;
        }
      }
    }
  }
  return csv(["line", "track", "t_s", ...names], rows());
}
