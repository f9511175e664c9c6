/** A cell of text from HTML: plain where it can be, runs with fonts where it must be, a link where all of it leads to one place. */
import type { Html } from '../../../domain/rendering/expand/expanded.js';
import { parseRichTree, treeText } from '../rich-tree.js';
import type { RunFont } from './fonts.js';
import { richCell, type Paragraph } from './rich-cells.js';
import type { CellStyle, DrawnCell, Sheet } from './sheet.js';
import { cellText, looksLikeFormula, TEXT_CODE, type TextPlace } from './text.js';

/** `row` and `column` from 1. */
export type TextSpot = TextPlace & Readonly<{ sheet: Sheet; charsMax: number; row: number; column: number; font: RunFont }>;
/** In: the text, and the code of its format ('' or `@`). */
export type StyleOfText = (text: string, code: string) => CellStyle;

export type Content = Readonly<{ html: Html }> | Readonly<{ text: string }>;

/** Throws DomainError where the text is longer than a cell holds. */
export const textCell = (content: Content, spot: TextSpot, styleOf: StyleOfText): DrawnCell => {
  if ('html' in content && content.html.includes('<')) return paragraphCell(richCell(content.html, spot.font), spot, styleOf);
  const text = cellText('text' in content ? content.text : plainOf(content.html), spot.charsMax, spot);
  if (text === '') return { value: null, style: styleOf('', '') };
  // Not every reader undoes the escape in a plain value; all do in a text with runs.
  return { value: text.includes('_x005F_') ? { richText: [{ text }] } : text, style: styleOf(text, codeOf(text)) };
};

const plainOf = (html: Html): string => (html.includes('&') ? treeText(parseRichTree(html, 'inline')) : html);

/** The same for a paragraph that was taken apart already. */
export const paragraphCell = (paragraph: Paragraph, spot: TextSpot, styleOf: StyleOfText): DrawnCell => {
  const text = cellText(paragraph.text, spot.charsMax, spot);
  const style = styleOf(text, codeOf(text));
  if (paragraph.href !== undefined) spot.sheet.link(spot.row, spot.column, paragraph.href);
  if (paragraph.runs.length === 0) return { value: null, style };
  return { value: { richText: paragraph.runs.map((run) => ({ ...run, text: cellText(run.text, spot.charsMax, spot) })) }, style };
};

const codeOf = (text: string): string => (looksLikeFormula(text) ? TEXT_CODE : '');
