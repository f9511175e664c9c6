/** Paragraphs as cells show them: runs of text with a font each, marks of lists, and links. */
import type { RichText } from 'exceljs';
import type { HorizontalAlign } from '../../../domain/rendering/expand/expanded.js';
import type { RunFont } from './fonts.js';

export type Paragraph = Readonly<{
  runs: readonly RichText[];
  text: string;
  /** 1 to 6 for headings. */
  heading: number | undefined;
  align: HorizontalAlign | undefined;
  fill: string | undefined;
  /** Steps to the right. */
  indent: number;
  /** The address, where all of the text is one link: a cell can lead to one place only, and does so wherever it is clicked. */
  href: string | undefined;
}>;
export type RichRow =
  | Readonly<{ kind: 'paragraph'; paragraph: Paragraph }>
  | Readonly<{ kind: 'line' }>
  | Readonly<{ kind: 'cells'; cells: readonly Paragraph[] }>;

/** What holds at one place of the tree. */
export type State = Readonly<{
  font: RunFont;
  align: HorizontalAlign | undefined;
  fill: string | undefined;
  indent: number;
  heading: number | undefined;
  pre: boolean;
  href: string | undefined;
  /** Numbers the items of a list; undefined in a list of bullets. */
  ordered: (() => number) | undefined;
  linkColor: string;
}>;

export type Writer = Readonly<{
  rows: RichRow[];
  text: (text: string, state: State) => void;
  lineBreak: (state: State) => void;
  /** The mark of a list item, at the beginning of its first paragraph. */
  mark: (text: string, state: State) => void;
  /** A mark that no text has come for yet stands alone. */
  settleMark: () => void;
  end: () => void;
}>;

type Run = { text: string; font: RunFont; href: string | undefined };

/** Takes text in reading order and makes paragraphs of it, each until it is ended. */
export const createWriter = (): Writer => {
  const rows: RichRow[] = [];
  let runs: Run[] = [];
  let from: State | undefined;
  let mark: Readonly<{ text: string; state: State }> | undefined;
  const add = (text: string, state: State): void => {
    if (text === '') return;
    from ??= state;
    const last = runs.at(-1);
    if (last?.font === state.font && last.href === state.href) last.text += text;
    else runs.push({ text, font: state.font, href: state.href });
  };
  const endsWithSpace = (): boolean => /[ \n]$/.test(runs.at(-1)?.text ?? ' ');
  const addMark = (state: State): void => {
    if (mark !== undefined) add(mark.text, { ...state, font: mark.state.font, href: undefined });
    mark = undefined;
  };
  const settleMark = (): void => {
    if (mark !== undefined) addMark(mark.state);
  };
  return {
    rows,
    text: (text, state) => {
      if (/[^ \t\r\n\f]/.test(text)) addMark(state);
      if (state.pre) return add(text, state);
      const folded = text.replace(/[ \t\r\n\f]+/g, ' ');
      add(endsWithSpace() ? folded.replace(/^ /, '') : folded, state);
    },
    lineBreak: (state) => {
      addMark(state);
      add('\n', state);
    },
    mark: (text, state) => {
      mark = { text, state };
    },
    settleMark,
    end: () => {
      const last = runs.at(-1);
      if (last !== undefined && from?.pre !== true) last.text = last.text.trimEnd();
      if (from !== undefined && runs.some((run) => run.text.trim() !== '')) {
        const { heading, align, fill, indent, font } = from;
        const { href, shown } = linked(
          runs.filter((run) => run.text !== ''),
          font,
        );
        rows.push({
          kind: 'paragraph',
          paragraph: { runs: shown, text: shown.map((run) => run.text).join(''), heading, align, fill, indent, href },
        });
      }
      runs = [];
      from = undefined;
    },
  };
};

/** A link that stands among other text is followed by its address, unless its text is the address. */
const linked = (runs: readonly Run[], font: RunFont): Readonly<{ href: string | undefined; shown: readonly RichText[] }> => {
  const [href] = runs.map((run) => run.href);
  const isLink = href !== undefined && runs.every((run) => run.href === href || run.text.trim() === '');
  const shown = runs.flatMap((run, at): RichText[] => {
    const isEnd = run.href !== undefined && !isLink && runs[at + 1]?.href !== run.href;
    const address = run.href?.replace(/^(?:mailto|tel):/i, '') ?? '';
    return [{ text: run.text, font: run.font }, ...(isEnd && run.text.trim() !== address ? [{ text: ` (${address})`, font }] : [])];
  });
  return { href: isLink ? href : undefined, shown };
};
