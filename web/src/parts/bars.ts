// A score with one bar per condition, and 95 % confidence intervals as whiskers.

import type { App } from "../app";
import { FONT, Sheet } from "../chart/canvas";
import { saveButtons } from "../chart/save";
import { type Drawn, stage } from "../chart/stage";
import type { BarChart } from "../contract";
import { csv } from "../data/csv";
import { shortened, span, UNKNOWN, value } from "../data/format";
import { fold, h, svg, table } from "../dom";
import { lineColor } from "../style/lines";
import { colors, type Shade } from "../style/colors";
import { shade } from "../style/theme";
import { NARROW, type RowLabels, rowLabels } from "./row_labels";
import { columnName } from "./track_csv";

const ROW = 26;

/** A section with all bar charts: the scores, and behind them the means of steps. */
export function bars(app: App, given: readonly BarChart[]): HTMLElement | null {
  if (given.length === 0) return null;
  const scores = given.filter((one) => one.is_score);
  const means = given.filter((one) => !one.is_score);
  return h(
    "section",
    { id: "scores", "aria-labelledby": "scores-title" },
    h("h2", { id: "scores-title" }, scores.length ? "Scores" : "Means"),
    h(
      "div",
      { class: scores.length > 1 ? "pair" : "" },
      scores.map((one) => bar(app, one)),
    ),
    means.length
      ? fold("The mean of each step", () => means.map((one) => bar(app, one)), given.length === 1)
      : null,
  );
}

function bar(app: App, one: BarChart): HTMLElement {
  return h(
    "section",
    { class: "bars", id: `bars-${one.id}` },
    h("h3", {}, one.title),
    h("p", { class: "detail" }, `${one.definition} ${capitalBetter(one)}`),
    stage(new Bars(app, one)),
    h("p", { class: "held" }, one.interval),
    figures(one),
  );
}

function capitalBetter({ better }: BarChart): string {
  return better === "higher" ? "Longer bars are better." : "Shorter bars are better.";
}

function figures(one: BarChart): HTMLElement {
  const hasBeside = one.bars.some((bar) => bar.beside);
  const range = hasBeside ? "Held, not held" : "95 % interval";
  const header = ["Run", one.unit, range, "Runs", "Power", "MB/s per W"];
  if (hasBeside) header.push("Full speed");
  const rows = one.bars.map((bar) => [
    bar.label,
    value(bar.value, one.unit),
    bar.range ? span([bar.range.low, bar.range.high], one.unit) : UNKNOWN,
    bar.runs,
    value(bar.power_w, "W"),
    value(bar.mb_s_per_w, ""),
    ...(hasBeside ? [bar.beside] : []),
  ]);
  const numeric = header.map((_, i) => i > 0);
  return fold("The figures as a table", () => [
    table(`${one.title}: figures`, header, rows, numeric),
  ]);
}

interface Geometry {
  labels: RowLabels;
  scale: (v: number) => number;
}

class Bars implements Drawn {
  readonly element: HTMLElement;
  private readonly holder = h("div", { class: "bar-holder" });

  constructor(
    private readonly app: App,
    private readonly given: BarChart,
  ) {
    const save = saveButtons(
      given.title,
      () => this.picture(),
      () => this.table(),
    );
    this.element = h(
      "figure",
      { style: `--height: ${given.bars.length * ROW}px` },
      h("div", { class: "tools" }, h("span", { class: "grow" }), save),
      this.holder,
    );
  }

  draw(of: Shade, width: number | null): void {
    const whole = width ?? this.holder.clientWidth;
    if (whole > 0) this.holder.replaceChildren(this.drawing(of, whole));
  }

  private drawing(of: Shade, whole: number): SVGSVGElement {
    const { given } = this;
    const shades = colors(of);
    const { labels, scale } = this.geometry(whole);
    const drawn = svg("svg", {
      width: whole,
      height: given.bars.length * labels.row + 4,
      "font-family": FONT,
      role: "img",
      "aria-label": `${given.title}, ${given.unit}: ${given.bars
        .slice(0, 40)
        .map((bar) => `${shortened(bar.label, 60)} ${value(bar.value, given.unit)}`)
        .join("; ")}`,
    });
    const isAbove = labels.anchor === "start";
    given.bars.forEach((bar, i) => {
      const top = i * labels.row;
      const middle = top + labels.middle;
      const color = lineColor(this.app.style(bar.recording), of);
      const end = scale(bar.value);
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
          shortened(bar.label, labels.letters - (isAbove ? bar.beside.length : 0)),
          svg("title", {}, shortened(bar.label, 300)),
        ),
        svg("rect", {
          x: labels.left,
          y: middle - 8,
          width: Math.max(0, end - labels.left),
          height: 16,
          fill: color,
        }),
      );
      let right = end;
      if (bar.range) {
        const [a, b] = [scale(bar.range.low), scale(bar.range.high)];
        right = Math.max(end, b);
        const whisker = `M${a} ${middle - 4}V${middle + 4}M${a} ${middle}H${b}M${b} ${middle - 4}V${middle + 4}`;
        drawn.append(
          svg("path", { d: whisker, stroke: shades.ink, "stroke-width": 1.3, fill: "none" }),
        );
      }
      drawn.append(
        svg(
          "text",
          { x: right + 7, y: middle + 4, fill: shades.ink, "font-size": 13, "font-weight": 600 },
          value(bar.value, given.unit),
        ),
      );
      if (bar.beside) {
        const x = right + 17 + 8 * value(bar.value, given.unit).length;
        const at = isAbove
          ? { x: whole, y: top + labels.y, "text-anchor": "end" }
          : { x, y: middle + 4 };
        drawn.append(svg("text", { ...at, fill: shades.soft, "font-size": 13 }, bar.beside));
      }
    });
    const axis = given.bars.map((_, i) => {
      const middle = i * labels.row + labels.middle;
      return `M${labels.left} ${middle - ROW / 2}V${middle + ROW / 2}`;
    });
    drawn.append(svg("path", { d: axis.join(""), stroke: shades.axis }));
    return drawn;
  }

  private geometry(width: number): Geometry {
    const { bars, unit } = this.given;
    const beside = Math.max(...bars.map((bar) => bar.beside.length));
    // where there is little room, what stands beside a bar goes above it, at the end of its label
    const above = width < NARROW ? beside : 0;
    const longest = Math.max(...bars.map((bar) => Math.min(bar.label.length, 40))) + above;
    const labels = rowLabels(width, longest, ROW);
    const most = Math.max(1e-9, ...bars.map((bar) => Math.max(bar.value, bar.range?.high ?? 0)));
    const letters = Math.max(...bars.map((bar) => value(bar.value, unit).length));
    const figure = 20 + 8 * (letters + (labels.anchor === "end" ? beside : 0));
    const plot = Math.max(40, width - labels.left - figure);
    return { labels, scale: (v) => labels.left + (Math.max(0, v) / most) * plot };
  }

  private table(): string[] {
    const { given } = this;
    const column = (name: string) => columnName(name, given.unit);
    return csv(
      ["line", column("value"), column("low"), column("high"), "runs", "power_w", "mb_s_per_w"],
      given.bars.map((bar) => [
        bar.label,
        bar.value,
        bar.range?.low,
        bar.range?.high,
        bar.runs,
        bar.power_w,
        bar.mb_s_per_w,
      ]),
    );
  }

  private async picture(): Promise<HTMLCanvasElement> {
    const { given } = this;
    const shades = colors(shade());
    const sheet = new Sheet(1200, 2, shades.paper);
    sheet.paragraph(`${given.title}, ${given.unit}`, shades.ink, 22, 650);
    sheet.paragraph(`${given.definition} ${capitalBetter(given)}`, shades.soft, 14);
    sheet.y += 12;
    await sheet.drawing(this.drawing(shade(), 1200 - 2 * sheet.margin));
    sheet.y += 12;
    sheet.paragraph(given.interval, shades.soft, 12);
    sheet.paragraph(this.app.origin, shades.soft, 11);
    return sheet.finish();
  }
}
