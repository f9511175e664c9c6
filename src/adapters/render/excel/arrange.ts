/** Puts the components of a sheet below each other: gaps, widths of columns, the row that stays in sight. */
import type { Prepared } from './component.js';

export type Arrangement = Readonly<{
  blocks: readonly Readonly<{ component: Prepared; /** Empty rows above. */ gap: number }>[];
  /** Of all columns, in characters. */
  widths: readonly number[];
  /** True for each column that no table with such a column wants to be seen. */
  hidden: readonly boolean[];
  /** The last row of those that stay in sight; undefined: all scroll. */
  frozenRow: number | undefined;
}>;

const COLUMN_CHARS = 11;
/** Excel knows no wider column. */
const COLUMN_CHARS_MAX = 255;
/** Titles are merged over as many columns as give a readable line, even above a narrow table. */
const LINE_CHARS_MIN = 50;
/** What stays in sight must leave room for what scrolls. */
const FROZEN_ROWS_MAX = 12;

export const arrange = (prepared: readonly Prepared[]): Arrangement => ({
  blocks: prepared.map((component, at) => ({ component, gap: gapAbove(prepared, at) })),
  widths: widthsOf(prepared),
  hidden: hiddenOf(prepared),
  frozenRow: frozenRowOf(prepared),
});

const gapAbove = (prepared: readonly Prepared[], at: number): number =>
  at === 0 || (prepared[at]?.kind === 'text' && prepared[at - 1]?.kind === 'text') ? 0 : 1;

const widthsOf = (prepared: readonly Prepared[]): readonly number[] => {
  const count = Math.max(0, ...prepared.map(({ widths }) => widths.length));
  const widths = Array.from({ length: count }, (_, column) => {
    const asked = prepared.flatMap(({ widths: own }) => own[column] ?? []);
    return asked.length === 0 ? COLUMN_CHARS : Math.min(COLUMN_CHARS_MAX, Math.max(...asked));
  });
  // Titles are merged over it, and pictures are set left or right in it.
  const needsLine = prepared.some(({ kind, widths: own }) => kind === 'text' || own.length === 0);
  let chars = widths.reduce((sum, width) => sum + width, 0);
  while (needsLine && chars < LINE_CHARS_MIN) {
    widths.push(COLUMN_CHARS);
    chars += COLUMN_CHARS;
  }
  return widths;
};

const hiddenOf = (prepared: readonly Prepared[]): readonly boolean[] => {
  const given = prepared.flatMap(({ hidden }) => (hidden === undefined ? [] : [hidden]));
  const count = Math.max(0, ...given.map(({ length }) => length));
  return Array.from({ length: count }, (_, at) => given.every((hidden) => hidden[at] ?? true));
};

/** The header of the first table where only texts stand above it and it is the first on the sheet, or of one that asks for it. */
const frozenRowOf = (prepared: readonly Prepared[]): number | undefined => {
  let row = 0;
  for (const [at, { header, kind, rows }] of prepared.entries()) {
    row += gapAbove(prepared, at);
    if (header !== undefined && (at === 0 || header.freeze)) return row + header.row <= FROZEN_ROWS_MAX ? row + header.row : undefined;
    if (kind === 'block') return undefined;
    row += rows;
  }
  return undefined;
};
