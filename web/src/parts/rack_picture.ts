// A rack as a picture: hosts as rows, places as columns, a tile for each drive.

import type { Drawn } from "../chart/stage";
import type { RackDriveLine, RackSection, RackTile } from "../contract";
import { capital, shortened, value } from "../data/format";
import { button, h } from "../dom";
import { colors, type Shade, ramp } from "../style/colors";

/** Where no drive is further from its model than this share, all get one pale colour. */
const ALIKE = 0.02;
const PALE = 0.1;

/** Marks of drives, for those that do not see colours too. */
export const MARKS = { fails: "✗", throttles: "▲", open: "?", unlike: "≠", passes: "" } as const;

function stateOf({ verdict, is_unlike }: RackDriveLine): keyof typeof MARKS {
  return verdict === "passes" && is_unlike ? "unlike" : verdict;
}

const STATES = {
  fails: "does not pass",
  throttles: "slowed by heat",
  open: "perhaps slowed by heat",
  unlike: "passes, but is unlike others of its model",
  passes: "passes",
} as const;

/** Hosts as rows, places as columns, a tile for each drive. */
export class Picture implements Drawn {
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
    const measure = given.measures[this.chosen];
    const title = measure ? `${capital(measure.name)}, ${measure.value_unit}` : "The rack";
    const shares = this.shares();
    const head = (text: string) =>
      h(
        "th",
        { scope: "col", title: shortened(text, 300) },
        shortened(text || unnamed(column_label), 24),
      );
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
              h(
                "th",
                { scope: "row", title: shortened(row, 300) },
                shortened(row || unnamed(row_label), 24),
              ),
              columns.map((_, x) => this.cell(y, x, shares, of)),
            ),
          ),
        ),
      ),
    );
  }

  private cell(y: number, x: number, shares: Map<RackTile, number>, of: Shade): HTMLElement {
    const tiles = this.given.tiles.filter(({ row, column }) => row === y && column === x);
    if (tiles.length === 0)
      return h("td", { class: "none" }, h("span", { class: "unseen" }, "no drive"));
    return h(
      "td",
      {},
      h(
        "div",
        { class: "tiles" },
        tiles.map((tile) => this.tile(tile, shares.get(tile), of)),
      ),
    );
  }

  private tile(tile: RackTile, share: number | undefined, of: Shade): HTMLElement {
    const { drives, measures } = this.given;
    const drive = drives[tile.drive] as RackDriveLine;
    const own = tile.values[this.chosen] ?? null;
    const { back, ink } =
      share === undefined ? { back: "", ink: "" } : ramp(colors(of).heat, share);
    const state = stateOf(drive);
    const figure = value(own, "");
    const text = `${drive.drive}, ${place(drive)}${value(own, measures[this.chosen]?.value_unit ?? "")}: ${STATES[state]}${drive.why[0] ? `, ${drive.why[0]}` : ""}`;
    const made = button(
      [
        h("b", {}, figure, MARKS[state] ? h("i", { "aria-hidden": "true" }, MARKS[state]) : null),
        h("small", {}, shortened(drive.drive, 9)),
        h("span", { class: "unseen" }, ` ${shortened(text, 400)}`),
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
        : [shortened(text, 400)]),
    );
  }

  /** How bad each tile's value is beside others of its model: from 0 to 1, over the whole rack. */
  private shares(): Map<RackTile, number> {
    const { drives, tiles, measures } = this.given;
    const known = tiles.flatMap((tile) => {
      const own = tile.values[this.chosen] ?? null;
      return own === null ? [] : [{ tile, own, model: drives[tile.drive]?.model ?? "" }];
    });
    const ofModel = new Map<string, number[]>();
    for (const { own, model } of known) ofModel.set(model, [...(ofModel.get(model) ?? []), own]);
    const middles = new Map([...ofModel].map(([model, all]) => [model, median(all)]));
    const offs = known.map(({ own, model }) => {
      const middle = middles.get(model) ?? 0;
      return middle === 0 ? 0 : (own - middle) / Math.abs(middle);
    });
    const [low, high] = [Math.min(...offs), Math.max(...offs)];
    const worse = measures[this.chosen]?.worse;
    const share = (off: number) =>
      high - low <= ALIKE
        ? PALE
        : worse === "high"
          ? (off - low) / (high - low)
          : (high - off) / (high - low);
    return new Map(known.map(({ tile }, i) => [tile, share(offs[i] ?? 0)]));
  }
}

function median(all: readonly number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
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
    { class: "map-legend" },
    h("span", {}, "A stronger colour is worse, beside others of the same model."),
    h("span", {}, `${MARKS.fails} does not pass`),
    h("span", {}, `${MARKS.throttles} slowed by heat`),
    h("span", {}, `${MARKS.open} perhaps slowed by heat`),
    h("span", {}, `${MARKS.unlike} unlike others of its model, but not worse`),
    h("span", {}, "– nothing measured"),
  );
}
