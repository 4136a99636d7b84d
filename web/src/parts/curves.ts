// Steps that differ in one parameter: mixed loads by share of reads, loads by queue depth.

import type { App } from "../app";
import { Figure } from "../chart/figure";
import { picture } from "../chart/picture";
import { saveButtons } from "../chart/save";
import { stage } from "../chart/stage";
import type { CurveChart } from "../contract";
import { csv } from "../data/csv";
import { number, value } from "../data/format";
import { Series } from "../data/series";
import { fold, h, table } from "../dom";
import { columnName } from "./track_csv";

const TITLES: Record<string, string> = { "MB/s": "Throughput", IOPS: "Operations" };

/** A section with all curves. */
export function curves(app: App, given: readonly CurveChart[]): HTMLElement | null {
  const shown = given.filter((one) => one.curves.some((curve) => curve.points.length > 0));
  if (shown.length === 0) return null;
  return h(
    "section",
    { id: "curves", "aria-labelledby": "curves-title" },
    h("h2", { id: "curves-title" }, "By load"),
    shown.map((one) =>
      h(
        "section",
        { id: `curves-${one.id}` },
        h("h3", {}, one.title),
        stage(chart(app, one)),
        figures(one),
      ),
    ),
  );
}

function chart(app: App, given: CurveChart): Figure {
  const place = (x: number) => (given.x_is_log ? Math.log10(Math.max(x, 1e-9)) : x);
  const lines = app.linesOf(
    `curves-${given.id}`,
    given.curves.map((curve) => ({
      label: curve.label,
      style: app.style(curve.recording),
      episodes: [],
      words: "",
    })),
  );
  const series = (key: "y" | "power_w") =>
    given.curves.map((curve) => {
      const points = curve.points
        .map((point) => ({ x: place(point.x), y: point[key] }))
        .filter((point): point is { x: number; y: number } => typeof point.y === "number")
        .sort((a, b) => a.x - b.x);
      const [t, v] = [points.map(({ x }) => x), points.map(({ y }) => y)];
      return new Series(Float64Array.from(t), Float64Array.from(v), Number.POSITIVE_INFINITY);
    });
  const all = given.curves.flatMap((curve) => curve.points.map(({ x }) => place(x)));
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const room = (most - least) * 0.04 || 0.5;
  const marks = [...new Set(all)].sort((a, b) => a - b);
  const panel = (title: string, unit: string, key: "y" | "power_w", height: number) => ({
    title,
    unit,
    height,
    traces: series(key).map((one, i) => ({
      series: one,
      style: app.style(given.curves[i]?.recording ?? 0),
      kind: "points" as const,
      line: i,
      label: given.curves[i]?.label ?? "",
    })),
    x: given.x_is_log ? ("log" as const) : ("number" as const),
    xTitle: given.x_label,
    isFromZero: true,
    isShown: true,
    ...(marks.length <= 16 ? { marks } : {}),
  });
  const hasPower = given.curves.some((curve) => curve.points.some((point) => point.power_w));
  return new Figure({
    title: given.title,
    detail: `${given.x_label}, ${given.unit}`,
    summary: "",
    panels: [
      panel(TITLES[given.unit] ?? "Value", given.unit, "y", 280),
      ...(hasPower ? [{ ...panel("Power", "W", "power_w", 132) }] : []),
    ],
    lines,
    view: app.view(`curves-${given.id}`, least - room, most + room),
    say: (x) => `${given.x_label} ${number(given.x_is_log ? 10 ** x : x)}`,
    hasEpisodes: false,
    open: () => undefined,
    tools: (figure) =>
      saveButtons(
        given.title,
        () => picture(figure, app.origin),
        () => rows(given),
      ),
  });
}

function rows(given: CurveChart): string[] {
  const all = given.curves.flatMap((curve) =>
    curve.points.map((point) => [curve.label, point.step, point.x, point.y, point.power_w]),
  );
  return csv(["line", "step", given.x_label, columnName("value", given.unit), "power_w"], all);
}

function figures(given: CurveChart): HTMLElement {
  const header = ["Run", "Step", given.x_label, given.unit, "Power"];
  const all = given.curves.flatMap((curve) =>
    curve.points.map((point) => [
      curve.label,
      point.step,
      number(point.x),
      value(point.y, given.unit),
      value(point.power_w, "W"),
    ]),
  );
  const numeric = [false, false, true, true, true];
  return fold("The figures as a table", () => [
    table(`${given.title}: figures`, header, all, numeric),
  ]);
}
