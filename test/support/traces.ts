/** Finds the files of a data directory that contain a word. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The forms in which a word may stand in a file: as it is, with capitals folded as a search index does, and in base64
 * at each offset.
 */
const formsOf = (mark: string): readonly Buffer[] => {
  const inBase64 = [0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + mark)
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  );
  return [mark, mark.toLowerCase(), ...inBase64].map((text) => Buffer.from(text));
};

/** The files of the directory, each with every form of the mark that stands in it. */
export const traces = (directory: string, mark: string): readonly string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const file = join(entry.parentPath, entry.name);
      const bytes = readFileSync(file);
      return formsOf(mark)
        .filter((form) => bytes.includes(form))
        .map((form) => `${file.slice(directory.length)}: ${form.toString()}`);
    });
