import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Packed } from "../src/contract";
import { column, DataError, inflate } from "../src/data/unpack";

/** Packs as the report in Python does. */
function packed(values: number[], perUnit: number, width: number): [Uint8Array, Packed] {
  const bytes = new Uint8Array(values.length * width);
  let before = 0;
  values.forEach((value, i) => {
    const whole = Math.round(value * perUnit);
    let coded = whole - before >= 0 ? 2 * (whole - before) : -2 * (whole - before) - 1;
    before = whole;
    for (let plane = 0; plane < width; plane++) {
      bytes[plane * values.length + i] = coded % 256;
      coded = Math.floor(coded / 256);
    }
  });
  return [bytes, { at: 0, count: values.length, width, per_unit: perUnit }];
}

for (const width of [1, 2, 3, 4, 5, 6]) {
  test(`values come out of ${width} bytes as they went in`, () => {
    const most = 256 ** width / 8;
    const values = Array.from(
      { length: 500 },
      (_, i) => (Math.trunc(Math.sin(i * i) * most) || 0) / 10,
    );
    const [bytes, how] = packed(values, 10, width);
    assert.deepEqual([...column(bytes, how)], values);
  });
}

test("differences are zigzag-coded: 0, -1, 1, -2 are 0, 1, 2, 3", () => {
  const how = { at: 1, count: 4, width: 1, per_unit: 1 };
  assert.deepEqual([...column(new Uint8Array([99, 0, 1, 2, 3]), how)], [0, -1, 0, -2]);
});

test("a difference of six bytes is exact", () => {
  const [bytes, how] = packed([2 ** 46 - 1, -(2 ** 45), 3], 1, 6);
  assert.deepEqual([...column(bytes, how)], [2 ** 46 - 1, -(2 ** 45), 3]);
});

test("a column without values is empty", () => {
  assert.equal(column(new Uint8Array(), { at: 0, count: 0, width: 0, per_unit: 1 }).length, 0);
});

test("a column beyond the data is said to be damaged", () => {
  const how = { at: 0, count: 10, width: 2, per_unit: 1 };
  assert.throws(() => column(new Uint8Array(19), how), DataError);
});

test("gzip in base64 comes out", async () => {
  const text = gzipSync(Buffer.from([1, 2, 3])).toString("base64");
  assert.deepEqual([...(await inflate(text))], [1, 2, 3]);
});

for (const [name, text] of [
  ["no base64", "%%%"],
  ["no gzip", Buffer.from("plain").toString("base64")],
  ["cut off", gzipSync(Buffer.alloc(5000, "ab")).subarray(0, 20).toString("base64")],
] as const) {
  test(`data that are ${name} are told in a sentence`, async () => {
    await assert.rejects(inflate(text), (error) => {
      assert.ok(error instanceof DataError);
      assert.match(error.message, /damaged or cut off/);
      return true;
    });
  });
}

test("a browser that cannot unpack is told which ones can", async () => {
  const original = globalThis.DecompressionStream;
  try {
    Reflect.deleteProperty(globalThis, "DecompressionStream");
    await assert.rejects(inflate("AAAA"), /Firefox 113/);
  } finally {
    globalThis.DecompressionStream = original;
  }
});
