import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "../src/contract";
import { lineStyles } from "../src/style/lines";

/** A page of recordings with these conditions, as far as styles look at it. */
function page(conditions: Record<string, string>[]): Page {
  const recordings = conditions.map((one, color) => ({ color, findings: { conditions: one } }));
  return { recordings, matrix: null } as unknown as Page;
}

function different(styles: { color: number; dash: number }[]): number {
  return new Set(styles.map(({ color, dash }) => `${color}/${dash}`)).size;
}

test("a few recordings differ by colour and are all solid", () => {
  const styles = lineStyles(page([{ a: "1" }, { a: "2" }, { a: "3" }]));
  assert.deepEqual(styles, [
    { color: 0, dash: 0 },
    { color: 1, dash: 0 },
    { color: 2, dash: 0 },
  ]);
});

test("repeated runs differ by pattern, or by colour if there is nothing else", () => {
  const runs = (colors: number[]) =>
    lineStyles({
      recordings: colors.map((color) => ({ color, findings: { conditions: {} } })),
      matrix: null,
    } as unknown as Page);
  assert.deepEqual(runs([0, 1, 0]), [
    { color: 0, dash: 0 },
    { color: 1, dash: 0 },
    { color: 0, dash: 1 },
  ]);
  assert.deepEqual(
    runs([0, 0, 0]).map(({ color }) => color),
    [0, 1, 2],
  );
});

test("many recordings have a colour for the main condition and a pattern for the rest", () => {
  const all = ["top", "bottom", "upright", "side"].flatMap((slot) =>
    ["1", "2"].flatMap((cards) => ["idle", "loaded"].map((load) => ({ slot, cards, load }))),
  );
  const styles = lineStyles(page(all));
  assert.equal(different(styles), 16);
  assert.deepEqual(
    styles.map(({ color }) => color),
    all.map(({ slot }) => ["top", "bottom", "upright", "side"].indexOf(slot)),
  );
});

test("many drives that have nothing in common differ all the same", () => {
  const styles = lineStyles(page(Array.from({ length: 20 }, (_, i) => ({ drive: `${i}` }))));
  assert.equal(different(styles), 20);
});
