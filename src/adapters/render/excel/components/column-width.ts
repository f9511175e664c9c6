/** How wide a column must be for what it shows, without writing out every value: that costs more than all else of a cell. */
import type { Cell, Html } from '../../../../domain/rendering/expand/expanded.js';
import type { Json } from '../../../../domain/core/json.js';
import { meaningOf, PLAIN_NUMBER, type Showing } from '../../../../domain/rendering/scope/showing.js';
import { textWidth } from '../text.js';

/** Values that are written out to see how wide their format makes them: words for months differ in length. */
const SAMPLES = 40;
const TRUTH_CHARS = 5;

/** Out: characters of the longest line. */
export const contentWidth = (cells: Iterable<Cell>): number => {
  let chars = 0;
  let samples = 0;
  let largest: Cell | undefined;
  let longest: Cell | undefined;
  for (const cell of cells) {
    const { value, showing } = cell;
    if (typeof value === 'boolean') chars = Math.max(chars, TRUTH_CHARS);
    else if (value === undefined || value === null || typeof value === 'object') chars = Math.max(chars, htmlWidth(cell.html));
    else if (isAsItIs(value, showing)) chars = Math.max(chars, typeof value === 'string' ? textWidth(value) : String(value).length);
    else if (samples++ < SAMPLES) chars = Math.max(chars, htmlWidth(cell.html));
    else {
      if (largest === undefined || magnitude(cell) > magnitude(largest)) largest = cell;
      if (longest === undefined || String(value).length > String(longest.value).length) longest = cell;
    }
  }
  return Math.max(chars, htmlWidth(largest?.html ?? ''), htmlWidth(longest?.html ?? ''));
};

/** True for what is written without a format of its own. */
export const isAsItIs = (value: Json, showing: Showing | undefined): boolean => {
  if (showing === undefined) return true;
  const meaning = meaningOf(value, showing);
  return meaning.kind === 'number' ? meaning.format === PLAIN_NUMBER : meaning.kind === 'text' && meaning.format === undefined;
};

const magnitude = ({ value }: Cell): number => (typeof value === 'number' ? Math.abs(value) + (value < 0 ? 0.5 : 0) : 0);

/** What is seen of HTML, roughly: its tags take no room and each entity that of one letter. */
export const htmlWidth = (html: Html): number =>
  textWidth(
    /[<&]/.test(html)
      ? html
          .replace(/<br\s*\/?>/gi, '\n')
          .replace(/<[^>]*>/g, '')
          .replace(/&[#\w]+;/g, 'x')
      : html,
  );
