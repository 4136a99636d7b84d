// Tables as RFC 4180 text.

export type Cell = string | number | null | undefined;

/** How a formula starts in spreadsheets, including full-width signs (OWASP, CSV injection). */
const FORMULA = /^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/;
const NUMBER = /^[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?$/;

/**
 * A cell: quoted if necessary; text that a spreadsheet would run as a formula is defused, but a
 * number stored as text, such as an ambient of -5, stays a number.
 */
function cell(value: Cell): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Pieces of a table, header first; together they make the file. */
export function csv(header: readonly string[], rows: Iterable<readonly Cell[]>): string[] {
  const pieces: string[] = [];
  let lines = [header.map(cell).join(",")];
  for (const row of rows) {
    lines.push(row.map(cell).join(","));
    if (lines.length >= 4096) {
      pieces.push(`${lines.join("\r\n")}\r\n`);
      lines = [];
    }
  }
  if (lines.length) pieces.push(`${lines.join("\r\n")}\r\n`);
  return pieces;
}
