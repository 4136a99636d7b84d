import assert from "node:assert/strict";
import { test } from "node:test";
import { MapAxis } from "../src/parts/map_axis";

function axis(numbers: number[] | null, labels = (numbers ?? []).map(String)): MapAxis {
  return new MapAxis({ title: "", name: "", before: "", labels, words: String, numbers });
}

function widths(of: MapAxis): number[] {
  return of.edges.slice(1).map((edge, i) => edge - (of.edges[i] ?? 0));
}

function almost(found: readonly number[], expected: readonly number[]): void {
  assert.equal(found.length, expected.length);
  found.forEach((one, i) => {
    assert.ok(Math.abs(one - (expected[i] ?? 0)) < 1e-9, found.join(" "));
  });
}

test("cells of names, and of numbers that rise evenly or by a factor, are equally wide", () => {
  almost(widths(axis(null, ["a", "b"])), [0.5, 0.5]);
  almost(widths(axis([20, 30, 40, 50])), [0.25, 0.25, 0.25, 0.25]);
  almost(widths(axis([1, 2, 4, 8])), [0.25, 0.25, 0.25, 0.25]);
});

test("numbers that are further apart have wider cells", () => {
  almost(
    axis([0, 10, 30]).edges,
    [0, 10 / 45, 25 / 45, 1].map((at, i) => (i ? at : 0)),
  );
});

test("numbers of a scale on which some could not be seen are drawn equally wide", () => {
  almost(widths(axis([0, 0.1, 1000])), [1 / 3, 1 / 3, 1 / 3]);
});

test("each place has the cell that is drawn there", () => {
  const of = axis([0, 10, 30]);
  for (let i = 0; i < of.count; i++) {
    const [from, width] = of.cell(i, 1);
    assert.equal(of.at(from + width / 2), i);
    const [top, height] = of.cell(i, 1, true);
    assert.equal(of.at(1 - (top + height / 2)), i);
  }
  assert.equal(of.at(-0.01), null);
  assert.equal(of.at(1), null);
});

test("labels keep their distance, and one is sure to be there", () => {
  const ticks = axis([20, 30, 40, 50, 60]).ticks(200, 60, 3);
  const shown = ticks.map(({ i }) => i).sort();
  assert.deepEqual(shown, [1, 3]);
});

test("many numbers have round ticks on their scale", () => {
  const numbers = Array.from({ length: 834 }, (_, i) => 20 + (30 * i) / 833);
  const of = axis(numbers);
  const ticks = of.ticks(500, 60, 0);
  assert.deepEqual(
    ticks.map(({ text }) => text),
    ["20", "25", "30", "35", "40", "45", "50"],
  );
  for (const { text, place } of ticks) {
    const at = of.at(Math.min(place, 0.9999));
    assert.ok(Math.abs((numbers[at ?? -1] ?? 0) - Number(text)) < 0.04);
  }
});
