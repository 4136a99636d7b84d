// A twin: what it makes of each recording, and of other air and other cooling.

import type { App } from "../app";
import { Figure } from "../chart/figure";
import type { LineInfo } from "../chart/lines";
import { picture } from "../chart/picture";
import { saveButtons } from "../chart/save";
import { stage } from "../chart/stage";
import type { Trace } from "../chart/trace";
import type { ChartSeries, TwinLine, TwinSection } from "../contract";
import { csv } from "../data/csv";
import { clock, duration, ranged, shortened } from "../data/format";
import { Series } from "../data/series";
import { fold, h, unbroken } from "../dom";
import type { LineStyle } from "../contract";
import { coolingMaps } from "./twin_map";

/** Colours of the page's lines, the same in each of these charts. */
const MEASURED: LineStyle = { color: 2, dash: 0 };
const REPORTED: LineStyle = { color: 0, dash: 1 };
const HIDDEN: LineStyle = { color: 1, dash: 0 };
const LIMIT: LineStyle = { color: 3, dash: 4 };

/** More recordings than this share one fold: their names alone would fill the screen. */
const MOST_FOLDS = 7;

/** A section: the answer, a chart for each recording, and the maps. */
export function twin(app: App, given: TwinSection): HTMLElement {
  const [first, ...others] = given.lines;
  const folded = (line: TwinLine) => {
    const onset = line.onsets_s[0];
    const words = onset === undefined ? "heat did not slow it" : `throttled at ${duration(onset)}`;
    const summary = h("span", {}, shortened(line.label, 200), h("small", {}, ` ${words}`));
    return fold(summary, () => [recording(app, given, line)]);
  };
  return h(
    "section",
    { id: "twin", "aria-labelledby": "twin-title" },
    h("h2", { id: "twin-title" }, "Twin"),
    h("p", { class: "detail" }, `A model of one drive: ${given.detail}`),
    h("p", { class: "summary" }, unbroken(given.answer)),
    given.told.length
      ? fold("What the recordings cannot tell", () => [
          h(
            "ul",
            {},
            given.told.map((sentence) => h("li", {}, unbroken(sentence))),
          ),
        ])
      : null,
    h("h3", {}, "Measured against twin"),
    h("p", { class: "detail" }, caption(given)),
    first ? recording(app, given, first) : null,
    others.length > MOST_FOLDS
      ? fold(`${others.length} more recordings`, () => others.map(folded))
      : others.map(folded),
    given.left_out.length
      ? [
          h("p", { class: "held" }, "The twin does not follow:"),
          h(
            "ul",
            { class: "held" },
            given.left_out.map(({ name, text }) => h("li", {}, `${shortened(name, 200)}: ${text}`)),
          ),
        ]
      : null,
    h("h3", {}, "In other air, with other cooling"),
    given.no_map ? h("p", {}, given.no_map) : null,
    coolingMaps(app, given.maps),
  );
}

function caption({ limit_c, lines }: TwinSection): string {
  const marks = lines.some(({ onsets_s }) => onsets_s.length)
    ? " H marks where heat began to slow it."
    : "";
  const limit = limit_c
    ? " The dashed line is the limit at which it acts. Both levels are uncertain together: at an " +
      "onset the hidden temperature was at the limit."
    : "";
  return `The hidden temperature is what the drive's governor acts on; its band holds 90 %.${limit}${marks}`;
}

function recording(app: App, given: TwinSection, line: TwinLine): HTMLElement {
  return h(
    "div",
    { class: "twin-line" },
    h(
      "h4",
      {},
      shortened(line.label, 200),
      line.label.includes(line.place) ? null : h("span", {}, ` ${line.place}`),
    ),
    h("p", { class: "summary" }, unbroken(line.summary)),
    stage(figure(app, given, line)),
  );
}

/** A level over the whole time. */
function level(of: number, end: number): Series {
  return new Series(Float64Array.of(0, end), Float64Array.of(of, of), Number.POSITIVE_INFINITY);
}

function figure(app: App, { limit_c }: TwinSection, line: TwinLine): Figure {
  const title = `Measured against twin: ${shortened(line.label, 200)}`;
  const infos: LineInfo[] = [
    info(`measured (${line.measured.label})`, MEASURED),
    info("reported by the twin", REPORTED),
    info("hidden, with 90 % band", HIDDEN),
    ...(limit_c ? [info(`its limit, ${ranged(limit_c, "C")}`, LIMIT)] : []),
  ];
  const id = `twin-${line.recording}`;
  const lines = app.linesOf(id, infos);
  const view = app.view(id, 0, line.end_s);
  const trace = (track: ChartSeries, of: number, style: LineStyle): Trace => ({
    get series() {
      return app.series(track);
    },
    style,
    kind: "line",
    line: of,
    label: track.label,
  });
  const band = (low: () => Series, high: () => Series, of: number, style: LineStyle): Trace => ({
    get series() {
      return low();
    },
    get upper() {
      return high();
    },
    style,
    kind: "band",
    line: of,
    label: "",
  });
  const limit = limit_c && {
    low: level(limit_c.low, line.end_s),
    mid: level(limit_c.mid, line.end_s),
    high: level(limit_c.high, line.end_s),
  };
  const traces: Trace[] = [
    ...(limit
      ? [
          band(
            () => limit.low,
            () => limit.high,
            3,
            LIMIT,
          ),
        ]
      : []),
    band(
      () => app.series(line.low),
      () => app.series(line.high),
      2,
      HIDDEN,
    ),
    ...(limit
      ? [{ series: limit.mid, style: LIMIT, kind: "line" as const, line: 3, label: "limit" }]
      : []),
    trace(line.hidden, 2, HIDDEN),
    trace(line.measured, 0, MEASURED),
    trace(line.reported, 1, REPORTED),
  ];
  return new Figure({
    title,
    detail: line.onsets_s.length ? `${line.place}; H: heat begins to slow it` : line.place,
    summary: line.summary,
    panels: [
      {
        title: "Temperature",
        unit: "C",
        height: 320,
        traces,
        x: "time",
        xTitle: "time since the recording began",
        isFromZero: false,
        isShown: true,
      },
    ],
    lines,
    view,
    say: (x) => clock(x, view.span < 30 ? 2 : 1),
    hasEpisodes: false,
    open: () => undefined,
    onsets: line.onsets_s,
    tools: (made) =>
      saveButtons(
        title,
        () => picture(made, app.origin),
        () => rows(app, line),
      ),
  });
}

function info(label: string, style: LineStyle): LineInfo {
  return { label, style, episodes: [], words: "" };
}

function rows(app: App, line: TwinLine): string[] {
  function* each(): Iterable<[string, number, number]> {
    for (const name of ["measured", "reported", "hidden", "low", "high"] as const) {
      const series = app.series(line[name]);
      for (let i = 0; i < series.length; i++) yield [`${name}_c`, series.t(i), series.v(i)];
    }
  }
  return csv(["series", "t_s", "temp_c"], each());
}
