// A map of cells over two axes as a drawing: how bad each is, where it begins to be bad, and where
// the cursor is.

import { FONT } from "../chart/canvas";
import { shortened } from "../data/format";
import { svg } from "../dom";
import { colors, type Shade, ramp } from "../style/colors";
import type { MapAxis } from "./map_axis";

/** Column and row. */
export type Place = readonly [number, number];

export interface Cell {
  /** How bad it is, 0 to 1; null where it is not. */
  share: number | null;
  text: string;
  throttles: boolean;
  /** Whether it is open if it throttles, or it cannot be at all. */
  isHatched: boolean;
  isPossible: boolean;
}

export interface CellMap {
  element: SVGSVGElement;
  /** Moves the cursor. */
  put: (place: Place) => void;
  /** The cell at a point of the screen. */
  at: (event: { clientX: number; clientY: number }) => Place | null;
}

/** What a map shows. */
export interface MapContent {
  columns: MapAxis;
  rows: MapAxis;
  cell: (place: Place) => Cell;
  label: string;
  /** Written into the map where nothing throttles, if there is room. */
  calm: string;
  /** A place that is ringed; broken if nothing throttled there. */
  own: { at: Place; throttled: boolean } | null;
}

const HEAD = 20;
const RIGHT = 4;
const ROW = 30;
/** A scaled axis need not have so much for each value. */
const TALLEST = 360;
const MIN_GUTTER_PX = 38;
/** Names of columns that have less room stand upright, and take so much. */
const UPRIGHT = 110;
/** About the width of a letter, as a share of the font's size. */
const LETTER = 0.6;
const SIZE = 12;
/** Colours are this many, so that cells of one colour are one path. */
const SHADES = 64;

/** Draws a map. */
export function cellMap(given: MapContent, width: number, of: Shade): CellMap {
  const { columns, rows } = given;
  const found = Array.from({ length: rows.count }, (_, row) =>
    Array.from({ length: columns.count }, (_, column) => given.cell([column, row])),
  );
  const shades = colors(of);
  const isRising = rows.info.numbers !== null;
  const tall = isRising ? Math.min(rows.count * ROW, TALLEST) : rows.count * rowOf(rows.count);
  const gutter = Math.min(
    Math.max(MIN_GUTTER_PX, 8 + widest(rows.info.labels)),
    Math.max(MIN_GUTTER_PX, width * 0.36),
  );
  const wide = width - gutter - RIGHT;
  const longest = Math.min(UPRIGHT, widest(columns.info.labels));
  const isUpright = columns.info.numbers === null && longest * columns.count > wide;
  const foot = isUpright ? longest + 26 : 38;
  const box = ([column, row]: Place) => {
    const [x, w] = columns.cell(column, wide);
    const [y, h] = rows.cell(row, tall, isRising);
    return { x: gutter + x, y: HEAD + y, w, h };
  };
  const element = svg("svg", {
    width,
    height: HEAD + tall + foot,
    role: "img",
    "aria-label": given.label,
    "font-size": SIZE,
    "font-family": FONT,
  });
  const text = (words: string, x: number, y: number, attributes = {}) =>
    element.append(svg("text", { x, y, fill: shades.soft, ...attributes }, words));
  const anchored = (is: boolean) => (is ? { fill: shades.ink, "font-weight": 700 } : {});

  cells(element, found, box, of);
  calmWord(element, given, found, box, of);
  if (given.own) ring(element, box(given.own.at), given.own.throttled, of);
  const cursor = svg("rect", {
    fill: "none",
    stroke: shades.ink,
    "stroke-width": 2.5,
    class: "cursor",
  });
  element.append(cursor);

  const [ownColumn, ownRow] = given.own?.at ?? [0, 0];
  const isScaled = columns.info.numbers !== null;
  const room = isUpright ? SIZE : isScaled ? widest(columns.info.labels) * 0.75 + 6 : 0;
  const bottom = HEAD + tall;
  for (const { text: words, place, i } of columns.ticks(wide, room, ownColumn)) {
    const x = gutter + place * wide;
    const style = anchored(given.own !== null && i === ownColumn);
    if (isUpright) {
      const shown = shortened(words, Math.floor((foot - 26) / (LETTER * SIZE)));
      const turned = { transform: `rotate(-90 ${x} ${bottom + 6})`, "text-anchor": "end" };
      text(shown, x, bottom + 6 + SIZE / 3, { ...turned, ...style });
    } else {
      const most = isScaled ? words.length : Math.floor(wide / columns.count / (LETTER * SIZE));
      const shown = shortened(words, most);
      const half = (shown.length * SIZE * LETTER) / 2;
      const inside = Math.min(x, width - half);
      text(shown, inside, bottom + 15, { "text-anchor": "middle", ...style });
    }
  }
  for (const { text: words, place, i } of rows.ticks(tall, SIZE + 1, ownRow)) {
    const y = HEAD + (isRising ? 1 - place : place) * tall;
    const shown = shortened(words, Math.floor((gutter - 6) / (LETTER * SIZE)));
    text(shown, gutter - 6, y + 4, {
      "text-anchor": "end",
      ...anchored(given.own !== null && i === ownRow),
    });
  }
  text(rows.info.title, 0, 12);
  text(columns.info.title, width - RIGHT, bottom + foot - 5, { "text-anchor": "end" });

  return {
    element,
    put: (place) => {
      const { x, y, w, h } = box(place);
      const at = { x: x + 1, y: y + 1, width: Math.max(1, w - 2), height: Math.max(1, h - 2) };
      for (const [name, value] of Object.entries(at)) cursor.setAttribute(name, String(value));
    },
    at: ({ clientX, clientY }) => {
      const { left, top, width: shown } = element.getBoundingClientRect();
      const k = width / shown;
      const down = ((clientY - top) * k - HEAD) / tall;
      const column = columns.at(((clientX - left) * k - gutter) / wide);
      const row = rows.at(isRising ? 1 - down : down);
      return column === null || row === null ? null : [column, row];
    },
  };
}

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

function rowOf(count: number): number {
  return count > 12 ? 20 : ROW;
}

/** About the width of the widest of some labels. */
function widest(labels: readonly string[]): number {
  return LETTER * SIZE * labels.reduce((most, label) => Math.max(most, label.length), 0);
}

/** The cells, their figures, and the line where they begin to throttle. */
function cells(
  into: SVGElement,
  all: readonly Cell[][],
  box: (place: Place) => Box,
  of: Shade,
): void {
  const shades = colors(of);
  const fills = new Map<string, string>();
  const strokes = new Map<string, string>();
  const add = (to: Map<string, string>, color: string, path: string) => {
    to.set(color, (to.get(color) ?? "") + path);
  };
  const texts: SVGElement[] = [];
  let edges = "";
  for (const [row, across] of all.entries()) {
    for (const [column, found] of across.entries()) {
      const right = across[column + 1];
      const next = all[row + 1]?.[column];
      const { x, y, w, h } = box([column, row]);
      const { back, ink } =
        found.share !== null
          ? ramp(shades.heat, Math.round(found.share * SHADES) / SHADES)
          : { back: found.isPossible ? shades.calm : shades.grid, ink: shades.ink };
      // cells overlap a little, so that no seam is seen
      add(
        fills,
        back,
        `M${round(x)} ${round(y)}h${round(w + 0.5)}v${round(h + 0.5)}h${-round(w + 0.5)}z`,
      );
      if (found.isHatched) add(strokes, ink, hatch(x, y, w, h));
      if (right && found.throttles !== right.throttles) {
        edges += `M${round(x + w)} ${round(y)}v${round(h)}`;
      }
      if (next && found.throttles !== next.throttles) {
        edges += `M${round(x)} ${round(Math.max(y, box([column, row + 1]).y))}h${round(w)}`;
      }
      const size = w < 26 ? 10 : 11.5;
      const isFitting = found.text.length * size * LETTER <= w - 2 && h >= size + 2;
      if (found.text && isFitting) {
        const style = { "text-anchor": "middle", fill: ink, "font-size": size };
        texts.push(svg("text", { x: x + w / 2, y: y + h / 2 + 4, ...style }, found.text));
      }
    }
  }
  for (const [fill, d] of fills) into.append(svg("path", { d, fill }));
  for (const [stroke, d] of strokes) into.append(svg("path", { d, stroke, opacity: 0.45 }));
  const line = { stroke: shades.ink, "stroke-width": 2, fill: "none" };
  into.append(svg("path", { d: edges, ...line, class: "edge" }), ...texts);
}

/** Says in the map itself where nothing throttles, if there is room. */
function calmWord(
  into: SVGElement,
  { calm, own }: MapContent,
  all: readonly Cell[][],
  box: (place: Place) => Box,
  of: Shade,
): void {
  const least = calm.length * SIZE * 0.56 + 16;
  const found: { x: number; y: number }[] = [];
  for (const [row, across] of all.entries()) {
    let begin = 0;
    for (const [column, cell] of across.entries()) {
      const isOwn = own?.at[0] === column && own.at[1] === row;
      const isTaken = cell.share !== null || !cell.isPossible || cell.isHatched || isOwn;
      if (isTaken) begin = column + 1;
      const [first, last] = [box([begin, row]), box([column, row])];
      if (isTaken || last.x + last.w - first.x < least || first.h < SIZE + 2) continue;
      found.push({ x: first.x + 8, y: first.y + first.h / 2 + 4 });
      break;
    }
  }
  const place = found[Math.floor(found.length / 2)];
  if (!place) return;
  into.append(svg("text", { ...place, fill: colors(of).ink, "font-weight": 600 }, calm));
}

function ring(into: SVGElement, { x, y, w, h }: Box, throttled: boolean, of: Shade): void {
  const { paper, ink } = colors(of);
  for (const [stroke, width] of [
    [paper, 4.5],
    [ink, 2],
  ] as const) {
    into.append(
      svg("circle", {
        cx: x + w / 2,
        cy: y + h / 2,
        r: Math.min(w, h) / 2 - 1.5,
        fill: "none",
        stroke,
        "stroke-width": width,
        "stroke-dasharray": stroke === ink && !throttled ? "4 3" : null,
      }),
    );
  }
}

/** Strokes over a cell, from the upper right to the lower left; they go on in the next cell. */
function hatch(left: number, top: number, width: number, height: number): string {
  let path = "";
  const first = Math.ceil((left + top) / 7) * 7;
  for (let sum = first; sum < left + top + width + height; sum += 7) {
    const s = sum - left - top;
    const [ax, ay] = [Math.min(s, width), Math.max(0, s - width)];
    const [bx, by] = [Math.max(0, s - height), Math.min(s, height)];
    path += `M${round(left + ax)} ${round(top + ay)}L${round(left + bx)} ${round(top + by)}`;
  }
  return path;
}

function round(of: number): number {
  return Math.round(of * 100) / 100;
}
