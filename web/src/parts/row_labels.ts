// Where rows of a chart have their labels: beside them, or above them where there is little room.

/** Below this width, labels that are too long stand above their rows. */
export const NARROW = 600;
/** A letter's width at the size of labels, at most on average. */
const LETTER = 7.6;
const GAP = 10;

/** Capitals and digits, of which serial numbers are made, are wider by this share. */
const WIDER = 0.2;

/** How many letters of the usual width a label takes. */
export function extent(label: string): number {
  return Math.ceil(label.length + WIDER * (label.match(/[A-Z0-9]/g)?.length ?? 0));
}

export interface RowLabels {
  /** Where the plot begins. */
  left: number;
  /** The height of a row, and its middle below the row's top. */
  row: number;
  middle: number;
  /** How many letters there is room for. */
  letters: number;
  /** Position of the label, from the left and from the row's top. */
  x: number;
  y: number;
  anchor: "start" | "end";
}

/** Returns the places for labels of up to `longest` letters in a chart of this width. */
export function rowLabels(width: number, longest: number, row: number): RowLabels {
  const wanted = longest * LETTER + GAP;
  if (width < NARROW && wanted > width * 0.42) {
    const letters = Math.floor(width / LETTER);
    const above = { left: 6, letters, x: 0, y: 14, anchor: "start" } as const;
    return { ...above, row: row + 16, middle: 16 + row / 2 };
  }
  const left = Math.min(wanted, width * 0.42);
  const letters = Math.max(6, Math.floor((left - GAP) / LETTER));
  return { left, row, middle: row / 2, letters, x: left - GAP, y: row / 2 + 4, anchor: "end" };
}
