// Wheel, pinch and drag over a panel. Dragging with a mouse selects a stretch, which uPlot does.

import type { View } from "./view";

/** Moves a view by gestures over `area`. */
export function gestures(area: HTMLElement, view: View): void {
  const share = (clientX: number) => {
    const { left, width } = area.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / (width || 1)));
  };
  wheel(area, view, share);
  fingers(area, view, share);
  pan(area, view);
}

/** The wheel scrolls the page, unless the chart was clicked or Ctrl is held; sideways, it pans. */
function wheel(area: HTMLElement, view: View, share: (x: number) => number): void {
  area.addEventListener(
    "wheel",
    (event) => {
      const chart = area.closest("[data-chart]");
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        if (view.isWhole) return;
        view.pan(event.deltaX / (area.clientWidth || 1));
      } else if (event.ctrlKey || event.metaKey || chart?.contains(document.activeElement)) {
        const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 33 : 1;
        const strength = Math.max(-1, Math.min(1, (-event.deltaY * lines) / 300));
        view.zoom(2 ** strength, view.min + share(event.clientX) * view.span);
      } else return;
      event.preventDefault();
    },
    { passive: false },
  );
}

/** Two fingers zoom and move; one finger moves a zoomed view sideways. */
function fingers(area: HTMLElement, view: View, share: (x: number) => number): void {
  const down = new Map<number, number>();
  const ends = () => {
    const places = [...down.values()];
    return [Math.min(...places), Math.max(...places)] as const;
  };
  area.style.touchAction = "pan-y";
  area.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") down.set(event.pointerId, share(event.clientX));
  });
  area.addEventListener("pointermove", (event) => {
    if (!down.has(event.pointerId)) return;
    const [a, b] = ends();
    const values = [view.min + a * view.span, view.min + b * view.span] as const;
    down.set(event.pointerId, share(event.clientX));
    const [c, d] = ends();
    if (down.size === 1) {
      if (!view.isWhole) view.pan(a - c);
    } else if (d - c > 0.01 && b > a) {
      const span = (values[1] - values[0]) / (d - c);
      view.show(values[0] - c * span, values[0] - c * span + span);
    }
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave"] as const) {
    area.addEventListener(name, (event) => down.delete(event.pointerId));
  }
}

/** Shift and drag moves a zoomed view. */
function pan(area: HTMLElement, view: View): void {
  area.addEventListener(
    "mousedown",
    (event) => {
      if (!event.shiftKey && event.button !== 1) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      let at = event.clientX;
      const move = (moved: MouseEvent) => {
        view.pan((at - moved.clientX) / (area.clientWidth || 1));
        at = moved.clientX;
      };
      const up = () => {
        removeEventListener("mousemove", move);
        removeEventListener("mouseup", up);
      };
      addEventListener("mousemove", move);
      addEventListener("mouseup", up);
    },
    { capture: true },
  );
}

/** The keys of a chart; `point` moves the cursor by a share of the visible stretch, or to an end. */
export function keys(event: KeyboardEvent, view: View, point: (by: number | "a" | "z") => void) {
  const step = event.ctrlKey ? 0.1 : 0.01;
  switch (event.key) {
    case "ArrowLeft":
      if (event.shiftKey) view.pan(-0.2);
      else point(-step);
      break;
    case "ArrowRight":
      if (event.shiftKey) view.pan(0.2);
      else point(step);
      break;
    case "Home":
      point("a");
      break;
    case "End":
      point("z");
      break;
    case "+":
    case "=":
      view.zoom(1.5);
      break;
    case "-":
      view.zoom(1 / 1.5);
      break;
    case "0":
      view.reset();
      break;
    default:
      return;
  }
  event.preventDefault();
}
