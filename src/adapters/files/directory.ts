/**
 * Files in a directory, each under the SHA-256 of its content:
 *
 *   ab/cdef…             the bytes
 *   ab/cdef….until       their expiry (ISO time); no such file: never
 *   expiring/<day>/<hash>  empty; a sweep reads these notes instead of all files
 *   tmp/                 files being written
 *   log.json             the log that the files belong to
 *
 * A crash at any point leaves at most a note without its file, or a file whose hash was given to nobody.
 */
import { statfs, readFile, readdir, rm, stat } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Disk } from '../../domain/ports/disk.js';
import { FileDamaged, StoreAway } from '../../domain/core/errors.js';
import { tellingFaults } from '../../shared/port-faults.js';
import type { Files } from '../../domain/ports/files.js';
import { exists, orAbsent, readText, syncDirectory, writeDurably, checkHash, isHash, isoTimeOf } from './durable.js';
import type { LogNote, NotedFiles } from '../../domain/ports/log-note.js';

/** Runs the work of one key in order, and that of different keys at the same time. */
type OneAtATime = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** A file in `tmp` that is older was left by a crash. */
const abandonedAfterMs = 24 * 60 * 60 * 1000;

const NAME = 'log.json';

/**
 * Error codes of the operating system while a disk is full, fails, is read-only or away, or while the process has no
 * file descriptors left.
 */
const refusals: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EIO',
  'EROFS',
  'ESTALE',
  'ENODEV',
  'EMFILE',
  'ENFILE',
]);

/** In: the directory, made if there is none. The functions reject with RangeError if a hash is not 64 hex digits. */
export const openDirectoryFiles = ({ directory }: Readonly<{ directory: string }>): Files => {
  const { path, until, note } = pathsIn(directory);
  // Work on one hash in this process runs one after the other. Two processes never work on one hash, because each
  // content was sealed with a nonce of its own.
  const alone = oneAtATime();

  const keepUntil = async (hash: string, expiresAt: string): Promise<void> => {
    const stored = await exists(path(hash));
    const now = await readText(until(hash));
    // An earlier put without expiry, or with a later one, still needs the file.
    if (stored && (now === undefined || now >= expiresAt)) return;
    await writeDurably(directory, note(hash, expiresAt), '');
    await writeDurably(directory, until(hash), expiresAt);
  };

  const deleteFile = async (hash: string): Promise<void> => {
    await rm(path(hash), { force: true });
    await rm(until(hash), { force: true });
    await syncDirectory(dirname(path(hash)));
  };

  /** Out: true if the file was due and is deleted. */
  const sweepOne = async (hash: string, day: string, now: string): Promise<boolean> => {
    const expiresAt = await readText(until(hash));
    const isDue = expiresAt !== undefined && expiresAt <= now;
    // The file is due later on this day, so its note is still needed.
    if (expiresAt !== undefined && !isDue && expiresAt.startsWith(day)) return false;
    const deleted = isDue && (await exists(path(hash)));
    if (isDue) await deleteFile(hash);
    await rm(note(hash, day), { force: true });
    return deleted;
  };

  return tellingRefusals<Files>({
    put: async (bytes, { expiresAt } = {}) => {
      const hash = createHash('sha256').update(bytes).digest('hex');
      const limit = expiresAt === undefined ? undefined : isoTimeOf(expiresAt);
      await alone(hash, async () => {
        if (limit !== undefined) await keepUntil(hash, limit);
        else await rm(until(hash), { force: true });
        await writeDurably(directory, path(hash), bytes);
      });
      return hash;
    },
    get: async (hash) => readChecked(path(hash), hash),
    delete: (hash) => alone(hash, () => deleteFile(hash)),
    expired: (now) => countExpired(directory, isoTimeOf(now)),
    sweep: async (now, { abandonedBefore } = {}) => {
      const limit = isoTimeOf(now);
      let deleted = 0;
      for await (const { hash, day } of notedUntil(directory, limit))
        if (await alone(hash, () => sweepOne(hash, day, limit))) deleted += 1;
      const abandonedMs =
        abandonedBefore === undefined ? Date.parse(limit) - abandonedAfterMs : Date.parse(isoTimeOf(abandonedBefore));
      await clearAbandoned(join(directory, 'tmp'), abandonedMs);
      return deleted;
    },
  });
};

/** Makes the functions reject with StoreAway while the disk refuses. */
const tellingRefusals = <Port extends object>(port: Port): Port =>
  tellingFaults(port, (fault) => {
    const code = fault instanceof Error && 'code' in fault && typeof fault.code === 'string' ? fault.code : '';
    return refusals.has(code)
      ? new StoreAway(`the disk that keeps the files refuses (${code})`, { cause: fault, code })
      : fault;
  });

/** The notes of the days up to that time. */
async function* notedUntil(directory: string, limit: string): AsyncGenerator<Readonly<{ hash: string; day: string }>> {
  for (const day of (await entries(join(directory, 'expiring'))).filter(
    (name) => DAY.test(name) && name <= limit.slice(0, 10),
  ))
    for (const hash of (await entries(join(directory, 'expiring', day))).filter(isHash)) yield { hash, day };
}

const countExpired = async (directory: string, limit: string): Promise<number> => {
  const { path, until } = pathsIn(directory);
  const due = new Set<string>();
  for await (const { hash } of notedUntil(directory, limit)) {
    const expiresAt = await readText(until(hash));
    if (expiresAt !== undefined && expiresAt <= limit && (await exists(path(hash)))) due.add(hash);
  }
  return due.size;
};

/** The path of the file of a hash. */
const pathOf = (directory: string, hash: string): string => {
  checkHash(hash);
  return join(directory, hash.slice(0, 2), hash.slice(2));
};

/** The paths of the file of a hash, of its expiry, and of the note for the sweep. */
const pathsIn = (directory: string) => {
  const path = (hash: string): string => pathOf(directory, hash);
  return {
    path,
    until: (hash: string): string => `${path(hash)}.until`,
    note: (hash: string, expiresAt: string): string => join(directory, 'expiring', expiresAt.slice(0, 10), hash),
  };
};

/** Rejects if the content has another hash, or the disk cannot read it. */
const readChecked = async (file: string, hash: string): Promise<Buffer | undefined> => {
  const bytes = await readBytes(file).catch((fault: unknown) => {
    const isDamage = fault instanceof Error && 'code' in fault && (fault.code === 'EIO' || fault.code === 'EISDIR');
    throw isDamage ? new FileDamaged(hash, 'the disk cannot read it', fault) : fault;
  });
  if (bytes !== undefined && createHash('sha256').update(bytes).digest('hex') !== hash)
    throw new FileDamaged(hash, 'its content has another hash');
  return bytes;
};

const readBytes = (file: string): Promise<Buffer | undefined> => orAbsent(readFile(file));
const entries = async (directory: string): Promise<string[]> => (await orAbsent(readdir(directory))) ?? [];

const clearAbandoned = async (directory: string, beforeMs: number): Promise<void> => {
  for (const name of await entries(directory)) {
    const found = await orAbsent(stat(join(directory, name)));
    if (found !== undefined && found.mtimeMs < beforeMs) await rm(join(directory, name), { force: true });
  }
};

const oneAtATime = (): OneAtATime => {
  /** The last work of each key that has any. */
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, result);
    const forget = (): void => {
      if (last.get(key) === result) last.delete(key);
    };
    result.then(forget, forget);
    return result;
  };
};

export const openDisk = (directory: string): Disk => ({
  freeBytes: async () => {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  },
});

/** The note of the log in a directory of files. `note` rejects if the file has another form. */
export const openFilesNote = ({ directory }: Readonly<{ directory: string }>): NotedFiles => {
  const file = join(directory, NAME);
  return {
    place: directory,
    note: async () => {
      const text = await readText(file);
      return text === undefined ? undefined : parse(file, text);
    },
    setNote: ({ instance, position, hash }) =>
      writeDurably(directory, file, `${JSON.stringify({ instance, position, hash })}\n`),
    has: (hash) => exists(pathOf(directory, hash)),
    close: async () => {},
  };
};

const parse = (file: string, text: string): LogNote => {
  try {
    const { instance, position, hash } = JSON.parse(text) as Record<string, unknown>;
    if (typeof instance === 'string' && typeof position === 'number' && typeof hash === 'string')
      return { instance, position, hash };
  } catch {
    // Reported below.
  }
  throw new Error(
    `${file} is damaged: it should say which log the files belong to; put back its newest copy, or delete it`,
  );
};
