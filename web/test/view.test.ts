import assert from "node:assert/strict";
import { test } from "node:test";
import { View } from "../src/chart/view";

test("a view stays within the whole however it is zoomed and moved", () => {
  const view = new View(0, 300);
  for (let i = 0; i < 200; i++) {
    if (i % 3 === 0) view.zoom(1 + Math.sin(i) * 0.9, (i * 37) % 300);
    else view.pan(Math.cos(i * 5) * 2);
    assert.ok(view.min >= 0 && view.max <= 300 + 1e-9 && view.span > 0);
  }
  view.reset();
  assert.ok(view.isWhole);
});

test("the place one zooms at stays where it is", () => {
  const view = new View(0, 100);
  view.zoom(4, 30);
  assert.ok(Math.abs((30 - view.min) / view.span - 0.3) < 1e-12);
});

test("later samples widen a view of the whole and leave a zoomed one alone", () => {
  const whole = new View(0, 10);
  whole.extend(20);
  assert.deepEqual([whole.min, whole.max], [0, 20]);
  const zoomed = new View(0, 10);
  zoomed.show(2, 4);
  zoomed.extend(20);
  assert.deepEqual([zoomed.min, zoomed.max, zoomed.most], [2, 4, 20]);
});

test("listeners hear of changes only, until they leave", () => {
  const view = new View(0, 10);
  let heard = 0;
  const leave = view.onChange(() => heard++);
  view.show(1, 5);
  view.show(1, 5);
  leave();
  view.reset();
  assert.equal(heard, 1);
});
