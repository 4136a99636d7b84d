// The evidence for and against the cause of an episode, in a dialog.

import type { Episode } from "../contract";
import { capital, duration, number, UNKNOWN, value } from "../data/format";
import { button, h } from "../dom";
import { letter } from "../style/causes";

/** The facts of an episode, as names and values. */
export function episodeFacts(episode: Episode): [string, string][] {
  const facts: [string, string][] = [
    ["Falls after", value(episode.onset_s, "s")],
    [episode.recovered ? "Recovers after" : "Lasts until", value(episode.end_s, "s")],
    ["Falls by", value(episode.depth_pct, "%")],
    ["Throughput", change(episode.before_mb_s, episode.during_mb_s, "MB/s")],
    ["IOPS", change(episode.before_iops, episode.during_iops, "IOPS")],
    ["Latency", change(episode.before_lat_us, episode.during_lat_us, "µs")],
    ["Of", episode.direction ? `${episode.direction}s` : ""],
    ["Temperature at the onset", value(episode.temp_c_at_onset, "C")],
    ["Written before the onset", value(episode.written_gb_at_onset, "GB")],
    ["Time to fall", episode.fall_s ? duration(episode.fall_s) : ""],
    [
      "Period of oscillation",
      episode.oscillates && episode.period_s ? duration(episode.period_s) : "",
    ],
    ["Low share of each period", value(episode.duty && episode.duty * 100, "%")],
  ];
  return facts.filter(([, text]) => text !== "" && text !== UNKNOWN);
}

function change(
  before: number | null | undefined,
  during: number | null | undefined,
  unit: string,
): string {
  const known = (before ?? null) !== null && (during ?? null) !== null;
  return known ? `${number(before ?? 0)} → ${value(during, unit)}` : UNKNOWN;
}

/** A dialog, and a function that opens it. */
export function evidenceDialog(): {
  element: HTMLDialogElement;
  open: (heading: string, episode: Episode) => void;
} {
  const body = h("div", {});
  const element = h("dialog", { class: "evidence", "aria-labelledby": "evidence-title" }, body);
  element.addEventListener("click", (event) => {
    // A click outside the dialog's box is a click on the dialog itself.
    if (event.target === element) element.close();
  });
  const open = (heading: string, episode: Episode) => {
    const likely = Object.entries(episode.likelihoods ?? {})
      .filter(([, share]) => share >= 0.005)
      .sort((a, b) => b[1] - a[1]);
    body.replaceChildren(
      h(
        "header",
        {},
        h("p", {}, heading),
        h("h2", { id: "evidence-title" }, letter(episode.cause), ` ${capital(episode.cause)}`),
        button("Close", () => element.close(), { class: "close" }),
      ),
      h(
        "p",
        { class: "confidence" },
        episode.confidence > 0
          ? `Probability of this cause: ${value(episode.confidence * 100, "%")}.`
          : "No cause could be named with confidence.",
      ),
      h(
        "dl",
        { class: "facts" },
        episodeFacts(episode).map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
      ),
      ...sorted(episode.evidence).map(({ heading: title, sentences }) =>
        h(
          "section",
          {},
          h("h3", {}, title),
          h(
            "ul",
            {},
            sentences.map((sentence) => h("li", {}, capital(sentence))),
          ),
        ),
      ),
      likely.length > 1
        ? h(
            "section",
            {},
            h("h3", {}, "How the causes compare"),
            h(
              "ul",
              {},
              likely.map(([cause, share]) =>
                h(
                  "li",
                  {},
                  `${capital(cause === "other" ? "something else" : cause)}: ${value(share * 100, "%")}`,
                ),
              ),
            ),
          )
        : "",
    );
    element.showModal();
    element.scrollTop = 0;
  };
  return { element, open };
}

interface Sorted {
  heading: string;
  sentences: string[];
}

/** Groups sentences of evidence: `for heat`, `against write cache`, `open`. */
export function sorted(evidence: readonly string[]): Sorted[] {
  const groups = new Map<string, string[]>();
  for (const sentence of evidence) {
    const [, side = "", cause = "", rest = ""] =
      /^(for|against) ([a-z-]+): ([\s\S]+)$/.exec(sentence) ?? [];
    const open = /^open: ([\s\S]+)$/.exec(sentence)?.[1];
    const heading = side ? `${capital(side)}: ${cause}` : open ? "Open" : "Also";
    groups.set(heading, [...(groups.get(heading) ?? []), rest || open || sentence]);
  }
  const order = ["For", "Against", "Open", "Also"];
  const place = (heading: string) => order.findIndex((word) => heading.startsWith(word));
  return [...groups]
    .map(([heading, sentences]) => ({ heading, sentences }))
    .sort((a, b) => place(a.heading) - place(b.heading));
}
