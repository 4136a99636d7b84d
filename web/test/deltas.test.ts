import assert from "node:assert/strict";
import { test } from "node:test";
import { logMarks, roomyLog } from "../src/chart/axes";
import type { ComparisonRow } from "../src/contract";
import { shortened, signed } from "../src/data/format";
import { axisOf, deltasOf } from "../src/parts/delta_axis";

function row(step: string, metric: string, changes: Partial<ComparisonRow> = {}): ComparisonRow {
  return {
    step,
    metric,
    title: metric.split("_")[0],
    protocol: "p",
    workload: "random write, 4k",
    group: "fins",
    delta_pct: 10,
    ci95_pct: [8, 12],
    verdict: "better",
    ...changes,
  } as unknown as ComparisonRow;
}

const two = { groups: ["none", "fins"] };

test("steps are told apart by their names, and rates of one step by theirs", () => {
  const steps = ["a", "b"].map((step) => row(step, "mean_iops"));
  assert.deepEqual(
    deltasOf(two, steps).map(({ name }) => name),
    [["A"], ["B"]],
  );
  const rates = ["mean_iops", "low_iops"].map((metric) => row("w", metric));
  assert.deepEqual(
    deltasOf(two, rates).flatMap(({ name }) => name),
    ["Mean", "Low"],
  );
});

test("zero is on the axis, and an interval far too wide does not hide the others", () => {
  const delta = (at: number, low: number, high: number) => ({
    name: [],
    at,
    low,
    high,
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
  assert.equal(signed(-1.6e-14, "%"), "0\u202f%");
  assert.equal(signed(0.21, "%"), "+0.2\u202f%");
});
