// A workload: throughput over time, temperatures and power below, and details.

import type { App } from "../app";
import { Figure } from "../chart/figure";
import type { LineInfo, Lines } from "../chart/lines";
import type { Level, PanelSpec } from "../chart/panel";
import { picture } from "../chart/picture";
import { saveButtons } from "../chart/save";
import { stage } from "../chart/stage";
import type { Trace } from "../chart/trace";
import type { View } from "../chart/view";
import type { ChartSeries, Episode, Line, WorkloadSection } from "../contract";
import { capital, clock, shortened, value } from "../data/format";
import { DataError } from "../data/unpack";
import { fold, h, unbroken } from "../dom";
import { causeRank, letter } from "../style/causes";
import { beside } from "../style/lines";
import { latency } from "./latency";
import { lineTable } from "./line_table";
import { scatter } from "./scatter";
import { trackRows } from "./track_csv";

const TITLES: Record<ChartSeries["quantity"], string> = {
  throughput: "Throughput",
  iops: "Operations",
  latency: "Latency",
  temperature: "Temperature",
  power: "Power",
  busy: "Busy",
  level: "Level",
};
const ORDER = Object.keys(TITLES) as ChartSeries["quantity"][];

/** Letters of a title that a row has room for. */
const ROW_LETTERS = 34;

/** A row of the overview, with the charts behind it. */
export function workload(app: App, given: WorkloadSection, damage: string | null): HTMLElement {
  const content = () => (damage === null ? charts(app, given) : [damaged(damage)]);
  const made = fold(row(given), content, given.is_open);
  made.id = given.id;
  made.className = "workload";
  return made;
}

function row(given: WorkloadSection): HTMLElement[] {
  const verdicts = Object.entries(given.verdicts).sort(([a], [b]) => causeRank(a) - causeRank(b));
  const isOne = given.lines.length === 1;
  return [
    h("h2", { title: `${given.title}: ${given.detail}` }, shortened(given.title, ROW_LETTERS)),
    h("span", { class: "number" }, given.rate),
    h("span", { class: "number" }, given.hottest),
    h(
      "span",
      { class: "verdicts" },
      verdicts.map(([cause, n]) => h("span", {}, letter(cause), isOne ? cause : `${n} ${cause}`)),
    ),
    h("span", { class: "summary", title: given.summary }, unbroken(given.summary)),
  ];
}

/** The chart of a whole recording, with its loads as bands. */
export function wholeRun(app: App, given: WorkloadSection): HTMLElement {
  const lines = linesOf(app, given);
  const view = app.view(given.id, 0, most(app, given));
  return h(
    "section",
    { id: given.id, "aria-label": given.title },
    stage(timeFigure(app, given, lines, view)),
  );
}

/** The episodes of a line, and when the step of each began on the chart's axis. */
function episodes(app: App, given: WorkloadSection, line: Line): [Episode, number][] {
  const { steps } = app.page.recordings[line.recording]?.findings ?? { steps: [] };
  const own = [{ step: line.step, start_s: 0 }];
  return (line.step === null ? given.bands : own).flatMap(({ step, start_s }) =>
    (steps[step ?? -1]?.episodes ?? []).map((one): [Episode, number] => [one, start_s]),
  );
}

function linesOf(app: App, given: WorkloadSection): Lines {
  const isAlone = given.bands.length > 0 && app.page.recordings.length === 1;
  const infos = given.lines.map((line): LineInfo => {
    const step = app.step(line);
    const words = given.bands.length ? "no falls" : unloadedWords(app, line);
    return {
      label: isAlone ? given.title : line.label,
      style: app.style(line.recording),
      episodes: episodes(app, given, line).map(([one, start_s]) => ({
        ...one,
        onset_s: one.onset_s + start_s,
        end_s: one.end_s + start_s,
      })),
      words: step ? step.verdict : words,
    };
  });
  return app.linesOf(given.id, infos);
}

function most(app: App, given: WorkloadSection): number {
  return Math.max(1e-3, ...given.lines.map((line) => end(app, line)));
}

function charts(app: App, given: WorkloadSection): Node[] {
  const lines = linesOf(app, given);
  try {
    const view = app.view(given.id, 0, most(app, given));
    const isCut = given.title.length > ROW_LETTERS;
    const more = [
      lineTable(app, given),
      scatter(app, given, lines, view.most),
      latency(app, given, lines),
    ];
    return [
      h("p", { class: "detail" }, isCut ? `${given.title}: ${given.detail}` : given.detail),
      stage(timeFigure(app, given, lines, view)),
      ...more.filter((part) => part !== null),
    ];
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return [damaged(error.message)];
  }
}

function damaged(why: string): HTMLElement {
  return h("p", { class: "damage" }, why);
}

function unloadedWords(app: App, line: Line): string {
  const found = app.unloaded(line);
  const hot = found?.max_temp_c ?? null;
  const parts = [
    hot === null ? null : `${value(hot, "C")} at most`,
    found?.follows ? `followed ${found.follows}` : null,
  ];
  return parts.filter((part) => part !== null).join(", ") || "not loaded";
}

function end(app: App, line: Line): number {
  const known = app.step(line)?.duration_s;
  if (known) return known;
  const last = line.tracks.map((track) => app.series(track).last).filter(Number.isFinite);
  return Math.max(0, ...last);
}

function timeFigure(app: App, given: WorkloadSection, lines: Lines, view: View): Figure {
  const title = shortened(given.title, 200);
  return new Figure({
    title,
    detail: given.detail,
    summary: given.summary,
    panels: panels(app, given),
    lines,
    view,
    say: (x) => {
      const load = given.bands.find(({ start_s, end_s }) => start_s <= x && x <= end_s);
      return clock(x, view.span < 30 ? 2 : 1) + (load ? `, ${shortened(load.name, 40)}` : "");
    },
    hasEpisodes: true,
    loads: given.bands,
    open: (at, episode) => {
      const line = given.lines[at];
      const found = line && episodes(app, given, line)[episode];
      if (found) app.evidence(`${given.title} · ${shortened(line.label, 300)}`, found[0]);
    },
    tools: (figure) =>
      saveButtons(
        title,
        () => picture(figure, app.origin),
        () => trackRows(app, given),
      ),
  });
}

/** A panel for each measured quantity; what the lines are about is first. */
function panels(app: App, given: WorkloadSection): PanelSpec[] {
  const others = ORDER.filter(
    (quantity) =>
      !given.shown.includes(quantity) &&
      given.lines.some((line) => line.tracks.some((track) => track.quantity === quantity)),
  );
  const quantities = [...given.shown, ...others];
  const made = quantities.map((quantity, i) => panel(app, given, quantity, i === 0));
  const isLoaded = given.lines.some((line) => line.step !== null);
  const began = given.bands.length ? "the recording began" : "the log began";
  const xTitle = `time since ${isLoaded ? "the step started" : began}`;
  const last = made.filter((one) => one.isShown).at(-1);
  for (const one of made) {
    const isEnd = one === last || (one === made[0] && !given.bands.length);
    if (isEnd || !one.isShown) one.xTitle = xTitle;
  }
  return made;
}

/** Where the drives of a chart begin to slow themselves down. */
function limits(app: App, given: WorkloadSection): Level[] {
  const found = new Map<number, string>();
  for (const { recording } of given.lines) {
    const [at, whose] = app.page.recordings[recording]?.limit ?? [];
    if (at !== undefined) found.set(at, `${whose ?? ""} ${value(at, "C")}`);
  }
  return [...found].map(([at, label]) => ({ at, label }));
}

function panel(
  app: App,
  given: WorkloadSection,
  quantity: ChartSeries["quantity"],
  isFirst: boolean,
): PanelSpec {
  const tracks = given.lines.flatMap((line, i) =>
    line.tracks.filter((track) => track.quantity === quantity).map((track) => ({ track, line: i })),
  );
  const names = [...new Set(tracks.map(({ track }) => track.label))];
  const units = [...new Set(tracks.map(({ track }) => track.unit))];
  const trace = (
    track: ChartSeries,
    line: number,
    style = app.style(given.lines[line]?.recording ?? 0),
  ): Trace => ({
    // Unpacked only when drawn: most of a long page is not, at first.
    get series() {
      return app.series(track);
    },
    style,
    kind: "line",
    line,
    label: track.label,
  });
  const spec: PanelSpec = {
    title: TITLES[quantity],
    unit: units.join(", "),
    height: given.bands.length ? (isFirst ? 136 : 92) : isFirst ? 280 : 132,
    traces: [],
    x: "time",
    xTitle: "",
    isFromZero: quantity !== "temperature" && quantity !== "level",
    isShown: given.shown.includes(quantity),
    levels: quantity === "temperature" ? limits(app, given) : [],
  };
  if (given.lines.length === 1 && names.length <= 8) {
    const base = app.style(given.lines[0]?.recording ?? 0);
    const style = (i: number) => beside(base, i);
    spec.traces = tracks.map(({ track, line }, i) => trace(track, line, style(i)));
    if (names.length > 1) spec.key = names.map((label, i) => ({ label, style: style(i) }));
    return spec;
  }
  const chosen = (name: number) =>
    given.lines.flatMap((line, i) => {
      const own = line.tracks.filter((track) => track.quantity === quantity);
      const found =
        own.find((track) => track.label === names[name]) ?? (name === 0 ? own[0] : null);
      return found ? [trace(found, i)] : [];
    });
  spec.traces = chosen(0);
  if (names.length > 1) spec.choice = { names: names.map(capital), chosen: 0, traces: chosen };
  return spec;
}
