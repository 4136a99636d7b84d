// A histogram of latencies, with a logarithmic axis.

import type { App } from "../app";
import { Figure } from "../chart/figure";
import type { Lines } from "../chart/lines";
import type { PanelSpec } from "../chart/panel";
import { picture } from "../chart/picture";
import { saveButtons } from "../chart/save";
import { stage } from "../chart/stage";
import type { Trace } from "../chart/trace";
import type { LatencyHistogram, WorkloadSection } from "../contract";
import { csv } from "../data/csv";
import { capital, shortened, value } from "../data/format";
import { Series } from "../data/series";
import { fold, h } from "../dom";

/** A fold with the histogram; nothing if there is none. */
export function latency(app: App, given: WorkloadSection, lines: Lines): HTMLElement | null {
  const all = given.lines
    .flatMap((line) => line.latency)
    .filter((one) => one.ios.some((n) => n > 0));
  if (all.length === 0) return null;
  return fold("Latency of the I/Os", () => [
    h(
      "p",
      { class: "summary" },
      all.some((one) => one.from_percentiles)
        ? "The share of I/Os with each latency, estimated from the percentiles of short intervals."
        : "The share of I/Os with each latency; every I/O is counted.",
    ),
    stage(chart(app, given, lines)),
  ]);
}

/** Shares by the logarithm of the latency, in percent, without empty bins at both ends. */
function shares(histogram: LatencyHistogram): Series {
  const total = histogram.ios.reduce((sum, n) => sum + n, 0) || 1;
  const first = Math.max(0, histogram.ios.findIndex((n) => n > 0) - 1);
  const last = histogram.ios.findLastIndex((n) => n > 0) + 1;
  const t = histogram.upper_us.slice(first, last).map((us) => Math.log10(Math.max(us, 1e-3)));
  const v = histogram.ios.slice(first, last).map((n) => (100 * n) / total);
  return new Series(Float64Array.from(t), Float64Array.from(v), Number.POSITIVE_INFINITY);
}

function chart(app: App, given: WorkloadSection, lines: Lines): Figure {
  const directions = [
    ...new Set(given.lines.flatMap((line) => line.latency.map((l) => l.direction))),
  ];
  const traces = (direction: number): Trace[] =>
    given.lines.flatMap((line, i) =>
      line.latency
        .filter((one) => one.direction === directions[direction])
        .map((one) => ({
          series: shares(one),
          style: app.style(line.recording),
          kind: "steps" as const,
          line: i,
          label: line.label,
        })),
    );
  const every = directions.flatMap((_, i) => traces(i)).map(({ series }) => series);
  const least = Math.min(...every.map((series) => series.first));
  const most = Math.max(...every.map((series) => series.last));
  const title = `${shortened(given.title, 200)}: latency`;
  const panel: PanelSpec = {
    title: directions.length === 1 ? `${capital(directions[0] ?? "")}s` : "Share",
    unit: "% of I/Os",
    height: 260,
    traces: traces(0),
    x: "log",
    xTitle: "latency, µs (logarithmic)",
    isFromZero: true,
    isShown: true,
  };
  if (directions.length > 1) {
    const names = directions.map((direction) => `${capital(direction)}s`);
    panel.choice = { names, chosen: 0, traces };
  }
  return new Figure({
    title,
    detail: given.detail,
    summary: "The share of I/Os with each latency.",
    panels: [panel],
    lines,
    view: app.view(`${given.id}-latency`, least - 0.1, Math.max(most, least + 0.2) + 0.05),
    say: (x) => `up to ${value(10 ** x, "µs")}`,
    hasEpisodes: false,
    open: () => undefined,
    tools: (figure) =>
      saveButtons(
        title,
        () => picture(figure, app.origin),
        () => rows(given),
      ),
  });
}

function rows(given: WorkloadSection): string[] {
  const all = given.lines.flatMap((line) =>
    line.latency.flatMap((one) =>
      one.upper_us.map((upper, i) => [
        line.label,
        one.direction,
        i > 0 ? (one.upper_us[i - 1] ?? 0) : 0,
        upper,
        one.ios[i] ?? 0,
      ]),
    ),
  );
  return csv(["line", "direction", "lower_us", "upper_us", "ios"], all);
}
