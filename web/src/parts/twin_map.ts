// Maps of when and how far a drive throttles, by air and by resistance to it, with a cursor that
// sliders move and a sentence for the point that it is on.

import type { App } from "../app";
import { Sheet } from "../chart/canvas";
import { saveButtons } from "../chart/save";
import { type Drawn, stage, unstage } from "../chart/stage";
import type { CoolingMap } from "../contract";
import { csv } from "../data/csv";
import { cut, duration, number, value } from "../data/format";
import { button, h, svg, unbroken } from "../dom";
import { colors, type Shade } from "../style/colors";
import { ramp } from "../style/ramp";
import { shade } from "../style/theme";
import { airWords, kPerW, pointAt, pointWords, recordedWords, resistanceWords } from "./twin_words";

/** From one of these probabilities to the other it is open whether a drive throttles. */
const OPEN = [0.1, 0.9] as const;
const GUTTER = 38;
const RIGHT = 4;
const HEAD = 20;
const FOOT = 38;
const ROW = 30;

interface Metric {
  id: "onset_s" | "depth_pct";
  title: string;
  unit: string;
  /** How bad a value is, from 0 to 1. */
  share: (given: CoolingMap, of: number) => number;
  /** The ends of the scale, in words. */
  ends: (given: CoolingMap) => [string, string];
}

const METRICS: Metric[] = [
  {
    id: "onset_s",
    title: "Throttles after",
    unit: "s",
    share: (given, of) => {
      const [soonest, late] = [earliest(given), given.duration_s];
      return 1 - Math.log(Math.max(of, 1) / soonest) / Math.log(Math.max(late / soonest, 1.01));
    },
    ends: (given) => [duration(given.duration_s), duration(earliest(given))],
  },
  {
    id: "depth_pct",
    title: "Speed lost in the worst minute",
    unit: "%",
    share: (given, of) => of / deepest(given),
    ends: (given) => ["0\u202f%", value(Math.round(deepest(given)), "%")],
  },
];

function earliest({ onset_s }: CoolingMap): number {
  return Math.max(1, Math.min(...onset_s.map((one) => one?.[1] ?? Number.POSITIVE_INFINITY)));
}

function deepest({ depth_pct }: CoolingMap): number {
  return Math.max(1, ...depth_pct.map((one) => one?.[1] ?? 0));
}

/** The maps: one at a time, which the reader chooses if there are several. */
export function coolingMaps(app: App, given: readonly CoolingMap[]): HTMLElement | null {
  const [first] = given;
  if (!first) return null;
  let shown = new Maps(app, first);
  const holder = h("div", {}, stage(shown));
  if (given.length === 1) return holder;
  const select = h("select", { "aria-label": "Place" });
  given.forEach(({ place }, i) => select.append(h("option", { value: i }, cut(place, 80))));
  select.addEventListener("change", () => {
    const chosen = given[Number(select.value)];
    if (!chosen) return;
    unstage(holder);
    shown = new Maps(app, chosen);
    holder.replaceChildren(stage(shown));
  });
  return h("div", {}, h("label", { class: "places" }, "Place ", select), holder);
}

class Maps implements Drawn {
  readonly element: HTMLElement;
  private column: number;
  private row: number;
  private readonly said = h("p", { class: "said point", "aria-live": "polite" });
  private readonly air: HTMLInputElement;
  private readonly resistance: HTMLInputElement;
  private readonly airText = h("output", {});
  private readonly resistanceText = h("output", {});
  private readonly asItWas: HTMLButtonElement;
  private readonly parts = METRICS.map((metric) => ({
    metric,
    holder: h("div", { class: "cooling-map" }),
    legend: h("p", { class: "cooling-legend" }),
  }));

  constructor(
    private readonly app: App,
    private readonly given: CoolingMap,
  ) {
    this.column = given.own_air;
    this.row = given.own_k_per_w;
    this.air = this.slider(given.air_c.length, "Air at the drive", () => {
      this.go(Number(this.air.value), this.row);
    });
    this.resistance = this.slider(given.k_per_w.length, "Resistance to the air", () => {
      this.go(this.column, Number(this.resistance.value));
    });
    this.asItWas = button("As it was", () => this.go(given.own_air, given.own_k_per_w), {
      title: "Go back to the place as it was recorded",
    });
    const title = `Cooling of ${given.place}`;
    const save = saveButtons(
      title,
      () => this.picture(),
      () => this.table(),
    );
    this.element = h(
      "figure",
      { class: "cooling", "aria-label": title },
      h("p", { class: "detail" }, this.detail()),
      h("div", { class: "tools" }, this.asItWas, h("span", { class: "grow" }), save),
      this.said,
      h(
        "div",
        { class: "sliders" },
        h("label", {}, h("span", {}, "Air at the drive: ", this.airText), this.air),
        h(
          "label",
          {},
          h(
            "span",
            {},
            "Heatsink or airflow that brings the resistance to the air to ",
            this.resistanceText,
          ),
          this.resistance,
        ),
      ),
      h(
        "div",
        { class: "pair" },
        this.parts.map(({ metric, holder, legend }) =>
          h(
            "div",
            {},
            h("h4", {}, metric.title, h("span", {}, `, ${metric.unit}`)),
            holder,
            legend,
          ),
        ),
      ),
      this.notes().map((note) => h("p", { class: "held" }, note)),
    );
    this.tell();
  }

  draw(of: Shade, width: number | null): void {
    for (const { metric, holder, legend } of this.parts) {
      const own = width ?? holder.clientWidth;
      if (own === 0) return;
      const map = this.map(metric, own, of, true);
      map.addEventListener("pointerdown", (event) => this.point(map, event));
      holder.replaceChildren(map);
      legend.replaceChildren(...this.legend(metric, of));
    }
  }

  private slider(count: number, label: string, moved: () => void): HTMLInputElement {
    return h("input", {
      type: "range",
      min: 0,
      max: count - 1,
      step: 1,
      "aria-label": label,
      input: moved,
    });
  }

  private detail(): string {
    const { workload, duration_s, full_mb_s, place } = this.given;
    return `${place}: ${workload} for ${duration(duration_s)}, ${number(full_mb_s)} MB/s from rest`;
  }

  private notes(): string[] {
    const { air_range_c, air_c, own_air, cliff } = this.given;
    const [low, high] = air_range_c;
    const own = value(Math.round(air_c[own_air] ?? 0), "C");
    return [
      "The resistance is that of the whole way from the board to the air. " +
        `The air was ${own} (${Math.round(low)} to ${Math.round(high)}) by the fit: ` +
        "how much warmer or cooler it gets is known better than its temperature.",
      ...(cliff ? [cliff] : []),
    ];
  }

  private go(column: number, row: number): void {
    this.column = column;
    this.row = row;
    this.tell();
    this.draw(shade(), null);
  }

  private tell(): void {
    const { given, column, row } = this;
    this.said.replaceChildren(h("span", {}, unbroken(pointWords(given, column, row))));
    this.air.value = String(column);
    this.resistance.value = String(row);
    const [air, resistance] = [airWords(given, column), resistanceWords(given, row)];
    this.airText.textContent = air.replace(" air", "");
    this.resistanceText.textContent = resistance.replace(" to the air", "");
    this.air.setAttribute("aria-valuetext", air);
    this.resistance.setAttribute("aria-valuetext", resistance);
    this.asItWas.disabled = column === given.own_air && row === given.own_k_per_w;
  }

  private point(map: SVGSVGElement, event: PointerEvent): void {
    const { left, top, width } = map.getBoundingClientRect();
    const [columns, rows] = [this.given.air_c.length, this.given.k_per_w.length];
    const cell = (width - GUTTER - RIGHT) / columns;
    const column = Math.floor((event.clientX - left - GUTTER) / cell);
    const row = rows - 1 - Math.floor((event.clientY - top - HEAD) / ROW);
    if (column >= 0 && column < columns && row >= 0 && row < rows) this.go(column, row);
  }

  /** One map; `hasCursor` also draws where the sliders are. */
  private map(metric: Metric, width: number, of: Shade, hasCursor: boolean): SVGSVGElement {
    const { given } = this;
    const shades = colors(of);
    const [columns, rows] = [given.air_c.length, given.k_per_w.length];
    const cell = (width - GUTTER - RIGHT) / columns;
    const x = (column: number) => GUTTER + column * cell;
    const y = (row: number) => HEAD + (rows - 1 - row) * ROW;
    const made = svg("svg", {
      width,
      height: HEAD + rows * ROW + FOOT,
      role: "img",
      "aria-label": `${metric.title}, ${metric.unit}, by air temperature and resistance to the air. ${pointWords(given, this.column, this.row)}`,
      "font-size": 12,
      "font-family": "system-ui, sans-serif",
    });
    const text = (words: string, at: [number, number], attributes = {}) =>
      made.append(svg("text", { x: at[0], y: at[1], fill: shades.soft, ...attributes }, words));
    let edges = "";
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        this.cell(made, metric, of, column, row, [x(column), y(row), cell]);
        const is = this.throttles(column, row);
        const [right, above] = [x(column) + cell, y(row)];
        if (column + 1 < columns && is !== this.throttles(column + 1, row)) {
          edges += `M${right} ${above}v${ROW}`;
        }
        if (row + 1 < rows && is !== this.throttles(column, row + 1)) {
          edges += `M${x(column)} ${above}h${cell}`;
        }
      }
    }
    made.append(
      svg("path", { d: edges, stroke: shades.ink, "stroke-width": 2, fill: "none", class: "edge" }),
    );
    this.word(made, of, x, y, cell);
    this.ring(made, of, [x(given.own_air) + cell / 2, y(given.own_k_per_w) + ROW / 2], cell);
    if (hasCursor) {
      made.append(
        svg("rect", {
          x: x(this.column) + 1,
          y: y(this.row) + 1,
          width: cell - 2,
          height: ROW - 2,
          fill: "none",
          stroke: shades.ink,
          "stroke-width": 2.5,
          class: "cursor",
        }),
      );
    }
    const every = cell < 24 ? 2 : 1;
    given.air_c.forEach((air, column) => {
      const isOwn = column === given.own_air;
      if ((column - given.own_air) % every !== 0) return;
      text(String(Math.round(air)), [x(column) + cell / 2, HEAD + rows * ROW + 15], {
        "text-anchor": "middle",
        ...(isOwn ? { fill: shades.ink, "font-weight": 700 } : {}),
      });
    });
    given.k_per_w.forEach((resistance, row) => {
      text(kPerW(resistance), [GUTTER - 6, y(row) + ROW / 2 + 4], {
        "text-anchor": "end",
        ...(row === given.own_k_per_w ? { fill: shades.ink, "font-weight": 700 } : {}),
      });
    });
    text("K/W to the air", [0, 12]);
    text("air at the drive, °C", [width - RIGHT, HEAD + rows * ROW + 33], { "text-anchor": "end" });
    return made;
  }

  private throttles(column: number, row: number): boolean {
    return (this.given.throttles[pointAt(this.given, column, row)] ?? 1) >= 0.5;
  }

  private cell(
    into: SVGElement,
    metric: Metric,
    of: Shade,
    column: number,
    row: number,
    [left, top, width]: [number, number, number],
  ): void {
    const { given } = this;
    const shades = colors(of);
    const at = pointAt(given, column, row);
    const probability = given.throttles[at] ?? null;
    const found = given[metric.id][at]?.[1] ?? null;
    const isHot = probability !== null && probability >= 0.5 && found !== null;
    const { back, ink } = isHot
      ? ramp(shades.heat, metric.share(given, found))
      : { back: probability === null ? shades.grid : colors(of).calm, ink: shades.ink };
    into.append(
      svg("rect", { x: left, y: top, width: width + 0.5, height: ROW + 0.5, fill: back }),
    );
    if (probability === null || (probability > OPEN[0] && probability < OPEN[1])) {
      into.append(svg("path", { d: hatch(left, top, width), stroke: ink, opacity: 0.45 }));
    }
    if (!isHot || width < 20) return;
    into.append(
      svg(
        "text",
        {
          x: left + width / 2,
          y: top + ROW / 2 + 4,
          "text-anchor": "middle",
          fill: ink,
          "font-size": width < 26 ? 10 : 11.5,
        },
        String(Math.round(found)),
      ),
    );
  }

  /** Says in the map itself where the drive does not throttle, if there is room. */
  private word(
    into: SVGElement,
    of: Shade,
    x: (column: number) => number,
    y: (row: number) => number,
    cell: number,
  ): void {
    const { given } = this;
    const words = "does not throttle";
    const run = (row: number) => {
      const first = given.air_c.findIndex(
        (_, column) => (given.throttles[pointAt(given, column, row)] ?? 1) > OPEN[0],
      );
      return first < 0 ? given.air_c.length : first;
    };
    const rows = given.k_per_w.map((_, row) => row).filter((row) => run(row) * cell > 116);
    const row = rows[Math.floor(rows.length / 2)];
    if (row === undefined || (row === given.own_k_per_w && given.own_air * cell < 116)) return;
    into.append(
      svg(
        "text",
        { x: x(0) + 8, y: y(row) + ROW / 2 + 4, fill: colors(of).ink, "font-weight": 600 },
        words,
      ),
    );
  }

  /** A ring around the place as it was; broken if the drive did not throttle there. */
  private ring(into: SVGElement, of: Shade, [cx, cy]: [number, number], cell: number): void {
    const { paper, ink } = colors(of);
    const r = Math.min(cell, ROW) / 2 - 1.5;
    const dash = this.given.throttled ? null : "4 3";
    for (const [stroke, width] of [
      [paper, 4.5],
      [ink, 2],
    ] as const) {
      into.append(
        svg("circle", {
          cx,
          cy,
          r,
          fill: "none",
          stroke,
          "stroke-width": width,
          "stroke-dasharray": stroke === ink ? dash : null,
        }),
      );
    }
  }

  private legend(metric: Metric, of: Shade): Node[] {
    const [mild, bad] = metric.ends(this.given);
    const chip = (style: string, words: string, kind = "") =>
      h("span", { class: "unbroken" }, h("span", { class: `chip ${kind}`, style }), words);
    const found = [
      h(
        "span",
        { class: "unbroken" },
        `${mild} `,
        h("span", {
          class: "chip wide",
          style: `background: linear-gradient(to right, ${colors(of).heat.join(",")})`,
        }),
        bad,
      ),
      chip(`background: ${colors(of).calm}`, "does not throttle"),
      chip("", "10 to 90 % likely", "hatched"),
      chip("", recordedWords(this.given), this.given.throttled ? "ring" : "ring broken"),
    ];
    if (this.given.throttles.includes(null)) {
      found.push(chip(`background-color: ${colors(of).grid}`, "too hot even at rest", "hatched"));
    }
    return found;
  }

  private table(): string[] {
    const { given } = this;
    const range = (name: string) => [`${name}_low`, name, `${name}_high`];
    const rows = given.k_per_w.flatMap((resistance, row) =>
      given.air_c.map((air, column) => {
        const at = pointAt(given, column, row);
        const three = (of: readonly ([number, number, number] | null)[]) =>
          of[at] ?? [null, null, null];
        return [
          given.place,
          air,
          resistance,
          given.throttles[at],
          ...three(given.onset_s),
          ...three(given.depth_pct),
          ...three(given.throttled_mb_s),
          given.max_temp_c[at],
        ];
      }),
    );
    return csv(
      [
        ...["place", "air_c", "k_per_w", "throttles"],
        ...[...range("onset_s"), ...range("depth_pct"), ...range("throttled_mb_s")],
        "max_reported_temp_c",
      ],
      rows,
    );
  }

  private async picture(): Promise<HTMLCanvasElement> {
    const shades = colors(shade());
    const sheet = new Sheet(1200, 2, shades.paper);
    sheet.paragraph(`Cooling: ${this.app.page.title}`, shades.ink, 22, 650);
    sheet.paragraph(this.detail(), shades.soft, 14);
    sheet.paragraph(pointWords(this.given, this.column, this.row), shades.ink, 15);
    sheet.y += 12;
    const width = (1200 - 2 * sheet.margin - 32) / 2;
    const top = sheet.y + 22;
    let bottom = top;
    for (const [i, metric] of METRICS.entries()) {
      const left = sheet.margin + i * (width + 32);
      const image = await imageOf(this.map(metric, width, shade(), true));
      sheet.text(`${metric.title}, ${metric.unit}`, left, top - 6, shades.ink, { weight: 650 });
      sheet.act((ctx) => {
        ctx.drawImage(image, left, top, image.width, image.height);
      });
      bottom = Math.max(bottom, top + image.height);
    }
    sheet.y = bottom + 8;
    const words = `Hatched: 10 to 90 % likely. Ring: ${recordedWords(this.given).replace(":", ",")}.`;
    sheet.paragraph(words, shades.soft, 13);
    for (const note of this.notes()) sheet.paragraph(note, shades.soft, 13);
    sheet.paragraph(this.app.origin, shades.soft, 11);
    return sheet.finish();
  }
}

/** Strokes over a cell, from the upper right to the lower left. */
function hatch(left: number, top: number, width: number): string {
  let path = "";
  for (let s = 5; s < width + ROW; s += 7) {
    const [ax, ay] = [Math.min(s, width), Math.max(0, s - width)];
    const [bx, by] = [Math.max(0, s - ROW), Math.min(s, ROW)];
    path += `M${left + ax} ${top + ay}L${left + bx} ${top + by}`;
  }
  return path;
}

/** A drawing as a picture that a canvas takes. */
async function imageOf(drawing: SVGSVGElement): Promise<HTMLImageElement> {
  const image = new Image(
    Number(drawing.getAttribute("width")),
    Number(drawing.getAttribute("height")),
  );
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(drawing))}`;
  await image.decode();
  return image;
}
