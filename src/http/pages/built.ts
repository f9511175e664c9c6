/** Reads the list of files that a build leaves beside them (files.json), and chooses the compressed form of a file. */
import { readFile, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** Compressed forms that a build writes beside a file. */
export type Encoding = 'br' | 'gzip';

export const endings: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

/**
 * In: the folder of a build, with a slash at its end. Out: reads the list at its first use and keeps it; undefined as
 * long as there is none. `isReplaced`: a later build removes the files of the one before, so the list is read again when
 * it has changed.
 */
export const openBuilt = <Built>(
  folder: URL,
  { isReplaced = false }: Readonly<{ isReplaced?: boolean }> = {},
): (() => Promise<Built | undefined>) => {
  const list = new URL('files.json', folder);
  let known: Promise<Built | undefined> | undefined;
  let knownMs = 0;
  const read = async (): Promise<Built | undefined> => {
    try {
      return JSON.parse(await readFile(list, 'utf8')) as Built;
    } catch (fault) {
      known = undefined;
      if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw fault;
    }
  };
  return async () => {
    if (isReplaced) {
      const changedMs = (await stat(list).catch(() => undefined))?.mtimeMs ?? 0;
      if (changedMs !== knownMs) known = undefined;
      knownMs = changedMs;
    }
    return (known ??= read());
  };
};

/** In: the folder of a build, and the name of a file whose Brotli form is there. Out: the bytes of the file itself. */
export const decompressed = async (folder: URL, name: string): Promise<Buffer> =>
  promisify(brotliDecompress)(await readFile(new URL(`${name}${endings.br}`, folder)));

/** The first of the encodings that the header accepts. */
export const encodingFor = (
  header: string | readonly string[] | undefined,
  encodings: readonly Encoding[],
): Encoding | undefined => encodings.find((name) => accepts(header, name));

/** Whether the header names the encoding and does not refuse it (RFC 9110, section 12.5.3). */
const accepts = (header: string | readonly string[] | undefined, encoding: Encoding): boolean =>
  String(header ?? '')
    .split(',')
    .some((part) => {
      const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
      return name === encoding && !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter));
    });
