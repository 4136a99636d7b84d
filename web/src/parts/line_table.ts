// The figures of each line of a workload, also for readers who cannot see the chart.

import type { App } from "../app";
import type { StepFindings, WorkloadSection } from "../contract";
import { duration, value } from "../data/format";
import { button, fold, table } from "../dom";

const HEADER = [
  "Run",
  "Verdict",
  "Falls after",
  "Falls by",
  "Ends",
  "Before",
  "At the end",
  "At the onset",
  "At the start",
  "Mean",
  "Power",
  "Mean / deviation",
];

/** A row for each episode, and for each line without one. */
export function lineTable(app: App, given: WorkloadSection): HTMLElement {
  const isLoaded = given.lines.some((line) => app.step(line));
  return fold("The figures as a table", () => [
    isLoaded ? ofSteps(app, given) : ofUnloaded(app, given),
  ]);
}

function ofSteps(app: App, given: WorkloadSection): HTMLElement {
  const rows = given.lines.flatMap((line) => {
    const step = app.step(line);
    if (!step) return [];
    const whole = [
      value(step.start_temp_c, "C"),
      value(step.mean_mb_s, "MB/s"),
      value(step.power_mean_w, "W"),
      value(step.consistency?.ratio, ""),
    ];
    if (step.episodes.length === 0) {
      const none = Array.from({ length: 6 }, () => "–");
      return [[line.label, unseen(step) ?? step.verdict, ...none, ...whole]];
    }
    return step.episodes.map((episode) => [
      line.label,
      button(episode.cause, () => app.evidence(`${given.title} · ${line.label}`, episode)),
      value(episode.onset_s, "s"),
      value(episode.depth_pct, "%"),
      value(episode.end_s, "s"),
      value(episode.before_mb_s, "MB/s"),
      value(episode.during_mb_s, "MB/s"),
      value(episode.temp_c_at_onset, "C"),
      ...whole,
    ]);
  });
  const numeric = HEADER.map((_, i) => i > 1);
  return table(`${given.title}: figures of each run`, HEADER, rows, numeric);
}

const UNLOADED_HEADER = [
  "Log",
  "Temperature followed",
  "Time constant",
  "Highest temperature",
  "Highest throughput",
  "Busy",
  "Logged",
];

function ofUnloaded(app: App, given: WorkloadSection): HTMLElement {
  const rows = given.lines.map((line) => {
    const found = app.unloaded(line);
    return [
      line.label,
      found?.follows ?? "–",
      duration(found?.time_constant_s),
      value(found?.max_temp_c, "C"),
      value(found?.max_mb_s, "MB/s"),
      value(found?.busy_pct, "%"),
      duration(found?.duration_s),
    ];
  });
  const numeric = UNLOADED_HEADER.map((_, i) => i > 1);
  return table(`${given.title}: figures of each log`, UNLOADED_HEADER, rows, numeric);
}

/** Why nothing shows how a step went; undefined if something does. */
function unseen(step: StepFindings): string | undefined {
  return step.claims?.find(({ what }) => what === "hot" || what === "unseen")?.text;
}
