/** LibreOffice, which opens our workbooks as somebody else's program does. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { isPlain } from './server-names.js';

const isThere = ((): boolean => {
  if (isPlain) return false;
  try {
    execFileSync('soffice', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** For the `skip` of a test: in CI the program has to be there. */
export const lacksLibreOffice: string | false =
  isThere || (process.env['CI'] !== undefined && !isPlain) ? false : 'soffice is not installed, or not asked';

/**
 * In: a workbook, and the options of LibreOffice's filter "Text - txt - csv (StarCalc)", of which the last may name a
 * sheet. Out: the one sheet that it writes as CSV.
 */
export const csvOf = (t: Test, workbook: Uint8Array, options: string): Promise<string> =>
  converted(t, workbook, 'csv', `csv:Text - txt - csv (StarCalc):${options}`);

/** In: a workbook. Out: the same as a flat OpenDocument spreadsheet, in which every cell says how it is shown. */
export const openDocumentOf = (t: Test, workbook: Uint8Array): Promise<string> =>
  converted(t, workbook, 'fods', 'fods');

/**
 * LibreOffice makes its profile at its first start, which costs most of it; the others of this process wait for the one
 * before.
 */
let profile: string | undefined;
let previous: Promise<unknown> = Promise.resolve();

const profileOfProcess = (): string => {
  if (profile !== undefined) return profile;
  const made = mkdtempSync(join(tmpdir(), 'sealpost-libreoffice-'));
  process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  return (profile = made);
};

const converted = (t: Test, workbook: Uint8Array, ending: string, filter: string): Promise<string> => {
  const mine = previous.then(() => convert(t, workbook, ending, filter));
  previous = mine.catch(() => undefined);
  return mine;
};

const convert = async (t: Test, workbook: Uint8Array, ending: string, filter: string): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'sealpost-workbook-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'book.xlsx');
  writeFileSync(file, workbook);
  await promisify(execFile)('soffice', [
    `-env:UserInstallation=file://${profileOfProcess()}`,
    '--headless',
    '--convert-to',
    filter,
    '--outdir',
    folder,
    file,
  ]);
  const [written, ...others] = readdirSync(folder).filter((name) => name.endsWith(`.${ending}`));
  if (written === undefined || others.length > 0)
    throw new Error(`LibreOffice wrote ${written === undefined ? 'no sheet' : 'several sheets'}`);
  return readFileSync(join(folder, written), 'utf8');
};
