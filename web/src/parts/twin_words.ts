// A point of a cooling map in words.

import type { CoolingMap } from "../contract";
import { duration, number, value } from "../data/format";
import { onsetWords, surelyHolds } from "./throttling";

const AS_IT_WAS = "as it was";

/** The number of a point in the map's lists. */
export function pointAt({ air_c }: CoolingMap, column: number, row: number): number {
  return row * air_c.length + column;
}

/** The air of a column: `35 C air (8 K warmer than it was)`. */
export function airWords({ air_c, own_air }: CoolingMap, column: number): string {
  const [here, own] = [air_c[column] ?? 0, air_c[own_air] ?? 0];
  const by = Math.round(here - own);
  const than =
    by === 0
      ? AS_IT_WAS
      : `${value(Math.abs(by), "K")} ${by > 0 ? "warmer" : "cooler"} than it was`;
  return `${value(here, "C")} air (${than})`;
}

/** The resistance of a row: `6 K/W to the air (0.67 times what it was)`. */
export function resistanceWords({ k_per_w, own_k_per_w }: CoolingMap, row: number): string {
  const [here, own] = [k_per_w[row] ?? 0, k_per_w[own_k_per_w] ?? 1];
  const than = row === own_k_per_w ? AS_IT_WAS : `${number(here / own)} times what it was`;
  return `${number(here, 2)} K/W to the air (${than})`;
}

/** What the drive does at a point, in a sentence. */
export function pointWords(given: CoolingMap, column: number, row: number): string {
  const said = outcome(given, pointAt(given, column, row));
  const [air, resistance] = [airWords(given, column), resistanceWords(given, row)];
  if (column !== given.own_air || row !== given.own_k_per_w) {
    return `At ${air} and ${resistance}: ${said}`;
  }
  const bare = (words: string) => words.replace(` (${AS_IT_WAS})`, "");
  return `As it was, at ${bare(air)} and ${bare(resistance)}: ${said}`;
}

function outcome(given: CoolingMap, at: number): string {
  const probability = given.throttles[at] ?? null;
  if (probability === null) return "so hot that the drive cannot be there even at rest.";
  const [onset, depth, left] = [given.onset_s[at], given.depth_pct[at], given.throttled_mb_s[at]];
  if (surelyHolds(probability) || !onset || !depth || !left) {
    const hottest = value(given.max_temp_c[at] ?? 0, "C");
    return `does not throttle in ${duration(given.duration_s)}; ${hottest} by its own sensor at most.`;
  }
  return `${onsetWords(probability, onset)}: ${loss(given, left.mid, depth.mid)}.`;
}

function loss({ full_mb_s, cliff }: CoolingMap, left: number, depth: number): string {
  if (left === 0) return "then it is so hot that it shuts itself down";
  const share = value(-depth, "%");
  // with a cache that fills up, the speed at first is not what heat takes its part of
  if (cliff) return `${share} of its speed in the worst minute, ${number(left)} MB/s`;
  return `${number(full_mb_s)} MB/s become ${number(left)} (${share})`;
}

/** What was recorded in the map's place. */
export function recordedWords({ recordings, throttled }: CoolingMap): string {
  const of = recordings === 1 ? "its recording" : `${throttled} of ${recordings} recordings there`;
  return throttled ? `as it was: throttled in ${of}` : "as it was: did not throttle";
}
