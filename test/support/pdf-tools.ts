/**
 * Reads PDFs with foreign programs: qpdf checks the file, pdftotext reads it. Without them the check is skipped, but in
 * CI they must be there.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPng, readPpm, type Picture } from './picture-grid.js';
import type { ReadPdf } from './read-pdf.js';
import { isPlain } from './server-names.js';

/** True if the program can be run; in CI it must. `npm test` asks none. */
export const runs = (program: string, flag: string): boolean => {
  if (isPlain) return false;
  try {
    execFileSync(program, [flag], { stdio: 'ignore' });
    return true;
  } catch (fault) {
    if (process.env['CI'] === '1') throw new Error(`${program} is needed in CI`, { cause: fault });
    return false;
  }
};

const tools = {
  qpdf: runs('qpdf', '--version'),
  pdftotext: runs('pdftotext', '-v'),
  pdfinfo: runs('pdfinfo', '-v'),
  pdftoppm: runs('pdftoppm', '-v'),
};
const words = (text: string): readonly string[] => (text.normalize('NFKC').match(/[a-z0-9]+/gi) ?? []).toSorted();

/** Throws where qpdf finds a fault, or where pdftotext reads other words than `read` holds. */
export const checkedByOthers = async (bytes: Uint8Array, read: ReadPdf): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-pdf-'));
  const file = join(folder, 'made.pdf');
  try {
    writeFileSync(file, bytes);
    if (tools.qpdf) execFileSync('qpdf', ['--check', file], { stdio: 'pipe' });
    if (!tools.pdftotext) return;
    const found = words(
      execFileSync('pdftotext', [file, '-'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    const ours = read.sheets.flatMap(({ lines }) => lines.flatMap(words));
    const missing = ours.filter((word) => !found.includes(word) && !found.some((other) => other.includes(word)));
    if (missing.length > 0) throw new Error(`pdftotext does not find ${missing.slice(0, 5).join(', ')}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

export const readsStructure = tools.pdfinfo;

/** The structure that a screen reader reads: the elements with their attributes and texts, from poppler. */
export const heardOf = (bytes: Uint8Array): string =>
  execFileSync('pdfinfo', ['-struct-text', '-'], { input: bytes, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });

export const drawsPages = tools.pdftoppm;

/** The upper left corner of each page, 300 by 200 points with a pixel for each, as poppler draws it. */
export const drawnPages = (bytes: Uint8Array): readonly Picture[] => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-pages-'));
  try {
    writeFileSync(join(folder, 'made.pdf'), bytes);
    execFileSync('pdftoppm', ['-r', '72', '-W', '300', '-H', '200', 'made.pdf', 'page'], {
      cwd: folder,
      stdio: 'pipe',
    });
    const pages = readdirSync(folder).filter((file) => file.endsWith('.ppm'));
    return pages.sort().map((file) => readPpm(readFileSync(join(folder, file))));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** In: the body of a page. Out: what Chromium shows of it. */
export const screenshot = (html: string, { width, height }: Readonly<{ width: number; height: number }>): Picture => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-screenshot-'));
  try {
    writeFileSync(join(folder, 'page.html'), `<body style="margin:0;background:#fff">${html}`);
    const switches = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--hide-scrollbars',
      '--force-color-profile=srgb',
      `--user-data-dir=${folder}/profile`,
    ];
    const size = `--window-size=${Math.max(width, 600)},${height}`;
    execFileSync('chromium', [...switches, size, '--screenshot=page.png', 'page.html'], { cwd: folder, stdio: 'pipe' });
    return readPng(readFileSync(join(folder, 'page.png')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};
