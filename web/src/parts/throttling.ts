// How likely a drive throttles, and how bad it is.

import type { Range } from "../contract";
import { ranged, value } from "../data/format";

/** A drive throttles if that is likelier than not. */
export const THROTTLES = 0.5;
/** Between these probabilities it is open whether it does. */
const OPEN = [0.1, 0.9] as const;
/** Below and above these it is as good as sure. */
const SURE = { no: 0.05, yes: 0.95 };

/** Whether it is open if a drive throttles, or, without a probability, it cannot be there. */
export function isOpen(probability: number | null): boolean {
  return probability === null || (probability > OPEN[0] && probability < OPEN[1]);
}

/** Whether it is as good as sure that a drive does not throttle. */
export function surelyHolds(probability: number): boolean {
  return probability < SURE.no;
}

/** How bad an onset is, from 0, at the end of the load, to 1: on a logarithmic scale. */
export function onsetShare(onset_s: number, earliest_s: number, duration_s: number): number {
  const all = Math.log(Math.max(duration_s / earliest_s, 1.01));
  return 1 - Math.log(Math.max(onset_s, 1) / earliest_s) / all;
}

/** When it throttles: `throttles, 60 % likely, after 61 s (90 %: 50 to 70)`. */
export function onsetWords(probability: number, onset: Range): string {
  const likely = probability > SURE.yes ? "" : `, ${value(100 * probability, "%")} likely,`;
  return `throttles${likely} after ${ranged(onset, "s")}`;
}
