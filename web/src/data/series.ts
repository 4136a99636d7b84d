// A track's samples with a min/max pyramid: any stretch is drawn from few samples, without losing
// its extremes.

const FIRST = 32;
const STEP = 2;

/** Indices of the minimum and maximum of each whole block. */
interface Level {
  size: number;
  lo: number[];
  hi: number[];
}

export class Series {
  private times: Float64Array;
  private values: Float64Array;
  private count: number;
  private readonly levels: Level[] = [];
  /** Where a sample is followed by a gap, rising. */
  private readonly gaps: number[] = [];

  constructor(
    t: Float64Array,
    v: Float64Array,
    private readonly gapS: number,
  ) {
    this.times = t;
    this.values = v;
    this.count = Math.min(t.length, v.length);
    this.extend(0);
  }

  get length(): number {
    return this.count;
  }

  t(i: number): number {
    return this.times[i] ?? Number.NaN;
  }

  v(i: number): number {
    return this.values[i] ?? Number.NaN;
  }

  get first(): number {
    return this.t(0);
  }

  get last(): number {
    return this.t(this.count - 1);
  }

  /** Adds samples later than the last; earlier ones are already known and ignored. */
  append(t: readonly number[], v: readonly number[]): void {
    const before = this.count;
    const from = t.findIndex((value) => !(value <= this.last));
    if (from < 0) return;
    const total = before + Math.min(t.length, v.length) - from;
    if (total > this.times.length) {
      this.times = grown(this.times, total);
      this.values = grown(this.values, total);
    }
    this.times.set(t.slice(from, from + total - before), before);
    this.values.set(v.slice(from, from + total - before), before);
    this.count = total;
    this.extend(before);
  }

  /** The first sample not before `t`. */
  from(t: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.t(middle) < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The sample nearest to `t`, or -1 if none is within the gap. */
  nearest(t: number): number {
    const after = this.from(t);
    const i = after > 0 && t - this.t(after - 1) <= this.t(after) - t ? after - 1 : after;
    const found = i < this.count ? i : this.count - 1;
    return found >= 0 && Math.abs(this.t(found) - t) <= this.gapS ? found : -1;
  }

  /** Whether a line may join two samples, that is, there is no gap between them. */
  joined(a: number, b: number): boolean {
    let low = 0;
    let high = this.gaps.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.gaps[middle] ?? 0) < a) low = middle + 1;
      else high = middle;
    }
    return (this.gaps[low] ?? b) >= b;
  }

  /**
   * Samples that represent all in `[from, to)`, ascending: about `most` of them, with the minimum
   * and maximum of each block, those next to gaps, and the first and the last.
   */
  pick(from: number, to: number, most: number): number[] {
    const [a, b] = [Math.max(0, from), Math.min(this.count, to)];
    if (b <= a) return [];
    let level = -1;
    while (level + 1 < this.levels.length && (b - a) / this.sizeOf(level) > most / 2) level++;
    if (level < 0 || b - a <= most) return range(a, b);
    const found: number[] = [a];
    this.walk(level, a, b, found);
    found.push(b - 1);
    for (const gap of this.gaps) if (gap >= a && gap + 1 < b) found.push(gap, gap + 1);
    found.sort((x, y) => x - y);
    return found.filter((index, i) => index !== found[i - 1]);
  }

  /** Minimum and maximum in `[from, to)`; null if there are none. */
  extent(from = 0, to = this.count): [number, number] | null {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const i of this.pick(from, to, 64)) {
      const value = this.v(i);
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : null;
  }

  private sizeOf(level: number): number {
    return this.levels[level]?.size ?? 1;
  }

  private walk(level: number, from: number, to: number, found: number[]): void {
    const at = this.levels[level];
    if (!at) {
      for (let i = from; i < to; i++) found.push(i);
      return;
    }
    const first = Math.ceil(from / at.size);
    const last = Math.min(Math.floor(to / at.size), at.lo.length);
    if (last <= first) {
      this.walk(level - 1, from, to, found);
      return;
    }
    this.walk(level - 1, from, first * at.size, found);
    for (let i = first; i < last; i++) found.push(at.lo[i] ?? 0, at.hi[i] ?? 0);
    this.walk(level - 1, last * at.size, to, found);
  }

  private extend(from: number): void {
    for (let i = Math.max(from, 1); i < this.count; i++) {
      if (this.t(i) - this.t(i - 1) > this.gapS) this.gaps.push(i - 1);
    }
    for (let n = 0, size = FIRST; size <= this.count; n++, size *= STEP) {
      const level = this.levels[n] ?? { size, lo: [], hi: [] };
      this.levels[n] = level;
      const below = this.levels[n - 1];
      for (let block = level.lo.length; (block + 1) * size <= this.count; block++) {
        let [lo, hi] = [block * size, block * size];
        for (let i = 0; i < (below ? STEP : FIRST); i++) {
          const a = below ? (below.lo[block * STEP + i] ?? 0) : block * FIRST + i;
          const b = below ? (below.hi[block * STEP + i] ?? 0) : a;
          if (this.v(a) < this.v(lo)) lo = a;
          if (this.v(b) > this.v(hi)) hi = b;
        }
        level.lo.push(lo);
        level.hi.push(hi);
      }
    }
  }
}

function grown(values: Float64Array, least: number): Float64Array {
  const larger = new Float64Array(Math.max(least, values.length * 2, 1024));
  larger.set(values);
  return larger;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
