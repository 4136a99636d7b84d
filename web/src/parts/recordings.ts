// How it was measured, so that others can repeat it.

import type { App } from "../app";
import type { NamedValue, PageRecording } from "../contract";
import { clock, duration, moment, shortened, span, value, words } from "../data/format";
import { code, fold, h, table, unbroken } from "../dom";

/** A section: a table of all recordings, then each in detail. */
export function recordings(app: App): HTMLElement {
  const all = app.page.recordings;
  return h(
    "section",
    { id: "recordings", "aria-labelledby": "recordings-title" },
    h("h2", { id: "recordings-title" }, "How it was measured"),
    overview(all),
    all.map((recording, i) => one(all, recording, i)),
  );
}

function overview(all: readonly PageRecording[]): HTMLElement {
  const keys = [...new Set(all.flatMap(({ findings }) => Object.keys(findings.conditions)))];
  const header = ["Recording", ...keys.map(words), "Drive", "Began", "Took", "Ended", "Starts at"];
  const rows = all.map((recording) => {
    const { conditions, drive, steps } = recording.findings;
    const starts = steps.map((step) => step.start_temp_c).filter((temp) => temp !== null);
    return [
      recording.label,
      ...keys.map((key) => plain(conditions[key])),
      plain(drive.model),
      moment(recording.started_unix_s),
      duration(recording.duration_s),
      [recording.status, recording.reason].filter(Boolean).join(": "),
      span(starts, "C"),
    ];
  });
  return table("Recordings and their conditions", header, rows);
}

function plain(found: unknown): string {
  if (typeof found === "string") return found;
  return found === undefined || found === null ? "–" : JSON.stringify(found);
}

function one(all: readonly PageRecording[], recording: PageRecording, i: number): HTMLElement {
  const { findings } = recording;
  const made = fold(h("span", {}, shortened(recording.label, 200)), () => [
    list("What it shows", recording.sentences),
    list("Warnings", findings.notes),
    h(
      "div",
      { class: "columns" },
      facts("Drive", recording.drive),
      facts("Host", recording.host),
      facts("Tools", recording.tools),
      facts("Sensors", recording.sensors),
    ),
    sensors(recording),
    starts(recording),
    code("The command", recording.command ? [recording.command] : []),
    code("To let others judge it, or report a bug: one file without serials", [recording.bundle]),
    code("Command lines, as run: /proc/self/fd/N was the open drive", recording.commands),
    protocol(all, recording, i),
    events(recording),
  ]);
  made.id = `recording-${i}`;
  return made;
}

function list(title: string, sentences: readonly string[]): HTMLElement {
  return h(
    "div",
    { hidden: sentences.length === 0 },
    h("h3", {}, title),
    h(
      "ul",
      {},
      sentences.map((sentence) => h("li", {}, unbroken(sentence))),
    ),
  );
}

function facts(title: string, given: readonly NamedValue[]): HTMLElement {
  return h(
    "div",
    { hidden: given.length === 0 },
    h("h3", {}, title),
    h(
      "dl",
      { class: "facts" },
      given.map(({ name, text }) => [h("dt", {}, words(name)), h("dd", {}, text)]),
    ),
  );
}

function sensors({ findings }: PageRecording): HTMLElement {
  if (findings.sensors.length === 0) return h("span");
  const rows = findings.sensors.map((sensor) => [
    sensor.name,
    { good: "✓ good", poor: "✗ poor", unknown: "? unknown" }[sensor.trust],
    sensor.why,
  ]);
  return h(
    "div",
    {},
    h("h3", {}, "Can the temperatures be trusted?"),
    table("Temperature sensors, and whether they can be trusted", ["Sensor", "Trust", "Why"], rows),
  );
}

function starts({ findings }: PageRecording): HTMLElement {
  const rows = findings.steps.map((step) => [
    step.step,
    step.workload,
    duration(step.duration_s),
    value(step.start_temp_c, "C"),
  ]);
  return h(
    "div",
    { hidden: rows.length === 0 },
    h("h3", {}, "Steps and starting temperatures"),
    table(
      "Steps, and the drive's temperature when they started",
      ["Step", "Workload", "Took", "Starts at"],
      rows,
      [false, false, true, true],
    ),
  );
}

function protocol(
  all: readonly PageRecording[],
  { protocol, command }: PageRecording,
  i: number,
): HTMLElement {
  if (!protocol) return h("span");
  const first = all.findIndex((other) => other.protocol === protocol);
  if (first < i) {
    const label = shortened(all[first]?.label ?? "", 200);
    return h(
      "p",
      {},
      "The protocol is that of ",
      h("a", { href: `#recording-${first}` }, label),
      ".",
    );
  }
  const name = command?.includes(" protocol.toml ")
    ? "The command's protocol.toml"
    : "The protocol";
  return fold(name, () => [code("", [protocol])]);
}

function events({ events: given }: PageRecording): HTMLElement {
  if (given.length === 0) return h("span");
  return fold(`Events (${given.length})`, () => [
    table(
      "Events",
      ["At", "Event", ""],
      given.map(({ t_s, kind, text }) => [clock(t_s), words(kind), text]),
      [true],
    ),
  ]);
}
