// The points of a sweep: their numbers, and each in words.

import type { App } from "../app";
import type { Range, SweepAxis, SweepColumn, SweepSection } from "../contract";
import { capital, ranged, UNKNOWN } from "../data/format";
import { onsetWords, surelyHolds, THROTTLES } from "./throttling";

/** For each axis, the number of a value. */
export type Values = readonly number[];

export class SweepPoints {
  readonly axes: readonly SweepAxis[];
  private readonly columns = new Map<string, Float64Array>();

  constructor(
    app: App,
    readonly given: SweepSection,
  ) {
    this.axes = given.axes;
    const unpack = ({ known, values }: SweepColumn): Float64Array => {
      const found = app.column(values);
      if (!known) return found;
      let next = 0;
      return app.column(known).map((is) => (is ? (found[next++] ?? Number.NaN) : Number.NaN));
    };
    for (const [name, column] of Object.entries(given.columns)) {
      this.columns.set(name, unpack(column));
    }
  }

  get names(): string[] {
    return [...this.columns.keys()];
  }

  /** The number of a point among all. */
  at(values: Values): number {
    return this.axes.reduce((at, axis, i) => at * axis.values.length + (values[i] ?? 0), 0);
  }

  /** A quantity of a point; null if it has none. */
  get(name: string, at: number): number | null {
    const found = this.columns.get(name)?.[at];
    return found === undefined || Number.isNaN(found) ? null : found;
  }

  throttles(at: number): boolean {
    return (this.get("throttles", at) ?? 1) >= THROTTLES;
  }

  /** The least and the most that a quantity is at any point. */
  extent(name: string): [number, number] {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const one of this.columns.get(name) ?? []) {
      if (one < low) low = one;
      if (one > high) high = one;
    }
    return low <= high ? [low, high] : [0, 0];
  }

  get hasImpossible(): boolean {
    return this.columns.get("throttles")?.some(Number.isNaN) ?? false;
  }

  /** Where heat takes most. */
  get worst(): Values {
    let [worst, most] = [0, Number.NEGATIVE_INFINITY];
    this.columns.get("depth_mid_pct")?.forEach((depth, at) => {
      if (depth > most && this.throttles(at)) [worst, most] = [at, depth];
    });
    const values: number[] = [];
    for (const { values: all } of [...this.axes].reverse()) {
      values.unshift(worst % all.length);
      worst = Math.floor(worst / all.length);
    }
    return values;
  }

  /** A value of an axis in a sentence. */
  valueWords(axis: number, i: number): string {
    const { prefix, values } = this.axes[axis] ?? { prefix: "", values: [] };
    return `${prefix}${values[i] ?? ""}`;
  }

  /** A point in a sentence that names its values on some axes. */
  words(values: Values, named: readonly number[]): string {
    const where = named.map((axis) => this.valueWords(axis, values[axis] ?? 0)).join(", ");
    const at = this.at(values);
    const isName = this.axes[named[0] ?? 0]?.prefix === "";
    return `${isName ? where : capital(where)}: ${this.outcome(at)}`;
  }

  private outcome(at: number): string {
    const probability = this.get("throttles", at);
    if (probability === null) return "so hot that the drive cannot be there even at rest.";
    const hottest = this.range("max_reported_temp", "c", at);
    const temperature = `${hottest ? ranged(hottest, "C") : UNKNOWN} at most`;
    const onset = this.range("onset", "s", at);
    if (surelyHolds(probability) || !onset) return `holds its full speed; ${temperature}.`;
    const depth = this.range("depth", "pct", at);
    const left = this.range("throttled", "mb_s", at);
    const loss =
      depth && left
        ? `: -${ranged(depth, "%")} in the worst minute, ${ranged(left, "MB/s")} left`
        : "";
    return `${onsetWords(probability, onset)}${loss}; ${temperature}.`;
  }

  private range(name: string, unit: string, at: number): Range | null {
    const [low, mid, high] = ["low", "mid", "high"].map((end) =>
      this.get(`${name}_${end}_${unit}`, at),
    );
    if (low == null || mid == null || high == null) return null;
    return { low, mid, high, of: "drives", level: this.given.level };
  }
}
