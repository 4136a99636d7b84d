// A recording that is still running: new samples arrive as events.

import type { App } from "./app";
import type { Appended } from "./contract";

/** Listens for new samples; `renew` fetches the page again. Returns a function that stops. */
export function follow(app: () => App, renew: () => Promise<void>): () => void {
  const source = new EventSource("events");
  let renewing = false;
  const again = async () => {
    if (renewing) return;
    renewing = true;
    try {
      await renew();
    } finally {
      renewing = false;
    }
  };
  source.addEventListener("append", (event: MessageEvent<string>) => {
    const given = JSON.parse(event.data) as Appended[];
    if (!given.every((one) => append(app(), one))) void again();
    app().refresh();
  });
  source.addEventListener("page", () => void again());
  source.addEventListener("open", () => state("live"));
  source.addEventListener("error", () => state("live, waiting for the connection"));
  return () => source.close();
}

function state(text: string): void {
  const shown = document.querySelector(".live");
  if (shown) shown.textContent = text;
}

/** Whether the page has the track, so that its samples could be added. */
function append(app: App, given: Appended): boolean {
  const workload = app.page.workloads.find(({ id }) => id === given.workload);
  const line = workload?.lines.find(({ recording }) => recording === given.recording);
  const track = line?.tracks.find(({ name }) => name === given.track);
  if (!workload || !track) return false;
  app.series(track).append(given.t, given.v);
  const last = given.t.at(-1);
  if (last !== undefined) app.viewOf(workload.id)?.extend(last);
  return true;
}
