// A sweep: its groups as a table, and maps of its points over two of the parameters that vary.

import type { App } from "../app";
import { stage, unstage } from "../chart/stage";
import type { SweepSection } from "../contract";
import { csv } from "../data/csv";
import { capital, number, shortened } from "../data/format";
import { fold, h, table } from "../dom";
import type { Place } from "./cell_map";
import { MapAxis } from "./map_axis";
import { MapFigure } from "./map_figure";
import { SweepPoints } from "./sweep_points";
import { quantities, type SweepQuantity } from "./sweep_quantities";

/** A section: the table that the terminal shows, and the maps. */
export function sweep(app: App, given: SweepSection): HTMLElement {
  const { headings, rows, shown, words } = given;
  const numeric = headings.map((_, i) => i >= words);
  const groups = (of: string[][]) => table("Drives, places and workloads", headings, of, numeric);
  return h(
    "section",
    { id: "sweep", "aria-labelledby": "sweep-title" },
    h("h2", { id: "sweep-title" }, "Sweep"),
    groups(rows.slice(0, shown)),
    rows.length > shown
      ? fold(`${rows.length - shown} more, which throttle at fewer points`, () => [
          groups(rows.slice(shown)),
        ])
      : null,
    given.axes.length ? new SweepMaps(app, new SweepPoints(app, given)).element : null,
  );
}

/** Selects for axes, quantities and the values of other parameters, and the maps that they ask for. */
class SweepMaps {
  readonly element: HTMLElement;
  private readonly holder = h("div", {});
  private readonly choices = h("div", { class: "choices" });
  private readonly quantities: SweepQuantity[];
  private readonly shown = [0, 1];
  /** The axes across and down, by number; one if a single parameter varies. */
  private axes: number[];
  private values: number[];

  constructor(
    private readonly app: App,
    private readonly points: SweepPoints,
  ) {
    this.quantities = quantities(points);
    this.values = [...points.worst];
    const size = (i: number) => points.axes[i]?.values.length ?? 0;
    const scaled = (i: number) => Number(points.axes[i]?.numbers !== null);
    const [first = 0, second] = points.axes
      .map((_, i) => i)
      .sort((a, b) => scaled(b) - scaled(a) || size(b) - size(a));
    // long names stand better in rows
    const pair = second === undefined ? [first] : scaled(first) ? [first, second] : [second, first];
    this.axes = pair;
    this.element = h("div", { class: "sweep" }, this.choices, this.holder);
    this.ask();
    this.show();
  }

  /** Makes the selects. */
  private ask(): void {
    const { axes } = this.points;
    const labels = axes.map(({ label }) => capital(label));
    const titles = this.quantities.map(({ title, unit }) => `${title}, ${unit}`);
    const ofAxes =
      axes.length < 2
        ? []
        : ["Across", "Down"].map((name, side) =>
            select(name, labels, this.axes[side] ?? 0, (to) => {
              const other = this.axes[1 - side] ?? 0;
              // the axis that was here goes where the chosen one was
              const before = this.axes[side] ?? 0;
              this.axes[1 - side] = other === to ? before : other;
              this.axes[side] = to;
              this.ask();
              this.show();
              this.choices.querySelector<HTMLElement>(`[aria-label="${name}"]`)?.focus();
            }),
          );
    const ofOthers = axes.flatMap(({ label, values }, i) =>
      this.axes.includes(i)
        ? []
        : [
            select(capital(label), values, this.values[i] ?? 0, (to) => {
              this.values[i] = to;
              this.show();
            }),
          ],
    );
    const ofMaps = ["First map", "Second map"].map((name, map) =>
      select(name, titles, this.shown[map] ?? 0, (to) => {
        this.shown[map] = to;
        this.show();
      }),
    );
    this.choices.replaceChildren(...ofAxes, ...ofOthers, ...ofMaps);
  }

  /** The values of all parameters at a place of the maps. */
  private at([column, row]: Place): number[] {
    const values = [...this.values];
    const [across = 0, down] = this.axes;
    values[across] = column;
    if (down !== undefined) values[down] = row;
    return values;
  }

  private show(): void {
    unstage(this.holder);
    this.holder.replaceChildren(stage(this.figure()));
  }

  private figure(): MapFigure {
    const { points, values } = this;
    const [across = 0, down] = this.axes;
    const others = points.axes.flatMap((_, i) =>
      this.axes.includes(i) ? [] : [points.valueWords(i, values[i] ?? 0)],
    );
    const detail = [...others, points.given.fixed].filter(Boolean).join(", ");
    const of = this.axes.map((i) => points.axes[i]?.label ?? "").join(" and ");
    return new MapFigure(this.app, {
      title: `Maps by ${of}`,
      detail,
      notes: ["The line goes around what is likelier than not to throttle."],
      columns: this.axis(across),
      rows: down === undefined ? NO_AXIS : this.axis(down),
      quantities: this.shown.flatMap((i) => {
        const found = this.quantities[i];
        return found
          ? [{ ...found, cell: (place: Place) => found.cell(points.at(this.at(place))) }]
          : [];
      }),
      words: (place) => points.words(this.at(place), this.axes),
      impossible: points.hasImpossible ? "too hot even at rest" : null,
      own: null,
      start: [values[across] ?? 0, down === undefined ? 0 : (values[down] ?? 0)],
      heading: this.app.page.title,
      csv: () => this.rows(),
    });
  }

  private axis(i: number): MapAxis {
    const { label, values, numbers, unit } = this.points.axes[i] ?? EMPTY;
    const name = capital(label);
    return new MapAxis({
      title: [label, ...(numbers ? [unit] : [])].join(", "),
      name,
      before: `${name}:`,
      labels: numbers?.map((one) => number(one)) ?? values,
      words: (value) => values[value] ?? "",
      numbers,
    });
  }

  /** What the maps show, as a table. */
  private rows(): string[] {
    const { points } = this;
    const [columns = 1, rows = 1] = this.axes.map((i) => points.axes[i]?.values.length ?? 1);
    const places = Array.from({ length: columns * rows }, (_, i) =>
      this.at([i % columns, Math.floor(i / columns)]),
    );
    return csv(
      [...points.axes.map(({ id }) => id), ...points.names],
      places.map((values) => [
        ...points.axes.map(({ numbers, values: texts }, i) => (numbers ?? texts)[values[i] ?? 0]),
        ...points.names.map((name) => points.get(name, points.at(values))),
      ]),
    );
  }
}

const EMPTY = { label: "", values: [] as string[], numbers: null, unit: "" };
const NO_AXIS = new MapAxis({
  title: "",
  name: "",
  before: "",
  labels: [""],
  words: () => "",
  numbers: null,
});

function select(
  name: string,
  options: readonly string[],
  chosen: number,
  changed: (to: number) => void,
): HTMLElement {
  const made = h(
    "select",
    { "aria-label": name },
    options.map((text, i) =>
      h("option", { value: i, selected: i === chosen }, shortened(text, 80)),
    ),
  );
  made.addEventListener("change", () => changed(Number(made.value)));
  return h("label", {}, h("span", {}, name), made);
}
