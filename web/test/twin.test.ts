import assert from "node:assert/strict";
import { test } from "node:test";
import type { CoolingMap, Range } from "../src/contract";
import { airWords, pointWords, recordedWords, resistanceWords } from "../src/parts/twin_words";

const range = (low: number, mid: number, high: number): Range => ({
  low,
  mid,
  high,
  of: "drives",
  level: 0.9,
});

const MAP: CoolingMap = {
  place: "slot top",
  workload: "sequential read, 128k, QD32",
  duration_s: 600,
  recordings: 3,
  throttled: 2,
  full_mb_s: 3400,
  air_c: [24.3, 28.3, 32.3],
  own_air: 1,
  air_range_c: range(25, 28.3, 31),
  k_per_w: [4.5, 9],
  own_k_per_w: 1,
  cliff: null,
  throttles: [0, 0.02, 0.63, 1, 0.97, null],
  onset_s: [
    null,
    range(90, 90, 90),
    range(80, 100, 130),
    range(110, 140, 180),
    range(20, 30, 40),
    null,
  ],
  depth_pct: [null, range(6, 6, 6), range(5, 8, 12), range(40, 44, 47), range(97, 100, 100), null],
  throttled_mb_s: [
    null,
    range(3200, 3200, 3200),
    range(3000, 3128, 3200),
    range(1800, 1900, 2000),
    range(0, 0, 9),
    null,
  ],
  max_temp_c: [60.2, 70.4, 80, 81, 99, null],
};

test("a point says when it throttles and what becomes of its speed", () => {
  assert.equal(
    pointWords(MAP, 0, 1),
    "At 24 C air (4 K cooler than it was) and 9 K/W to the air (as it was): " +
      "throttles after 140 s (90 %: 110 to 180): 3,400 MB/s become 1,900 (-44 %).",
  );
});

test("what is as good as sure has no probability, and what is open has one", () => {
  assert.match(pointWords(MAP, 1, 0), /does not throttle in 10 min; 70 C by its own sensor/);
  assert.match(pointWords(MAP, 2, 0), /throttles, 63 % likely, after 100 s \(90 %: 80 to 130\)/);
  assert.doesNotMatch(pointWords(MAP, 0, 1), /likely/);
});

test("a drive that gets too hot is said to, at rest or under load", () => {
  assert.match(pointWords(MAP, 2, 1), /cannot be there even at rest/);
  assert.match(pointWords(MAP, 1, 1), /shuts itself down/);
});

test("the place as it was is called so", () => {
  assert.match(pointWords(MAP, 1, 1), /^As it was, at 28 C air and 9 K\/W to the air: /);
  assert.equal(airWords(MAP, 2), "32 C air (4 K warmer than it was)");
  assert.equal(resistanceWords(MAP, 0), "4.5 K/W to the air (0.5 times what it was)");
  assert.equal(recordedWords(MAP), "as it was: throttled in 2 of 3 recordings there");
});

test("with a cache that fills up, heat's share is of what is left", () => {
  const cached = { ...MAP, cliff: "Without heat its write cache is full after 2 min: -60 %." };
  const said = pointWords(cached, 0, 1);
  assert.match(said, /-44 % of its speed in the worst minute, 1,900 MB\/s/);
  assert.doesNotMatch(said, /3,400/);
});
