/** A line as it is read: what leads somewhere apart from what stands beside it. */
import { readText, type Line } from './bidi.js';
import type { LinePicture } from './nodes.js';
import type { BrokenLine } from './pdfmake-internals.js';

type Inlines = BrokenLine['inlines'];

export type LinePart = Readonly<{
  link: string | undefined;
  inlines: ReadonlySet<Inlines[number]>;
  /** As it is written, where what is drawn does not tell it. */
  actual: string | undefined;
  text: string;
  /** What is drawn in the place of the text. */
  picture: LinePicture | undefined;
}>;

const wholeLine = { link: undefined, inlines: new Set<Inlines[number]>(), text: '', picture: undefined } as const;

const pictureOf = (inline: Inlines[number] | undefined): LinePicture | undefined => inline?.picture as LinePicture | undefined;

/** In reading order; to be asked before `orderLine`. */
export const partsOf = (whole: BrokenLine): readonly LinePart[] => {
  const { inlines } = whole;
  // Most lines lead nowhere: they are drawn as they are.
  if (inlines.every(({ link, picture }) => (link === undefined || link === null) && picture === undefined))
    return [{ ...wholeLine, actual: readText(whole as Line) }];
  const { inlines: _whole, ...line } = whole;
  const groups: Inlines[] = [];
  for (const inline of inlines) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.link === inline.link && pictureOf(last[0]) === pictureOf(inline)) last.push(inline);
    else groups.push([inline]);
  }
  return groups.map((group) => ({
    link: group[0]?.link ?? undefined,
    inlines: new Set(group),
    actual: pictureOf(group[0]) === undefined ? readText({ ...line, inlines: group } as Line) : undefined,
    text: pictureOf(group[0])?.alt ?? group.map(({ text }) => text).join(''),
    picture: pictureOf(group[0]),
  }));
};

/** The line with one part of its words, as high as the whole; where they lead is told once for all of them by `roomOf`, not by each. */
export const lineOfPart = (line: BrokenLine, { inlines }: LinePart): BrokenLine => {
  const [height, ascender] = [line.getHeight(), line.getAscenderHeight()];
  const part = Object.create(line) as BrokenLine;
  return Object.assign(part, {
    inlines: line.inlines.filter((inline) => inlines.has(inline)).map((inline) => ({ ...inline, link: null })),
    getHeight: () => height,
    getAscenderHeight: () => ascender,
  });
};

/** The room below the letters of a line, half of what a line has beside them; pictures among them only make it higher. */
export const roomBelow = (line: BrokenLine, parts: readonly LinePart[], letters: number): number => {
  const height = parts.every(({ picture }) => picture === undefined)
    ? line.getHeight()
    : line.inlines.reduce((most, inline) => Math.max(most, pictureOf(inline) === undefined ? inline.height : 0), 0);
  return Math.max(height - letters, 0) / 2;
};

/** From where to where the words of a line stand. */
export const roomOf = ({ inlines }: BrokenLine): Readonly<{ x: number; width: number }> => {
  const x = Math.min(...inlines.map((inline) => inline.x));
  return { x, width: Math.max(...inlines.map((inline) => inline.x + inline.width)) - x };
};
