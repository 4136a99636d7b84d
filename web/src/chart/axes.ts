// Axes: their ticks and tick labels.

import type uPlot from "uplot";
import type { Delta } from "../contract";
import { marks, number, ticks, TIME_STEPS, timeMarks } from "../data/format";
import type { Colors } from "../style/colors";

export type Horizontal = "time" | "number" | "log";

/** The font of all text on a canvas. */
export function font(k: number, size = 12, weight = 400): string {
  return `${weight} ${size * k}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;
}

/** The axis below a panel; only its grid without `isLabelled`. */
export function horizontal(
  kind: Horizontal,
  colors: Colors,
  k: number,
  isLabelled: boolean,
  fixed?: readonly number[],
): uPlot.Axis {
  const axis: uPlot.Axis = {
    scale: "x",
    font: font(k),
    stroke: colors.soft,
    size: isLabelled ? 26 * k : 6 * k,
    gap: 5 * k,
    space: (kind === "time" ? 76 : 56) * k,
    grid: { stroke: colors.grid, width: k },
    ticks: { stroke: colors.axis, width: k, size: isLabelled ? 5 * k : 0 },
    border: { show: true, stroke: colors.axis, width: k },
  };
  const text = (places: number[], step: number) =>
    kind === "time" ? timeMarks(places, step) : marks(places);
  if (kind === "time") axis.incrs = TIME_STEPS;
  if (kind === "log") {
    axis.splits = (u, _axis, min, max) =>
      fixed
        ? fixed.filter((mark) => mark >= min && mark <= max)
        : logMarks(min, max, u.width / (LOG_LABEL * k));
    axis.values = (_u, marks) =>
      isLabelled ? marks.map((mark) => number(Number((10 ** mark).toPrecision(3)))) : [];
  } else {
    if (fixed) axis.splits = (_u, _axis, min, max) => fixed.filter((m) => m >= min && m <= max);
    axis.values = (_u, marks, _axis, _space, step) => (isLabelled ? text(marks, step) : []);
  }
  return axis;
}

/** Pixels that a label of a logarithmic axis takes, with some room. */
const LOG_LABEL = 52;
const LOG_ROW = 30;

/** Powers of ten, and 2 and 5 times them if there is room, or, of a short axis, all that is round,
 * as logarithms. */
export function logMarks(min: number, max: number, room = 12): number[] {
  const decades = max - min;
  if (decades < 0.7) return ticks(10 ** min, 10 ** max, Math.min(room, 6)).map(Math.log10);
  // 5 and 10 are closest: a third of a decade apart
  const factors = decades * 3.3 < room ? [1, 2, 5] : decades * 2 < room ? [1, 3] : [1];
  const marks: number[] = [];
  for (let power = Math.floor(min); power <= Math.ceil(max); power++) {
    for (const factor of factors) {
      const mark = power + Math.log10(factor);
      if (mark >= min - 1e-9 && mark <= max + 1e-9) marks.push(mark);
    }
  }
  return marks;
}

/** The axis at the side of a panel, `size` wide, with labels at least so far apart. */
export function vertical(
  colors: Colors,
  k: number,
  size: number,
  isLog = false,
  apart = 34,
): uPlot.Axis {
  return {
    ...(isLog
      ? {
          splits: (u: uPlot, _axis: number, min: number, max: number) =>
            logMarks(Math.log10(min), Math.log10(max), u.height / (LOG_ROW * k)).map((mark) =>
              Number((10 ** mark).toPrecision(3)),
            ),
        }
      : {}),
    scale: "y",
    font: font(k),
    stroke: colors.soft,
    size: size * k,
    gap: 6 * k,
    space: apart * k,
    grid: { stroke: colors.grid, width: k },
    ticks: { show: false, size: 0 },
    values: (_u, places) => (isLog ? places.map((v) => number(v)) : marks(places)),
  };
}

/** A range of positive values for a logarithmic axis; what is lower is drawn at its foot. */
export function roomyLog([low, high]: [number, number]): [number, number] {
  const top = Math.max(high, 1e-6);
  // zeros, such as pauses, must not take most of the axis
  return [Math.max(low, top / 1e4) / 1.25, top * 1.25];
}

/** A range with room above; it starts at zero for values that are shares. */
export function roomy(extent: [number, number] | null, isFromZero: boolean): [number, number] {
  if (!extent) return [0, 1];
  const [low, high] = extent;
  if (isFromZero && low >= 0) return [0, high > 0 ? high * 1.06 : 1];
  const room = (high - low) * 0.08 || Math.max(Math.abs(high) * 0.05, 0.5);
  return [low - room, high + room];
}

/** The ends of an axis of differences, and its ticks; intervals far wider than all changes are cut. */
export function axisOf(given: readonly Delta[]): { low: number; high: number; ticks: number[] } {
  const largest = Math.max(1, ...given.map(({ at }) => Math.abs(at)));
  const within = (v = 0) => Math.max(-3 * largest, Math.min(3 * largest, v));
  const ends = given.flatMap(({ at, range }) => [at, within(range?.low), within(range?.high)]);
  let [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  if (low === high) [low, high] = [-largest, largest];
  const room = (high - low) * 0.05;
  [low, high] = [low - room, high + room];
  return { low, high, ticks: ticks(low, high, 5) };
}
