import assert from "node:assert/strict";
import { test } from "node:test";
import { Series } from "../src/data/series";

/** Numbers that look like chance and are the same each time. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

function made(count: number, seed: number, gapS = 1): Series {
  const next = chance(seed);
  const t = Float64Array.from({ length: count }, (_, i) => i * 0.1 + 0.05 * next());
  const v = Float64Array.from({ length: count }, () => 1000 * next());
  return new Series(t, v, gapS);
}

function extremes(series: Series, picked: readonly number[]): [number, number] {
  const values = picked.map((i) => series.v(i));
  return [Math.min(...values), Math.max(...values)];
}

test("what is picked holds the least and the greatest of any stretch, whatever its length", () => {
  const series = made(20_000, 3);
  const next = chance(7);
  for (let round = 0; round < 200; round++) {
    const from = Math.floor(next() * 19_000);
    const to = from + 1 + Math.floor(next() * (20_000 - from - 1));
    const most = 20 + Math.floor(next() * 2000);
    const picked = series.pick(from, to, most);
    const all = Array.from({ length: to - from }, (_, i) => from + i);
    assert.deepEqual(extremes(series, picked), extremes(series, all), `${from} to ${to}`);
    assert.equal(picked[0], from);
    assert.equal(picked.at(-1), to - 1);
    assert.ok(
      picked.every((index, i) => i === 0 || index > (picked[i - 1] ?? 0)),
      "rising",
    );
  }
});

test("each part of a stretch keeps its own dip", () => {
  const count = 864_000;
  const t = Float64Array.from({ length: count }, (_, i) => i * 0.1);
  const v = new Float64Array(count).fill(500);
  const dips = Array.from({ length: 50 }, (_, i) => 8_000 + i * 17_111);
  for (const dip of dips) v[dip] = 3;
  const series = new Series(t, v, 1);
  const picked = series.pick(0, count, 3_000);
  assert.ok(picked.length < 10_000, `${picked.length} are few`);
  for (const dip of dips) assert.ok(picked.includes(dip), `${dip}`);
});

test("a short stretch is given as it is", () => {
  const series = made(5_000, 1);
  assert.deepEqual(series.pick(100, 105, 50), [100, 101, 102, 103, 104]);
  assert.deepEqual(series.pick(100, 100, 50), []);
});

test("no line is drawn over a gap, and the samples beside it are kept", () => {
  const t = Float64Array.from({ length: 10_000 }, (_, i) => (i < 5_000 ? i * 0.1 : 1000 + i * 0.1));
  const series = new Series(t, new Float64Array(10_000).fill(1), 0.5);
  assert.ok(!series.joined(4_999, 5_000));
  assert.ok(!series.joined(4_000, 6_000));
  assert.ok(series.joined(0, 4_999));
  assert.ok(series.joined(5_000, 9_999));
  const picked = series.pick(0, 10_000, 100);
  assert.ok(picked.includes(4_999) && picked.includes(5_000));
});

test("the nearest sample is found, and none within a gap", () => {
  const series = new Series(Float64Array.of(0, 1, 2, 50), Float64Array.of(5, 6, 7, 8), 1.5);
  assert.equal(series.nearest(1.4), 1);
  assert.equal(series.nearest(1.6), 2);
  assert.equal(series.nearest(-0.5), 0);
  assert.equal(series.nearest(51), 3);
  assert.equal(series.nearest(20), -1);
  assert.equal(new Series(new Float64Array(), new Float64Array(), 1).nearest(0), -1);
});

test("samples added one after another are as if they had always been there", () => {
  const whole = made(9_000, 11);
  const cut = [0, 1, 30, 33, 500, 4_000, 9_000];
  const grown = new Series(new Float64Array(), new Float64Array(), 1);
  const all = Array.from({ length: 9_000 }, (_, i) => i);
  for (let i = 1; i < cut.length; i++) {
    // Some come twice, as after a broken connection.
    const part = all.slice(Math.max(0, (cut[i - 1] ?? 0) - 20), cut[i]);
    grown.append(
      part.map((j) => whole.t(j)),
      part.map((j) => whole.v(j)),
    );
  }
  assert.equal(grown.length, whole.length);
  assert.deepEqual(grown.pick(0, 9_000, 200), whole.pick(0, 9_000, 200));
  assert.deepEqual(grown.extent(), whole.extent());
});
