// What a panel draws, and how it becomes a path on the canvas.

import uPlot from "uplot";
import type { Series } from "../data/series";
import type { LineStyle } from "../contract";
import { addMark } from "../style/marks";

export interface Trace {
  readonly series: Series;
  /** The upper edge of a band, whose lower one is `series`. */
  readonly upper?: Series;
  style: LineStyle;
  /** `steps` reach back from each sample to the one before. */
  kind: "line" | "dots" | "steps" | "points" | "band";
  /** The line of the chart that it belongs to; both are shown and hidden together. */
  line: number;
  label: string;
}

/** Canvas pixels of a position in a panel's units. */
function placed(u: uPlot, isLog = false) {
  const { left, top, width, height } = u.bbox;
  const x = u.scales.x as uPlot.Scale;
  const y = u.scales.y as uPlot.Scale;
  const [x0, y0] = [x.min ?? 0, y.min ?? 0];
  // what is below a logarithmic axis is drawn at its foot
  const scaled = (v: number) => (isLog ? Math.log10(Math.max(v, y0)) : v);
  const foot = scaled(y0);
  const kx = width / ((x.max ?? 1) - x0 || 1);
  const ky = height / (scaled(y.max ?? 1) - foot || 1);
  return {
    x: (t: number) => left + (t - x0) * kx,
    y: (v: number) => top + height - (scaled(v) - foot) * ky,
    x0,
    x1: x.max ?? 1,
    pixels: width,
  };
}

/** The path of a trace in the stretch that its panel shows. */
export function path(u: uPlot, trace: Trace, k: number, isLog = false): uPlot.Series.Paths {
  const { series, kind } = trace;
  const at = placed(u, isLog);
  const found = new Path2D();
  const from = Math.max(0, series.from(at.x0) - 1);
  const to = Math.min(series.length, series.from(at.x1) + 2);
  if (kind === "dots" || kind === "points") {
    const radius = (kind === "points" ? 3.6 : 1.5) * k * uPlot.pxRatio;
    for (const i of series.pick(from, to, 40_000)) {
      addMark(found, trace.style, at.x(series.t(i)), at.y(series.v(i)), radius);
    }
    if (kind === "dots") return { fill: found };
    const line = new Path2D();
    lineThrough(line, series, from, to, at);
    return { fill: found, stroke: line };
  }
  if (kind === "steps") {
    const bottom = at.y(0);
    const area = new Path2D();
    let before = at.x(series.t(from) - (series.t(from + 1) - series.t(from) || 1));
    area.moveTo(before, bottom);
    found.moveTo(before, bottom);
    for (let i = from; i < to; i++) {
      const [x, y] = [at.x(series.t(i)), at.y(series.v(i))];
      for (const one of [area, found]) {
        one.lineTo(before, y);
        one.lineTo(x, y);
      }
      before = x;
    }
    for (const one of [area, found]) one.lineTo(before, bottom);
    return { stroke: found, fill: area };
  }
  if (kind === "band") return { fill: between(series, trace.upper ?? series, at) };
  lineThrough(found, series, from, to, at);
  return { stroke: found };
}

/** The area between two lines, along the upper one and back along the lower one. */
function between(lower: Series, upper: Series, at: ReturnType<typeof placed>): Path2D {
  const area = new Path2D();
  const shown = (series: Series) =>
    series.pick(
      Math.max(0, series.from(at.x0) - 1),
      Math.min(series.length, series.from(at.x1) + 2),
      at.pixels * 3,
    );
  for (const i of shown(upper)) area.lineTo(at.x(upper.t(i)), at.y(upper.v(i)));
  for (const i of shown(lower).reverse()) area.lineTo(at.x(lower.t(i)), at.y(lower.v(i)));
  area.closePath();
  return area;
}

function lineThrough(
  found: Path2D,
  series: Series,
  from: number,
  to: number,
  at: ReturnType<typeof placed>,
): void {
  let before = -1;
  for (const i of series.pick(from, to, at.pixels * 3)) {
    const [x, y] = [at.x(series.t(i)), at.y(series.v(i))];
    if (before >= 0 && series.joined(before, i)) found.lineTo(x, y);
    else {
      found.moveTo(x, y);
      // A sample between two gaps is drawn as a dot.
      found.lineTo(x + 0.01, y);
    }
    before = i;
  }
}
