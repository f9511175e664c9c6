/** Mails as other people's parsers read them: Python's email package and Perl's MIME::Parser. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isPlain } from './server-names.js';

export type ReadPart = Readonly<{
  /** The types of the part and of those around it, outermost first, e.g. `multipart/mixed>text/plain`. */
  path: string;
  disposition: string;
  filename: string;
  /** With its angle brackets. */
  contentId: string;
  charset: string;
  method: string;
  /** Hash of the decoded bytes. */
  sha256: string;
  /** The text that a reader shows, with LF line ends; '' for files. */
  text: string;
}>;

export type ReadMail = Readonly<{
  subject: string;
  from: readonly (readonly [name: string, address: string])[];
  replyTo: readonly (readonly [name: string, address: string])[];
  to: readonly (readonly [name: string, address: string])[];
  cc: readonly (readonly [name: string, address: string])[];
  references: readonly string[];
  listId: string;
  parts: readonly ReadPart[];
  /** The faults that the parser found. */
  faults: readonly string[];
}>;

export type ForeignReader = Readonly<{
  name: string;
  isHere: boolean;
  /** Absent where the parser is asked for file names alone. */
  read?: (raw: Buffer) => ReadMail;
  fileNames: (raw: Buffer) => readonly string[];
}>;

const fileOf = (name: string): string =>
  fileURLToPath(new URL(`../../../test/support/readers/${name}`, import.meta.url));

const answerOf = (name: string, program: string, file: string, raw: Buffer): unknown => {
  const { status, stdout, stderr } = spawnSync(program, [fileOf(file)], {
    input: raw,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${name} could not read the mail: ${stderr}`);
  return JSON.parse(stdout);
};

const readerOf = (name: string, program: string, probe: readonly string[], file: string): ForeignReader => {
  const read = (raw: Buffer): ReadMail => answerOf(name, program, file, raw) as ReadMail;
  return {
    name,
    isHere: !isPlain && spawnSync(program, probe).status === 0,
    read,
    fileNames: (raw) => read(raw).parts.flatMap(({ filename }) => (filename === '' ? [] : [filename])),
  };
};

const ruby = 'mail of Ruby';

export const foreignReaders: readonly ForeignReader[] = [
  readerOf("Python's email package", 'python3', ['-c', 'import email.policy'], 'read-mail.py'),
  readerOf(
    'MIME::Parser of Perl',
    'perl',
    ['-MMIME::Parser', '-MMail::Address', '-MJSON::PP', '-e', '1'],
    'read-mail.pl',
  ),
  {
    name: ruby,
    isHere: !isPlain && spawnSync('ruby', ['-rmail', '-e', '1']).status === 0,
    fileNames: (raw) => answerOf(ruby, 'ruby', 'file-names.rb', raw) as readonly string[],
  },
];
