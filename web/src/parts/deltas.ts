// Differences from the baseline with their intervals, around a line at zero.

import type { App } from "../app";
import { axisOf } from "../chart/axes";
import { FONT, Sheet } from "../chart/canvas";
import { saveButtons } from "../chart/save";
import type { Drawn } from "../chart/stage";
import type { Delta } from "../contract";
import { capital, fitted, number, signed } from "../data/format";
import { h, svg } from "../dom";
import { colors, type Shade } from "../style/colors";
import { causeLook } from "../style/causes";
import { shade } from "../style/theme";
import { extent, rowLabels } from "./row_labels";

const ROW = 24;
const AXIS = 26;
/** Longer labels are shortened even where there is room. */
const MOST_LETTERS = 48;

function colorOf({ verdict }: Delta, of: Shade): string {
  if (verdict === "better") return causeLook("spare-area")[of];
  if (verdict === "worse") return causeLook("thermal")[of];
  return colors(of).soft;
}

/** The chart of a comparison. */
export class Deltas implements Drawn {
  readonly element: HTMLElement;
  private readonly holder = h("div", { class: "bar-holder" });

  constructor(
    private readonly app: App,
    private readonly title: string,
    private readonly given: readonly Delta[],
    csv: () => string[],
    /** Of the differences: `%`, `pp` or `K`. */
    private readonly unit = "%",
  ) {
    this.element = h(
      "figure",
      { class: "deltas", style: `--height: ${given.length * ROW + AXIS}px` },
      h(
        "div",
        { class: "tools" },
        h("p", { class: "detail grow" }, `${title}, ${this.units()}`),
        saveButtons(title, () => this.picture(), csv),
      ),
      this.holder,
    );
  }

  private units(): string {
    const whiskers = this.given.some((one) => one.range) ? "; whiskers: 95 % intervals" : "";
    return `in ${this.unit}${whiskers}.`;
  }

  draw(of: Shade, width: number | null): void {
    const whole = width ?? this.holder.clientWidth;
    if (whole > 0) this.holder.replaceChildren(this.drawing(of, whole));
  }

  private drawing(of: Shade, whole: number): SVGSVGElement {
    const { given } = this;
    const shades = colors(of);
    const place = this.geometry(whole);
    const { labels } = place;
    const bottom = given.length * labels.row;
    const drawn = svg("svg", {
      width: whole,
      height: bottom + AXIS,
      "font-family": FONT,
      role: "img",
      "aria-label": `${this.title}. ${given.map((one) => `${one.name.join(", ")} ${signed(one.at, this.unit)}`).join("; ")}`,
    });
    for (const tick of place.ticks) {
      const x = place.x(tick);
      const stroke = tick === 0 ? shades.ink : shades.grid;
      // not through labels above the rows
      const d = given.map((_, i) => {
        const y = i * labels.row + labels.middle;
        return `M${x} ${y - ROW / 2}V${y + ROW / 2}`;
      });
      drawn.append(
        svg("path", { d: d.join(""), stroke, "stroke-width": tick === 0 ? 1.4 : 1 }),
        svg(
          "text",
          { x, y: bottom + 17, "text-anchor": "middle", fill: shades.soft, "font-size": 12 },
          tick > 0 ? `+${number(tick)}` : number(tick),
        ),
      );
    }
    given.forEach((one, i) => {
      const top = i * labels.row;
      const y = top + labels.middle;
      const color = colorOf(one, of);
      drawn.append(
        svg(
          "text",
          {
            x: labels.x,
            y: top + labels.y,
            "text-anchor": labels.anchor,
            fill: shades.ink,
            "font-size": 13,
          },
          fitted(one.name, labels.letters),
          svg("title", {}, one.name.join(", ")),
        ),
      );
      if (one.range) {
        const [a, b] = [place.x(one.range.low), place.x(one.range.high)];
        drawn.append(
          svg("path", {
            d: `M${a} ${y - 4}V${y + 4}M${a} ${y}H${b}M${b} ${y - 4}V${y + 4}`,
            stroke: color,
            "stroke-width": 1.5,
            fill: "none",
          }),
        );
      }
      drawn.append(
        svg("circle", {
          cx: place.x(one.at),
          cy: y,
          r: 4.5,
          fill: one.range ? color : shades.paper,
          stroke: color,
          "stroke-width": 1.5,
        }),
        svg(
          "text",
          {
            x: whole,
            y: y + 4,
            "text-anchor": "end",
            fill: color,
            "font-size": 13,
            "font-weight": 600,
          },
          signed(one.at, this.unit),
        ),
      );
    });
    return drawn;
  }

  private geometry(width: number) {
    const { low, high, ticks } = axisOf(this.given);
    const longest = Math.max(...this.given.map(({ name }) => extent(name.join(", "))));
    const labels = rowLabels(width, Math.min(longest, MOST_LETTERS), ROW);
    const { left } = labels;
    const figure = 24 + 8 * Math.max(...this.given.map(({ at }) => signed(at, this.unit).length));
    const plot = Math.max(40, width - left - figure);
    // a narrow chart has room for fewer ticks
    const every = Math.ceil(ticks.length / Math.max(2, plot / 52));
    const zero = ticks.indexOf(0);
    const x = (v: number) =>
      left + ((Math.min(high, Math.max(low, v)) - low) / (high - low)) * plot;
    const kept = ticks.filter((_, i) => (i - zero) % every === 0);
    return { labels, x, ticks: kept };
  }

  private async picture(): Promise<HTMLCanvasElement> {
    const shades = colors(shade());
    const sheet = new Sheet(1200, 2, shades.paper);
    sheet.paragraph(this.title, shades.ink, 22, 650);
    sheet.paragraph(capital(this.units()), shades.soft, 14);
    sheet.y += 12;
    await sheet.drawing(this.drawing(shade(), 1200 - 2 * sheet.margin));
    sheet.y += 8;
    sheet.paragraph(this.app.origin, shades.soft, 11);
    return sheet.finish();
  }
}
