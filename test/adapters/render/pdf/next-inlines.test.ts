/** A text of very many words is broken into the same lines as if pdfmake saw all of them, which it copies for each. */
import fc from 'fast-check';
import t from 'tap';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { showNextInlines } from '../../../../src/adapters/render/pdf/layout.js';
import { LayoutBuilder } from '../../../../src/adapters/render/pdf/pdfmake-internals.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import { documentOf, page, richText } from '../../../support/expanded-documents.js';

type Inline = Readonly<{
  text: string;
  width: number;
  noNewLine?: boolean;
  lineEnd?: boolean;
  leadingCut: number;
  trailingCut: number;
}>;
type Line = Readonly<{ inlines: readonly Inline[]; lastLineInParagraph: boolean }>;

const WIDTH = 100;

const { buildNextLine } = LayoutBuilder.prototype;

const linesOf = (
  inlines: readonly Inline[],
  before: (node: object) => void,
): Readonly<{ lines: readonly unknown[]; shownMax: number }> => {
  const layout = { writer: { context: () => ({ availableWidth: WIDTH }) } };
  const node = { _inlines: inlines.map((inline) => ({ ...inline })) };
  const lines: unknown[] = [];
  let shownMax = 0;
  for (;;) {
    before(node);
    shownMax = Math.max(shownMax, node._inlines.length);
    const line = buildNextLine.call(layout as never, node as never) as Line | null;
    if (line === null) return { lines, shownMax };
    lines.push([line.lastLineInParagraph, ...line.inlines.map(({ text }) => text)]);
  }
};

const inNextInlines = (): ((node: object) => void) => {
  const show = showNextInlines();
  return (node) => show(node, WIDTH);
};

const inlineOf = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 350 })),
    fc.nat(9),
    fc.nat(9),
    fc.nat(15),
    fc.nat(40),
  )
  .map(([width, leading, trailing, glued, end]) => ({
    width,
    leadingCut: leading === 0 ? width / 2 : 0,
    trailingCut: trailing < 3 ? width : 0,
    ...(glued < 5 && { noNewLine: true }),
    ...(end === 0 && { lineEnd: true }),
  }));

void t.test('the same lines, of words of any width, glued, cut and ended', async () => {
  fc.assert(
    fc.property(fc.array(inlineOf, { minLength: 195, maxLength: 400 }), (given) => {
      const inlines = given.map((inline, at) => ({ ...inline, text: String.fromCharCode(0x4e00 + at) }));
      t.same(linesOf(inlines, inNextInlines()).lines, linesOf(inlines, () => undefined).lines);
    }),
    { numRuns: 300 },
  );
});

void t.test('of twenty thousand words no line sees more than it may take', async (t) => {
  const inlines = Array.from({ length: 20_000 }, (_, at) => ({
    text: String.fromCharCode(0x4e00 + at),
    width: 10,
    leadingCut: 0,
    trailingCut: 0,
  }));
  const { lines, shownMax } = linesOf(inlines, inNextInlines());
  t.equal(lines.length, 2_000);
  t.ok(shownMax <= 25, `${shownMax} words before one line`);
});

void t.test('so it is in a document, of words and of characters without a font', async (t) => {
  let seenMax = 0;
  LayoutBuilder.prototype.buildNextLine = function (this: InstanceType<typeof LayoutBuilder<object>>, node: object) {
    seenMax = Math.max(seenMax, (node as { _inlines?: readonly unknown[] })._inlines?.length ?? 0);
    return buildNextLine.call(this as never, node as never);
  } as typeof buildNextLine;
  t.teardown(() => void (LayoutBuilder.prototype.buildNextLine = buildNextLine));
  const limits = { ...defaultLimits, pdfPagesMax: 1_000 };
  const metadata = { title: 'Words', author: 'Ada', createdAt: '2026-01-02T03:04:05.000Z' };
  for (const text of ['word '.repeat(10_000), '\u{12000}\u{12001}'.repeat(2_000)]) {
    seenMax = 0;
    await makePdf(
      { ...documentOf(page([richText(`<p>${text}</p>`)])), refuses: () => false },
      new Map(),
      metadata,
      limits,
    );
    t.ok(seenMax > 10 && seenMax <= 200, `${seenMax} words before one line`);
  }
});
