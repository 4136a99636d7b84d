import assert from "node:assert/strict";
import { test } from "node:test";
import type { App } from "../src/app";
import type { Packed, SweepAxis, SweepSection } from "../src/contract";
import { SweepPoints } from "../src/parts/sweep_points";

// no column of bytes: a packed column is here the number of its values
const COLUMNS: number[][] = [];
const app = {
  column: (packed: Packed) => Float64Array.from(COLUMNS[packed.at] ?? []),
} as unknown as App;

function packed(values: number[]): Packed {
  COLUMNS.push(values);
  return { at: COLUMNS.length - 1, count: values.length, width: 1, per_unit: 1 };
}

function column(values: (number | null)[]) {
  const known = values.map((one) => Number(one !== null));
  return { known: packed(known), values: packed(values.filter((one) => one !== null)) };
}

const axis = (id: string, prefix: string, values: string[]): SweepAxis => ({
  id,
  label: id,
  prefix,
  values,
  numbers: null,
  unit: "",
});
const range = (name: string, unit: string, values: (number | null)[]) =>
  Object.fromEntries(
    ["low", "mid", "high"].map((end, i) => [
      `${name}_${end}_${unit}`,
      column(values.map((one) => (one === null ? null : one + i))),
    ]),
  );

const SECTION: SweepSection = {
  axes: [axis("drive", "", ["one", "two"]), axis("heatsink", "heatsink ", ["none", "large"])],
  fixed: "",
  headings: [],
  words: 0,
  rows: [],
  shown: 0,
  duration_s: 600,
  level: 0.9,
  columns: {
    throttles: column([1, 0, null, 0.6]),
    ...range("onset", "s", [60, null, null, 300]),
    ...range("depth", "pct", [40, null, null, null]),
    ...range("throttled", "mb_s", [900, null, null, null]),
    ...range("max_reported_temp", "c", [80, 50, null, 70]),
  },
};

const points = new SweepPoints(app, SECTION);
const words = (values: number[]) => points.words(values, [0, 1]);

test("a point says when it throttles, and what is lost and left", () => {
  assert.equal(
    words([0, 0]),
    "one, heatsink none: throttles after 61 s (90 %: 60 to 62): -41 % (90 %: 40 to 42) in the worst minute, " +
      "901 MB/s (90 %: 900 to 902) left; 81 C (90 %: 80 to 82) at most.",
  );
});

test("a point that holds says so", () => {
  assert.match(words([0, 1]), /holds its full speed; 51 C \(90 %: 50 to 52\) at most\.$/);
});

test("a point that cannot be says nothing else", () => {
  assert.match(words([1, 0]), /: so hot that the drive cannot be there even at rest\.$/);
});

test("of a recorded workload it is known when it is held back, not how far", () => {
  assert.match(words([1, 1]), /throttles, 60 % likely, after 301 s \(90 %: 300 to 302\); 71 C/);
});

test("the worst point is where heat takes most", () => {
  assert.deepEqual(points.worst, [0, 0]);
});
