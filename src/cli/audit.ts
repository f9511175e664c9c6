/** `sealpost verify --export`: checks an exported audit log by itself, without a service and without its settings. */
import { createReadStream } from 'node:fs';
import { openExportCheck, type CheckedExport, type ExportFinding } from '../commands/audit/export-check.js';
import { exportReader, type ExportReader } from '../commands/audit/export.js';
import { counted } from '../shared/text.js';
import { exitCodes, print, printFault } from './core/output.js';

/** `root`: `POSITION:ROOT` of a seal, or the root of the export, that was noted elsewhere. */
export const verifyExport = async (file: string, root: string | undefined): Promise<void> => {
  const noted = root === undefined ? undefined : notedRoot(root);
  const result = await checkExport(createReadStream(file, 'utf8') as AsyncIterable<string>);
  const fault = 'line' in result ? `line ${result.line} ${result.message}` : noted && rootFault(noted, result);
  if (fault !== undefined) {
    printFault(`export: BROKEN: ${fault}; in ${file}`);
    process.exitCode = exitCodes.tampered;
    return;
  }
  const { entries, seals, root: ofFile } = result as CheckedExport;
  print(
    `export: ${counted(entries, 'entry is', 'entries are')} what the log has, under ${counted(seals.size, 'seal')}`,
  );
  const last = [...seals].at(-1);
  if (last !== undefined) print(`     newest seal: ${last[0]}:${last[1]}`);
  print(`     root of the export, as the log notes it: ${ofFile}`);
  if (noted === undefined) print('     compare one of them with what you noted elsewhere, or give it by --root');
  else print('     the root that you gave is one of them');
};

/** In: the text of the file, piece by piece. */
export const checkExport = async (input: AsyncIterable<string>): Promise<CheckedExport | ExportFinding> => {
  const check = openExportCheck();
  let reader: ExportReader | undefined;
  let line = 0;
  for await (const text of linesOf(input)) {
    line += 1;
    if (reader === undefined) {
      const { read, isHead } = await exportReader(text);
      reader = read;
      if (isHead) continue;
    }
    const finding = check.next(line, reader(text));
    if (finding !== undefined) return finding;
  }
  return check.end() ?? { line: line + 1, message: 'is missing: the file has no end' };
};

/** At line feeds alone: other characters that end a line in some programs may stand in what is quoted. */
async function* linesOf(input: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of input) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
  if (rest !== '') yield rest;
}

type Noted = Readonly<{ position?: number; root: string }>;

const notedRoot = (text: string): Noted => {
  const match = /^(?:(\d+):)?([0-9a-f]{64})$/.exec(text);
  if (match === null)
    throw new Error('--root takes POSITION:ROOT of a seal, or the root of the export, as they were noted');
  return match[1] === undefined ? { root: match[2]! } : { position: Number(match[1]), root: match[2]! };
};

const rootFault = ({ position, root }: Noted, { seals, root: ofFile }: CheckedExport): string | undefined => {
  if (position !== undefined) {
    const found = seals.get(position);
    if (found === root) return undefined;
    return found === undefined
      ? `it has no seal at position ${position}`
      : `its seal at position ${position} is not the one that was noted: the log was rewritten, or the export is of another`;
  }
  return root === ofFile || [...seals.values()].includes(root)
    ? undefined
    : 'neither its root nor any of its seals is the one that was noted';
};
