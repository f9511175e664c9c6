/**
 * Places of the words of a PDF, as poppler sees them: page by page, with the box of each word in points from the top
 * left.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isPlain } from './server-names.js';

export type PlacedWord = Readonly<{
  text: string;
  page: number;
  left: number;
  top: number;
  right: number;
  bottom: number;
}>;

/** In the order in which they are drawn; undefined where poppler is not installed, which fails in CI. */
export const placedWords = (bytes: Uint8Array): readonly PlacedWord[] | undefined => {
  const html = printedBy('pdftotext', ['-bbox', '-raw'], bytes);
  if (html === undefined) return undefined;
  return html.split('<page ').flatMap((part, page) =>
    [...part.matchAll(/<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">([^<]*)</g)].map(
      ([, left, top, right, bottom, text = '']) => ({
        text,
        page,
        left: Number(left),
        top: Number(top),
        right: Number(right),
        bottom: Number(bottom),
      }),
    ),
  );
};

/**
 * The output of a program of poppler or qpdf for a PDF; undefined in `npm test`, and if it is not installed, which
 * fails in CI.
 */
export const printedBy = (
  program: 'pdftotext' | 'pdfinfo' | 'qpdf',
  flags: readonly string[],
  bytes: Uint8Array,
): string | undefined => {
  if (isPlain) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-words-'));
  try {
    const file = join(folder, 'made.pdf');
    writeFileSync(file, bytes);
    const output = program === 'pdftotext' ? ['-'] : [];
    return execFileSync(program, [...flags, file, ...output], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1 << 26,
    });
  } catch (fault) {
    if ((fault as { code?: unknown }).code === 'ENOENT' && process.env['CI'] !== '1') return undefined;
    throw fault;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
