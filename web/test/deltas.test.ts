import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, logMarks, roomyLog } from "../src/chart/axes";
import { shortened, signed } from "../src/data/format";

test("zero is on the axis, and an interval far too wide does not hide the others", () => {
  const delta = (at: number, low: number, high: number) => ({
    name: [],
    at,
    range: { low, mid: at, high, of: "drives" as const },
    verdict: "",
  });
  const { low, high, ticks } = axisOf([delta(10, 8, 12), delta(5, -90, 4000)]);
  assert.ok(ticks.includes(0));
  assert.ok(low < 0 && low > -40);
  assert.ok(high < 40);
});

test("labels of a logarithmic axis are fewer where there is little room", () => {
  assert.equal(logMarks(1, 4, 20).length, 10);
  assert.ok(logMarks(1, 4, 6.5).length <= 7);
  assert.equal(logMarks(1, 4, 3).length, 4);
  assert.equal(logMarks(Math.log10(7500), Math.log10(20_000), 9).length, 3); // 10, 15, 20 thousand
});

test("seconds without any I/O do not take most of a logarithmic axis", () => {
  const [low, high] = roomyLog([0, 10_000]);
  assert.ok(low > 0.1 && high > 10_000);
});

test("a long name keeps its end", () => {
  assert.equal(shortened("short", 10), "short");
  const cut = shortened(`${"x".repeat(80)} rev 2`, 30);
  assert.equal(cut.length, 30);
  assert.ok(cut.endsWith(" rev 2"));
});

test("what arithmetic leaves of nothing is zero", () => {
  assert.equal(signed(-1.6e-14, "%"), "0 %");
  assert.equal(signed(0.21, "%"), "+0.2 %");
});
