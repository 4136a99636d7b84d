// An axis of a map: where its cells are, by the numbers that they stand for, and which are labelled.

import { marks, ticks } from "../data/format";

/** What a map's axis is given. */
export interface AxisInfo {
  /** What varies, with its unit. */
  title: string;
  /** The name of its slider, and what stands before the value there. */
  name: string;
  before: string;
  /** A short label for each value, and the value in words. */
  labels: readonly string[];
  words: (i: number) => string;
  /** Rising; null for names, which are drawn equally wide and from the top. */
  numbers: readonly number[] | null;
}

/** Below this share of an equal width, cells of a scaled axis are too narrow to be seen. */
const NARROW = 0.25;

export class MapAxis {
  /** Where each cell begins, and where the last ends: 0 to 1. */
  readonly edges: readonly number[];
  private readonly scale: ((of: number) => number) | null;

  constructor(readonly info: AxisInfo) {
    const { numbers, labels } = info;
    const even = Array.from({ length: labels.length + 1 }, (_, i) => i / labels.length);
    const scales = numbers && numbers.length > 1 ? scalesOf(numbers) : [];
    const [best] = scales
      .map((scale) => ({ scale, edges: edgesOf((numbers ?? []).map(scale)) }))
      .sort((a, b) => narrowest(b.edges) - narrowest(a.edges));
    const isScaled = best && narrowest(best.edges) * labels.length >= NARROW;
    this.edges = isScaled ? best.edges : even;
    this.scale = isScaled ? best.scale : null;
  }

  get count(): number {
    return this.info.labels.length;
  }

  /** Where a cell begins and how wide it is, on an axis of a length; rising numbers from the end. */
  cell(i: number, length: number, isFromEnd = false): [number, number] {
    const [from, to] = [this.edges[i] ?? 0, this.edges[i + 1] ?? 1];
    return [length * (isFromEnd ? 1 - to : from), length * (to - from)];
  }

  /** The cell at a place, 0 to 1. */
  at(place: number): number | null {
    if (place < 0 || place >= 1) return null;
    return this.edges.findIndex((edge) => edge > place) - 1;
  }

  /**
   * Labels and their places, 0 to 1, at least `room` apart on an axis of a length: of the cells, one
   * of which is sure to be there; or round numbers, if most cells would have none.
   */
  ticks(length: number, room: number, sure: number): { text: string; place: number; i: number }[] {
    const middle = (i: number) => ((this.edges[i] ?? 0) + (this.edges[i + 1] ?? 1)) / 2;
    const shown = [sure];
    for (const step of [1, -1]) {
      let last = sure;
      for (let i = sure + step; i >= 0 && i < this.count; i += step) {
        if (Math.abs(middle(i) - middle(last)) * length < room) continue;
        shown.push(i);
        last = i;
      }
    }
    if (this.scale && this.count > 4 * shown.length) return this.round(Math.floor(length / room));
    return shown.map((i) => ({ text: this.info.labels[i] ?? "", place: middle(i), i }));
  }

  private round(most: number): { text: string; place: number; i: number }[] {
    const { scale } = this;
    const numbers = this.info.numbers ?? [];
    const [first, last] = [numbers[0] ?? 0, numbers.at(-1) ?? 0];
    if (!scale) return [];
    const found = ticks(first, last, most);
    const [low, high] = [scale(first), scale(last)];
    const [from, to] = [(this.edges[1] ?? 0) / 2, (1 + (this.edges[this.count - 1] ?? 1)) / 2];
    const texts = marks(found);
    return found.map((of, n) => ({
      text: texts[n] ?? "",
      place: from + ((to - from) * (scale(of) - low)) / (high - low),
      i: -1,
    }));
  }
}

function scalesOf(numbers: readonly number[]): ((of: number) => number)[] {
  return (numbers[0] ?? 0) > 0 ? [(of) => of, Math.log] : [(of) => of];
}

/** Edges half-way between values, from 0 to 1. */
function edgesOf(values: readonly number[]): number[] {
  const between = values.slice(1).map((value, i) => (value + (values[i] ?? 0)) / 2);
  const [first, last] = [values[0] ?? 0, values.at(-1) ?? 0];
  const low = 2 * first - (between[0] ?? first);
  const high = 2 * last - (between.at(-1) ?? last);
  return [low, ...between, high].map((edge) => (edge - low) / (high - low));
}

function narrowest(edges: readonly number[]): number {
  return Math.min(...edges.slice(1).map((edge, i) => edge - (edges[i] ?? 0)));
}
