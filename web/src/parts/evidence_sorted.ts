// Sentences of evidence, grouped by the cause that they are for or against.

import { capital } from "../data/format";

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
