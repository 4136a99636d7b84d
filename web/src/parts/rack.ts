// A rack: who is where and how it did, what places and drives do, and who passes.

import type { App } from "../app";
import { csvButton } from "../chart/save";
import { type Drawn, stage } from "../chart/stage";
import type { RackDriveLine, RackGroup, RackMetric, RackSection, RackTile } from "../contract";
import { csv } from "../data/csv";
import { capital, cut, marks, shortened, unitSign, value } from "../data/format";
import { button, fold, h, svg, table, unbroken } from "../dom";
import { colors, type Shade } from "../style/colors";
import { ramp } from "../style/ramp";
import { shade } from "../style/theme";
import { Deltas } from "./deltas";

/** More drives of a model than this are folded. */
const MOST_OPEN = 12;
/** Values that differ by less than this share get one pale colour. */
const ALIKE = 0.02;
const PALE = 0.1;

/** The links to the parts of the section. */
export function rackLinks(given: RackSection | null): [string, string][] {
  if (!given) return [];
  return [
    ["rack", "The rack"],
    ...(given.metrics.length ? [["rack-effects", "Place or drive"] as [string, string]] : []),
    ["rack-drives", "Who passes"],
  ];
}

/** The picture, the effects and the list, by the measure that the reader chooses. */
export function rack(app: App, given: RackSection): HTMLElement {
  const picture = new Picture(given, (drive) => go(drive));
  const effects = h("section", { id: "rack-effects", "aria-labelledby": "rack-effects-title" });
  const show = (metric: number) => {
    picture.chosen = metric;
    picture.draw(shade());
    effects.replaceChildren(...effectsOf(app, given.metrics[metric]));
  };
  const select = h("select", { "aria-label": "What is compared" });
  given.metrics.forEach(({ label, unit }, i) => {
    select.append(h("option", { value: i }, `${capital(label)}, ${unitSign(unit)}`));
  });
  select.addEventListener("change", () => show(Number(select.value)));
  show(0);
  return h(
    "section",
    { id: "rack", "aria-label": "The rack" },
    h(
      "div",
      { class: "tools heat" },
      given.metrics.length ? select : null,
      h("span", { class: "grow" }),
      csvButton("rack", () => rows(given)),
    ),
    stage(picture),
    given.metrics.length ? effects : null,
    list(given),
  );
}

function go(drive: number): void {
  const row = document.getElementById(`rack-drive-${drive}`);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  row?.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "center" });
  row?.focus({ preventScroll: true });
}

const MARKS = { fails: "✗", unlike: "≠", passes: "" } as const;

function stateOf({ passes, is_unlike }: RackDriveLine): keyof typeof MARKS {
  return !passes ? "fails" : is_unlike ? "unlike" : "passes";
}

const STATES = {
  fails: "does not pass",
  unlike: "passes, but is unlike others of its model",
  passes: "passes",
} as const;

/** Hosts as rows, places as columns, a tile for each drive. */
class Picture implements Drawn {
  readonly element: HTMLElement;
  chosen = 0;
  private readonly holder = h("div", { class: "scroll", tabindex: 0, role: "region" });
  private readonly readout = h("p", { class: "point rack-readout", "aria-live": "polite" });

  constructor(
    private readonly given: RackSection,
    private readonly go: (drive: number) => void,
  ) {
    this.element = h("figure", { class: "heat rack" }, this.holder, this.readout, legend());
    this.say(null);
  }

  draw(of: Shade): void {
    const { given } = this;
    const { rows, columns, row_label, column_label } = given;
    const metric = given.metrics[this.chosen];
    const title = metric ? `${capital(metric.label)}, ${unitSign(metric.unit)}` : "The rack";
    const head = (text: string) =>
      h("th", { scope: "col", title: cut(text, 300) }, shortened(text || unnamed(column_label), 24));
    this.holder.setAttribute("aria-label", title);
    this.holder.replaceChildren(
      h(
        "table",
        {},
        h("caption", { class: "unseen" }, `${title}: ${row_label} by ${column_label || "drive"}`),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col", class: "corner" }, corner(row_label, column_label)),
            columns.map(head),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((row, y) =>
            h(
              "tr",
              {},
              h("th", { scope: "row", title: cut(row, 300) }, shortened(row || unnamed(row_label), 24)),
              columns.map((_, x) => this.cell(y, x, of)),
            ),
          ),
        ),
      ),
    );
  }

  private cell(y: number, x: number, of: Shade): HTMLElement {
    const tiles = this.given.tiles.filter(({ row, column }) => row === y && column === x);
    if (tiles.length === 0)
      return h("td", { class: "none" }, h("span", { class: "unseen" }, "no drive"));
    return h(
      "td",
      {},
      h(
        "div",
        { class: "tiles" },
        tiles.map((tile) => this.tile(tile, of)),
      ),
    );
  }

  private tile(tile: RackTile, of: Shade): HTMLElement {
    const { drives, metrics } = this.given;
    const drive = drives[tile.drive] as RackDriveLine;
    const own = tile.values[this.chosen] ?? null;
    const share = this.share(own);
    const { back, ink } = share === null ? { back: "", ink: "" } : ramp(colors(of).heat, share);
    const state = stateOf(drive);
    const figure = own === null ? "–" : value(own, "");
    const text = `${drive.drive}, ${place(drive)}${value(own, metrics[this.chosen]?.unit ?? "")}: ${STATES[state]}${drive.why[0] ? `, ${drive.why[0]}` : ""}`;
    const made = button(
      [
        h("b", {}, figure, MARKS[state] ? h("i", { "aria-hidden": "true" }, MARKS[state]) : null),
        h("small", {}, shortened(drive.drive, 9)),
        h("span", { class: "unseen" }, ` ${cut(text, 400)}`),
      ],
      () => this.go(tile.drive),
      {
        class: `tile ${state}`,
        style: back ? `background:${back};color:${ink}` : null,
      },
    );
    for (const event of ["mouseenter", "focus"]) {
      made.addEventListener(event, () => this.say(text));
    }
    return made;
  }

  private say(text: string | null): void {
    this.readout.classList.toggle("hint", text === null);
    this.readout.replaceChildren(
      ...(text === null
        ? ["Point at a drive to see its name; click to see it in the list."]
        : [cut(text, 400)]),
    );
  }

  /** How bad a value is among all: from 0 to 1. */
  private share(own: number | null): number | null {
    if (own === null) return null;
    const all = this.given.tiles
      .map(({ values }) => values[this.chosen] ?? null)
      .filter((v) => v !== null);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    if (high - low <= ALIKE * Math.max(Math.abs(low), Math.abs(high))) return PALE;
    const share = (own - low) / (high - low);
    return this.given.metrics[this.chosen]?.worse === "high" ? share : 1 - share;
  }
}

function place({ where }: RackDriveLine): string {
  return where ? `${where}, ` : "";
}

/** A place that has no name: it has no such label, or no drive has one. */
function unnamed(label: string): string {
  return label ? "not told" : "all";
}

function corner(row: string, column: string): string {
  return capital([row, column].filter(Boolean).join(" / "));
}

function legend(): HTMLElement {
  return h(
    "p",
    { class: "cooling-legend" },
    h("span", {}, "A stronger colour is worse."),
    h("span", {}, `${MARKS.fails} does not pass`),
    h("span", {}, `${MARKS.unlike} unlike others of its model, but not worse`),
    h("span", {}, "– nothing measured"),
  );
}

/** What places and drives do, with intervals. */
function effectsOf(app: App, metric: RackMetric | undefined): Node[] {
  if (!metric) return [];
  const groups = (given: readonly RackGroup[], title: (of: string) => string) =>
    given.map((group) => {
      const known = group.points.length > 0;
      const chart = () =>
        stage(
          new Deltas(
            app,
            title(group.title),
            group.points.map(({ name, ...point }) => ({ name: [name], ...point })),
            () => points(group),
            metric.effect_unit,
            (v) => `${v > 0 ? "+" : ""}${marks([v, 0.1])[0] ?? ""}\u202f${metric.effect_unit}`,
          ),
        );
      return [
        group.why_unknown && !metric.sentence.includes(group.why_unknown)
          ? h("p", { class: "held" }, `${capital(group.title)}: ${group.why_unknown}.`)
          : null,
        known && group.points.length > MOST_OPEN
          ? fold(`${title(group.title)}: ${group.points.length} drives`, () => [chart()])
          : known
            ? chart()
            : null,
      ];
    });
  const hasIntervals = metric.drives.some(({ points: of }) => of.some(({ low }) => low !== null));
  return [
    h("h2", { id: "rack-effects-title" }, "Place or drive"),
    h("p", { class: "summary" }, unbroken(metric.sentence)),
    h(
      "div",
      {},
      groups(metric.places, (label) => `${capital(label)}: against the mean of all`),
      h(
        "p",
        { class: "detail" },
        hasIntervals
          ? "Of drives: what is their own, with the effect of their places taken out."
          : "Of drives: as measured, wherever they ran; their own part cannot be told.",
      ),
      groups(metric.drives, (model) => `${model}: drives against others of the model`),
    ),
  ];
}

/** Who passes, as a table with a line of throughput for each drive. */
function list({ drives }: RackSection): HTMLElement {
  const highest = Math.max(1, ...drives.flatMap(({ line }) => line));
  const header = ["Drive", "Passes", "Why not", "Where", "Model", "Firmware", "Throughput"];
  const made = table(
    "All drives, and whether they pass",
    header,
    drives.map((one) => [
      one.drive,
      h("span", { class: one.passes ? "yes" : "no" }, one.passes ? "yes" : `${MARKS.fails} no`),
      one.why.join("; "),
      h("span", { class: "unbroken" }, cut(one.where, 60)),
      h("span", { class: "unbroken" }, cut(one.model, 40)),
      one.firmware,
      one.line.length ? sparkline(one, highest) : "–",
    ]),
  );
  made.querySelectorAll("tbody tr").forEach((row, i) => {
    row.id = `rack-drive-${i}`;
    row.setAttribute("tabindex", "-1");
  });
  return h(
    "section",
    { id: "rack-drives", "aria-labelledby": "rack-drives-title" },
    h("h2", { id: "rack-drives-title" }, "Who passes"),
    h(
      "p",
      { class: "detail" },
      `Throughput of the first step, from 0 to ${value(highest, "MB/s")} for all.`,
    ),
    h("div", { class: "rack-list" }, made),
  );
}

const LINE = { width: 140, height: 28 };

function sparkline({ drive, line }: RackDriveLine, highest: number): Node {
  const x = (i: number) => (LINE.width * i) / Math.max(1, line.length - 1);
  const y = (v: number) => 1 + (LINE.height - 2) * (1 - v / highest);
  const d = line.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
  const [low, high] = [Math.min(...line), Math.max(...line)];
  return svg(
    "svg",
    {
      ...LINE,
      role: "img",
      class: "sparkline",
      "aria-label": `${drive}: ${value(low, "")} to ${value(high, "MB/s")}`,
    },
    svg("path", { d, fill: "none", "stroke-width": 1.5 }),
  );
}

function rows({ rows: hosts, columns, metrics, drives, tiles }: RackSection): string[] {
  const header = ["row", "column", "drive", "model", "passes", "why"];
  return csv(
    [...header, ...metrics.map(({ label, unit }) => `${label} (${unitSign(unit)})`)],
    tiles.map(({ row, column, drive, values }) => {
      const { drive: name, model, passes, why } = drives[drive] as RackDriveLine;
      const told = [hosts[row], columns[column], name, model, passes ? "yes" : "no"];
      return [...told, why.join("; "), ...values];
    }),
  );
}

function points({ points: given }: RackGroup): string[] {
  return csv(
    ["name", "effect", "low", "high"],
    given.map(({ name, at, low, high }) => [name, at, low, high]),
  );
}
