// Marks of dots: a shape for each pattern of lines.

type Corners = [number, number][];

const round: Corners = Array.from({ length: 12 }, (_, i) => [
  Math.cos((i * Math.PI) / 6),
  Math.sin((i * Math.PI) / 6),
]);
const plus: Corners = [
  [-0.4, -1.6],
  [0.4, -1.6],
  [0.4, -0.4],
  [1.6, -0.4],
  [1.6, 0.4],
  [0.4, 0.4],
  [0.4, 1.6],
  [-0.4, 1.6],
  [-0.4, 0.4],
  [-1.6, 0.4],
  [-1.6, -0.4],
  [-0.4, -0.4],
];
const bar = (width: number, height: number): Corners => [
  [-width, -height],
  [width, -height],
  [width, height],
  [-width, height],
];
/** Around a centre; a unit is the radius of the round mark. */
const MARKS: Corners[] = [
  round,
  [
    [0, -1.5],
    [1.4, 1.1],
    [-1.4, 1.1],
  ],
  plus,
  bar(1, 1),
  [
    [0, -1.6],
    [1.6, 0],
    [0, 1.6],
    [-1.6, 0],
  ],
  bar(1.8, 0.5),
];

/** The corners of a mark around (`x`, `y`). */
export function markCorners(style: { dash: number }, x: number, y: number, r: number): Corners {
  return (MARKS[style.dash % MARKS.length] ?? round).map(([dx, dy]) => [x + dx * r, y + dy * r]);
}

/** Adds a mark to a path. */
export function addMark(
  path: Path2D,
  style: { dash: number },
  x: number,
  y: number,
  r: number,
): void {
  let isFirst = true;
  for (const [dx, dy] of MARKS[style.dash % MARKS.length] ?? round) {
    if (isFirst) path.moveTo(x + dx * r, y + dy * r);
    else path.lineTo(x + dx * r, y + dy * r);
    isFirst = false;
  }
  path.closePath();
}
