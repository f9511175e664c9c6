/** The note of the log in a directory of files. */
import { join } from 'node:path';
import type { LogNote, NotedFiles } from '../../domain/ports/log-note.js';
import { pathOf } from './directory.js';
import { exists, readText, writeDurably } from './durable.js';

const NAME = 'log.json';

/** `note` rejects where the file is none of ours. */
export const openFilesNote = ({ directory }: Readonly<{ directory: string }>): NotedFiles => {
  const file = join(directory, NAME);
  return {
    place: directory,
    note: async () => {
      const text = await readText(file);
      return text === undefined ? undefined : parse(file, text);
    },
    setNote: ({ instance, position, hash }) => writeDurably(directory, file, `${JSON.stringify({ instance, position, hash })}\n`),
    has: (hash) => exists(pathOf(directory, hash)),
    close: async () => {},
  };
};

const parse = (file: string, text: string): LogNote => {
  try {
    const { instance, position, hash } = JSON.parse(text) as Record<string, unknown>;
    if (typeof instance === 'string' && typeof position === 'number' && typeof hash === 'string') return { instance, position, hash };
  } catch {
    // Said below.
  }
  throw new Error(`${file} is damaged: it should say which log the files belong to; put back its newest copy, or delete it`);
};
