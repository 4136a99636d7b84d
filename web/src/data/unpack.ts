// Decodes the page's columns of numbers: see `Packed` in the contract.

import type { Packed } from "../contract";

/** Why there are no numbers, as a sentence for the reader. */
export class DataError extends Error {}

const DAMAGED =
  "The measurements in this file are damaged or cut off, so no chart can be drawn. " +
  "Make the page again with `heatsoak report`, or copy the file again.";

/** Decodes base64 and gzip. Throws DataError if the browser cannot, or the data are damaged. */
export async function inflate(base64: string): Promise<Uint8Array> {
  if (base64 === "") return new Uint8Array();
  if (typeof DecompressionStream === "undefined") {
    throw new DataError(
      "This browser cannot unpack the measurements in this file, so no chart can be drawn. " +
        "Open it in Firefox 113, Chrome 111 or Safari 16.4, or a later one.",
    );
  }
  try {
    const text = atob(base64);
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new DataError(DAMAGED);
  }
}

/** The values of a column. */
export function column(bytes: Uint8Array, packed: Packed): Float64Array {
  const { at, count, width, per_unit } = packed;
  if (at < 0 || width < 0 || width > 6 || at + count * width > bytes.length) {
    throw new DataError(DAMAGED);
  }
  const values = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    let coded = 0;
    for (let plane = width - 1; plane >= 0; plane--) {
      coded = coded * 256 + (bytes[at + plane * count + i] ?? 0);
    }
    sum += coded % 2 === 0 ? coded / 2 : -(coded + 1) / 2;
    values[i] = sum / per_unit;
  }
  return values;
}
