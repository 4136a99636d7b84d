import assert from "node:assert/strict";
import { test } from "node:test";
import { csv } from "../src/data/csv";
import {
  capital,
  clock,
  counted,
  duration,
  fileName,
  fitted,
  marks,
  number,
  ranged,
  shortened,
  signed,
  span,
  TIME_STEPS,
  timeMarks,
  titleOf,
  value,
  words,
} from "../src/data/format";
import { columnName } from "../src/parts/track_csv";
import { sorted } from "../src/parts/evidence";
import { ramp } from "../src/style/colors";
import cases from "./text.json";

const makers: Record<string, (...given: never[]) => string> = {
  number,
  value,
  difference: signed,
  duration,
  counted,
  span,
  ranged,
  shortened,
  capital,
  plain: words,
  title: titleOf,
};
/** What only a terminal shows. */
const elsewhere = ["signed", "share", "size", "listed"];

for (const [kind, expected] of Object.entries(cases)) {
  const make = makers[kind];
  if (!make && elsewhere.includes(kind)) continue;
  test(`page and terminal agree on the text of each ${kind}`, () => {
    for (const [text, ...given] of expected) assert.equal(make?.(...(given as never[])), text);
  });
}

test("what is not known is a dash", () => {
  assert.equal(number(Number.NaN), "–");
  assert.equal(value(null, "W"), "–");
});

test("times within a step are clocks", () => {
  assert.equal(clock(61.26), "61.3 s");
  assert.equal(clock(3661.26), "1:01:01.3");
  assert.equal(clock(3599.97), "1:00:00.0");
});

test("marks of a time axis differ from each other at any zoom", () => {
  for (const step of TIME_STEPS) {
    for (const from of [0, 300, 5000, 86_000]) {
      const first = Math.ceil(from / step) * step;
      const marks = Array.from({ length: 6 }, (_, i) => first + i * step);
      const texts = timeMarks(marks, step);
      assert.equal(new Set(texts).size, 6, `${step} from ${from}: ${texts.join(" ")}`);
    }
  }
});

test("of several texts in a line the longest are shortened, and short ones stay whole", () => {
  assert.equal(fitted(["write", "mean", "fins"], 40), "write, mean, fins");
  const label = fitted(["a".repeat(60), "end level", "b".repeat(60)], 41);
  assert.ok(label.length <= 41);
  assert.match(label, /^a+…a+, end level, b+…b+$/);
  assert.equal(fitted([], 10), "");
});

test("file names are plain whatever the title is", () => {
  assert.equal(fileName("Sequential write: 128k, QD32", "png"), "sequential-write-128k-qd32.png");
  assert.equal(fileName("../../etc/passwd\0", "csv"), "etc-passwd.csv");
  assert.equal(fileName("🔥", "csv"), "chart.csv");
  assert.ok(fileName("x".repeat(10_000), "csv").length < 100);
});

test("cells are quoted where they must be, and no cell is a formula", () => {
  const rows = [
    ['a "b", c', 1.5, null],
    ["=1+1", Number.NaN, undefined],
    ["two\nlines", -2, "x"],
    ["-5", "+1e3", "-5 C"],
    ["\uff1d1+1", "@x", "-"],
  ];
  assert.equal(
    csv(["n", "v (s)", ""], rows).join(""),
    'n,v (s),\r\n"a ""b"", c",1.5,\r\n\'=1+1,,\r\n"two\nlines",-2,x\r\n' +
      "-5,+1e3,'-5 C\r\n'\uff1d1+1,'@x,'-\r\n",
  );
});

test("a long table comes in pieces that together are all of it", () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => [i]);
  const pieces = csv(["i"], rows);
  assert.ok(pieces.length > 1);
  assert.deepEqual(
    pieces.join("").trimEnd().split("\r\n").slice(1),
    rows.map(([i]) => String(i)),
  );
});

test("columns are named with their units last", () => {
  assert.equal(columnName("throughput", "MB/s"), "throughput_mb_s");
  assert.equal(columnName("temperature", "C"), "temperature_c");
  assert.equal(columnName("latency", "µs"), "latency_us");
  assert.equal(columnName("iops", "IOPS"), "iops");
  assert.equal(columnName("level", ""), "level");
});

test("evidence is sorted into for, against and open, and nothing of it is lost", () => {
  const found = sorted([
    "open: it was 71 C",
    "for thermal: reads fell too",
    "against write-cache: it came back: at once",
    "for thermal: power fell",
    "something else",
  ]);
  assert.deepEqual(found, [
    { heading: "For: thermal", sentences: ["reads fell too", "power fell"] },
    { heading: "Against: write-cache", sentences: ["it came back: at once"] },
    { heading: "Open", sentences: ["it was 71 C"] },
    { heading: "Also", sentences: ["something else"] },
  ]);
});

test("letters on the heat map can be read on every colour", () => {
  const light = (hex: string): number => {
    const parts = hex.startsWith("#")
      ? [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16))
      : (hex.match(/\d+/g) ?? []).map(Number);
    const [r = 0, g = 0, b = 0] = parts.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (let i = 0; i <= 100; i++) {
    const { back, ink } = ramp(["#fdf6ee", "#f6c893", "#e07b39", "#a33b0b"], i / 100);
    const [a, b] = [light(back), light(ink)].sort((x, y) => y - x) as [number, number];
    assert.ok((a + 0.05) / (b + 0.05) >= 4.5, back);
  }
});

test("marks of an axis have the same number of digits", () => {
  assert.deepEqual(marks([0, 2.5, 5]), ["0.0", "2.5", "5.0"]);
  assert.deepEqual(marks([0, 500, 1000]), ["0", "500", "1,000"]);
  assert.deepEqual(marks([0.00001]), ["0.00001"]);
});
