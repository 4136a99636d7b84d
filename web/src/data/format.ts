// Numbers, times and units as a reader sees them. `test/text.json` holds this module and
// `heatsoak.words` to the same texts.

import type { Range } from "../contract";

/** What is not known. */
export const UNKNOWN = "–";

const grouped = [0, 1, 2, 3].map(
  (digits) =>
    new Intl.NumberFormat("en-US", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }),
);

/** Halves are rounded away from zero, also those of which arithmetic has lost the last bits. */
const HALVES_UP = 1 + 2 ** -50;

/** A number in at least so many digits, never rounded before the point: `1,499`, `6.4`. */
export function number(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return UNKNOWN;
  if (value === 0) return "0";
  const exact = value % 1 ? value * HALVES_UP : value;
  const size = Math.floor(Math.log10(Math.abs(+exact.toPrecision(digits))));
  const maximumFractionDigits = Math.min(20, Math.max(0, digits - 1 - size));
  return exact.toLocaleString("en-US", { maximumFractionDigits });
}

/** Tick labels, all with as many digits as the finest needs. */
export function marks(values: readonly number[]): string[] {
  const digits = [0, 1, 2, 3].find((n) =>
    values.every((v) => Math.abs(v * 10 ** n - Math.round(v * 10 ** n)) < 1e-6),
  );
  if (digits === undefined) return values.map((v) => number(v));
  return values.map((v) => (grouped[digits] as Intl.NumberFormat).format(v));
}

/** Round numbers from `low` to `high`, 1, 2 or 5 times a power of ten apart: `most` steps or fewer. */
export function ticks(low: number, high: number, most: number): number[] {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step + 0);
}

/** Units of what is not known to more than two digits. */
const ROUGH = ["C", "K", "%", "s"];

function digitsOf(unit: string): number {
  return ROUGH.includes(unit) ? 2 : 3;
}

function withUnit(text: string, unit: string): string {
  return unit === "" ? text : `${text} ${unit}`;
}

/** A number and its unit: `1,431 MB/s`, `75 C`, `43 %`. */
export function value(v: number | null | undefined, unit: string): string {
  if (v === null || v === undefined) return UNKNOWN;
  return withUnit(number(v, digitsOf(unit)), unit);
}

/** Numbers with the same decimals, as `heatsoak.words` has those of a range. */
function alike(values: readonly number[], digits: number): string[] {
  const sizes = values.map(Math.abs).filter((size) => size > 0 && size < Number.POSITIVE_INFINITY);
  const rounded = (v: number, n: number) => Math.round(v * 10 ** n) / 10 ** n + 0;
  const largest = sizes.length ? Math.max(...sizes) : 1;
  const log = Math.floor(Math.log10(+largest.toPrecision(digits)));
  let most = Math.min(20, Math.max(0, digits - 1 - log));
  if (sizes.length && rounded(Math.min(...sizes), most) === 0) most += 1;
  const shown = values.map((v) => rounded(v, most));
  let decimals = 0;
  while (decimals < most && shown.some((v) => rounded(v, decimals) !== v)) decimals += 1;
  const form = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return shown.map((v) => v.toLocaleString("en-US", form));
}

/** A number with its interval, whose level is said if it is not 95 %: `81 C (90 %: 80 to 82)`. */
export function ranged({ low, mid, high, level = 0.95 }: Range, unit: string): string {
  const [from = "", number = "", to = ""] = alike([low, mid, high], digitsOf(unit));
  const said = level === 0.95 ? "" : `${100 * level} %: `;
  return `${withUnit(number, unit)} (${said}${[...new Set([from, to])].join(" to ")})`;
}

/** From the least to the greatest: `37 to 46 C`, or `37 C` if that is the same. */
export function span(values: readonly number[], unit: string): string {
  if (values.length === 0) return UNKNOWN;
  const ends = alike([Math.min(...values), Math.max(...values)], digitsOf(unit));
  return withUnit([...new Set(ends)].join(" to "), unit);
}

/** A difference with its sign, to a tenth: `+4.2 %`. */
export function signed(v: number | null | undefined, unit: string): string {
  if (v === null || v === undefined) return UNKNOWN;
  const shown = +(v * HALVES_UP).toFixed(1);
  return (shown > 0 ? "+" : "") + withUnit(number(shown), unit);
}

/** A length of time: `8.3 s`, `66 min`, `2 h 05 min`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return UNKNOWN;
  if (seconds < 99.5) return value(seconds, "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return value(minutes, "min");
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A time within a step, with `digits` after the decimal point: `61.2 s`, `1:02:03.5`. */
export function clock(seconds: number, digits = 1): string {
  if (seconds < 600) return `${seconds.toFixed(digits)} s`;
  const unit = 10 ** digits;
  const whole = Math.round(seconds * unit);
  const s = (whole % (60 * unit)) / unit;
  const m = Math.floor(whole / (60 * unit)) % 60;
  const h = Math.floor(whole / (3600 * unit));
  const rest = `${String(m).padStart(2, "0")}:${s.toFixed(digits).padStart(digits ? digits + 3 : 2, "0")}`;
  return `${h}:${rest}`;
}

/** Possible tick distances on an axis of seconds. */
export const TIME_STEPS: number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
  1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400, 172800, 604800,
];

/** Ticks of an axis of seconds, `step` apart. */
export function timeMarks(marks: readonly number[], step: number): string[] {
  const last = marks[marks.length - 1] ?? 0;
  if (last < 600 || step < 1) {
    const digits = step >= 1 ? 0 : Math.ceil(-Math.log10(step) - 1e-9);
    return marks.map((mark) => clock(mark, digits));
  }
  if (step % 3600 === 0) return marks.map((mark) => `${mark / 3600} h`);
  if (step % 60 === 0 && last <= 3 * 3600) return marks.map((mark) => `${mark / 60} min`);
  return marks.map((mark) => clock(mark, 0));
}

/** A date and time of day, in the reader's zone. */
export function moment(unixS: number | null | undefined): string {
  if (unixS === null || unixS === undefined) return UNKNOWN;
  return new Date(unixS * 1000).toLocaleString("en-GB", {
    dateStyle: "medium",
    timeStyle: "short",
  });
}

/** A text without its middle if it is longer than `most`: names often differ in their ends. */
export function shortened(text: string, most: number): string {
  const letters = Array.from(text.slice(0, 20_000));
  if (letters.length <= most) return text;
  const end = Math.floor(((most - 1) * 2) / 5);
  const [begin, rest] = [letters.slice(0, most - 1 - end), letters.slice(letters.length - end)];
  return `${begin.join("").trimEnd()}…${rest.join("").trimStart()}`;
}

/** Texts in one line of `most` characters, the longest shortened first: short ones stay whole. */
export function fitted(texts: readonly string[], most: number): string {
  const room = most - 2 * (texts.length - 1);
  let each = Math.max(0, ...texts.map((text) => text.length));
  while (each > 4 && texts.reduce((sum, text) => sum + Math.min(text.length, each), 0) > room) {
    each -= 1;
  }
  return texts.map((text) => shortened(text, each)).join(", ");
}

/** A file name from a title, without characters that file systems reject. */
export function fileName(title: string, suffix: string): string {
  const bare = title
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .toLowerCase();
  return `${bare.slice(0, 80).replace(/-+$/, "") || "chart"}.${suffix}`;
}

/** A name as words: `gpu_load` is "gpu load". */
export function words(name: string): string {
  return name.replace(/[\s_-]+/g, " ").trim();
}

/** A text as a sentence begins; the name of a file keeps its case. */
export function capital(text: string): string {
  if (/[/.]/.test((text.split(" ", 1)[0] ?? "").replace(/[.,:]+$/, ""))) return text;
  const first = Array.from(text.slice(0, 2))[0] ?? "";
  return first.toUpperCase() + text.slice(first.length);
}

/** A step's name as a title: `Random read QD32`. */
export function titleOf(step: string): string {
  return capital(words(step).replace(/\bqd(?=\d)/g, "QD"));
}

/** `1 place` or `3 places`. */
export function counted(count: number, one: string): string {
  return `${number(count)} ${count === 1 ? one : `${one}s`}`;
}
