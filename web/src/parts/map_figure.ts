// Maps of the same cells, side by side: a cursor that sliders, pointer and keys move, a sentence for
// the cell that it is on, and what the colours mean.

import type { App } from "../app";
import { imageOf, Sheet } from "../chart/canvas";
import { saveButtons } from "../chart/save";
import type { Drawn } from "../chart/stage";
import { button, h, unbroken } from "../dom";
import { colors, type Shade } from "../style/colors";
import { shade } from "../style/theme";
import { type Cell, type CellMap, cellMap, type Place } from "./cell_map";
import type { MapAxis } from "./map_axis";

/** What one map shows. */
export interface Quantity {
  title: string;
  unit: string;
  /** The ends of its scale in words, the harmless one first; null if no cell has a share. */
  ends: readonly [string, string] | null;
  /** What cells without a share are. */
  calm: string | null;
  cell: (place: Place) => Cell;
}

export interface MapsInfo {
  title: string;
  /** What all cells have in common. */
  detail: string;
  notes: readonly string[];
  columns: MapAxis;
  /** One row if a single parameter varies. */
  rows: MapAxis;
  quantities: readonly Quantity[];
  words: (place: Place) => string;
  /** What cells are that cannot be, if there are any. */
  impossible: string | null;
  /** The place that was recorded, which the cursor can go back to. */
  own: { at: Place; throttled: boolean; words: string } | null;
  start: Place;
  /** The heading of a saved picture. */
  heading: string;
  csv: () => string[];
}

export class MapFigure implements Drawn {
  readonly element: HTMLElement;
  place: Place;
  private readonly said = h("p", { class: "said point", "aria-live": "polite" });
  private readonly sliders: Slider[];
  private readonly asItWas: HTMLButtonElement | null;
  private readonly parts: { quantity: Quantity; holder: HTMLElement; legend: HTMLElement }[];
  private maps: CellMap[] = [];

  constructor(
    private readonly app: App,
    private readonly info: MapsInfo,
  ) {
    const { own, columns, rows } = info;
    this.place = info.start;
    this.sliders = [
      new Slider(columns, (column) => this.go([column, this.place[1]])),
      new Slider(rows, (row) => this.go([this.place[0], row])),
    ];
    this.asItWas = own
      ? button("As it was", () => this.go(own.at), {
          title: "Go back to the place as it was recorded",
        })
      : null;
    this.parts = info.quantities.map((quantity) => ({
      quantity,
      holder: h("div", { class: "cell-map" }),
      legend: h("p", { class: "map-legend" }),
    }));
    const save = saveButtons(info.title, () => this.picture(), info.csv);
    this.element = h(
      "figure",
      { class: "maps", "aria-label": info.title },
      h("p", { class: "detail" }, info.detail),
      h("div", { class: "tools" }, this.asItWas, h("span", { class: "grow" }), save),
      this.said,
      h(
        "div",
        { class: "sliders" },
        this.sliders.filter(({ count }) => count > 1).map(({ element }) => element),
      ),
      h(
        "div",
        { class: "pair" },
        this.parts.map(({ quantity, holder, legend }) =>
          h(
            "div",
            {},
            h("h4", {}, quantity.title, quantity.unit ? h("span", {}, `, ${quantity.unit}`) : null),
            holder,
            legend,
          ),
        ),
      ),
      info.notes.map((note) => h("p", { class: "held" }, note)),
    );
    this.tell(this.place);
    this.mark();
  }

  draw(of: Shade, width: number | null): void {
    this.maps = [];
    for (const { quantity, holder, legend } of this.parts) {
      const own = width ?? holder.clientWidth;
      if (own === 0) return;
      const map = this.map(quantity, own, of);
      this.maps.push(map);
      const at = (event: PointerEvent, then: (place: Place) => void) => {
        const place = map.at(event);
        if (place) then(place);
      };
      map.element.addEventListener("pointerdown", (event) => at(event, (to) => this.go(to)));
      map.element.addEventListener("pointermove", (event) => at(event, (to) => this.tell(to)));
      map.element.addEventListener("pointerleave", () => this.tell(this.place));
      holder.replaceChildren(map.element);
      legend.replaceChildren(...this.legend(quantity, of));
    }
  }

  private go(place: Place): void {
    this.place = place;
    this.mark();
    this.tell(place);
  }

  /** Shows where the cursor stays. */
  private mark(): void {
    const { own } = this.info;
    this.sliders.forEach((slider, i) => slider.set(this.place[i] ?? 0));
    if (this.asItWas) this.asItWas.disabled = String(own?.at) === String(this.place);
  }

  /** Says what a cell is, and shows which. */
  private tell(place: Place): void {
    this.said.replaceChildren(h("span", {}, unbroken(this.info.words(place))));
    this.maps.forEach((map, i) => {
      map.put(place);
      map.element.setAttribute("aria-label", this.label(this.parts[i]?.quantity, place));
    });
  }

  private label(quantity: Quantity | undefined, place: Place): string {
    const { columns, rows, words } = this.info;
    const by = [columns, rows].filter(({ count }) => count > 1).map(({ info }) => info.name);
    return `${quantity?.title}, ${quantity?.unit}, by ${by.join(" and ").toLowerCase()}. ${words(place)}`;
  }

  private map(quantity: Quantity, width: number, of: Shade): CellMap {
    const { columns, rows, own } = this.info;
    const label = this.label(quantity, this.place);
    const { cell, calm } = quantity;
    const map = cellMap({ columns, rows, cell, label, calm: calm ?? "", own }, width, of);
    map.put(this.place);
    return map;
  }

  private legend({ ends, calm }: Quantity, of: Shade): Node[] {
    const { own, impossible } = this.info;
    const { heat, calm: back, grid } = colors(of);
    const chip = (kind: string, words: string, style: string | null = null) =>
      h("span", { class: "unbroken" }, h("span", { class: `chip ${kind}`, style }), words);
    const scale = h("span", {
      class: "chip wide",
      style: `background: linear-gradient(to right, ${heat.join(",")})`,
    });
    return [
      ...(ends ? [h("span", { class: "unbroken" }, `${ends[0]} `, scale, ends[1])] : []),
      ...(calm ? [chip("", calm, `background: ${back}`)] : []),
      chip("hatched", "10 to 90 % likely"),
      ...(own ? [chip(own.throttled ? "ring" : "ring broken", own.words)] : []),
      ...(impossible ? [chip("hatched", impossible, `background-color: ${grid}`)] : []),
    ];
  }

  private async picture(): Promise<HTMLCanvasElement> {
    const { info } = this;
    const shades = colors(shade());
    const sheet = new Sheet(1200, 2, shades.paper);
    sheet.paragraph(info.heading, shades.ink, 22, 650);
    sheet.paragraph(info.detail, shades.soft, 14);
    sheet.paragraph(info.words(this.place), shades.ink, 15);
    sheet.y += 12;
    const width = (1200 - 2 * sheet.margin - 32) / 2;
    const top = sheet.y + 22;
    let bottom = top;
    for (const [i, quantity] of info.quantities.entries()) {
      const left = sheet.margin + i * (width + 32);
      const image = await imageOf(this.map(quantity, width, shade()).element);
      const title = [quantity.title, quantity.unit].filter(Boolean).join(", ");
      sheet.text(title, left, top - 6, shades.ink, { weight: 650 });
      sheet.act((ctx) => {
        ctx.drawImage(image, left, top, image.width, image.height);
      });
      bottom = Math.max(bottom, top + image.height);
    }
    sheet.y = bottom + 8;
    const ring = info.own ? ` Ring: ${info.own.words.replace(":", ",")}.` : "";
    sheet.paragraph(`Hatched: 10 to 90 % likely.${ring}`, shades.soft, 13);
    for (const note of info.notes) sheet.paragraph(note, shades.soft, 13);
    sheet.paragraph(this.app.origin, shades.soft, 11);
    return sheet.finish();
  }
}

/** A slider along an axis, with its value in words. */
class Slider {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly text = h("output", {});

  constructor(
    private readonly axis: MapAxis,
    moved: (to: number) => void,
  ) {
    this.input = h("input", {
      type: "range",
      min: 0,
      max: axis.count - 1,
      step: 1,
      "aria-label": axis.info.name,
      input: () => moved(Number(this.input.value)),
    });
    this.element = h("label", {}, h("span", {}, `${axis.info.before} `, this.text), this.input);
  }

  get count(): number {
    return this.axis.count;
  }

  set(to: number): void {
    const words = this.axis.info.words(to);
    this.input.value = String(to);
    this.text.textContent = words;
    this.input.setAttribute("aria-valuetext", words);
  }
}
