/** The words of a long text as its lines need them: pdfmake copies all that are left for each word that it sets. */

type Inline = Readonly<{ width: number; leadingCut?: number; noNewLine?: boolean }>;
type Text = { _inlines?: Inline[] };

/** A shorter text is left to pdfmake as it is. */
const LONG_FROM = 200;
/** Of a line: what a text must have beyond it, so that pdfmake ends the line where it would with all words before it. */
const LINES_AHEAD = 2;

/**
 * Out: what is called before each line of a text, with the width of the line. It leaves on the text as many of its next words as that line
 * can take and a few more, and none only where no word is left.
 */
export const showNextInlines = (): ((node: object, width: number) => void) => {
  const waiting = new WeakMap<Text, { inlines: readonly Inline[]; next: number }>();
  return (node, width) => {
    const text: Text = node;
    let rest = waiting.get(text);
    if (rest === undefined) {
      if ((text._inlines?.length ?? 0) <= LONG_FROM) return;
      rest = { inlines: text._inlines ?? [], next: 0 };
      waiting.set(text, rest);
      text._inlines = [];
    }
    const shown = text._inlines ?? [];
    let reached = 0;
    let isEnough = false;
    // Words that may not be parted are counted together; behind those that fill the line stands one more, so that it is not the last line.
    for (let at = 0; !isEnough; at += 1) {
      isEnough = reached > LINES_AHEAD * width && shown[at - 1]?.noNewLine !== true;
      if (at === shown.length) {
        const inline = rest.inlines[rest.next];
        if (inline === undefined) return;
        shown.push(inline);
        rest.next += 1;
      }
      const { width: added = 0, leadingCut = 0 } = shown[at] ?? {};
      reached += at === 0 ? added - leadingCut : added;
    }
  };
};
