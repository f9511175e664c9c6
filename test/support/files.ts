/** Lists the files of a data directory. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The files below a folder of the directory, sorted; none where the folder is not there. */
export const filesIn = (directory: string, folder: string): readonly string[] => {
  const inside = join(directory, folder);
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => file.startsWith(`${inside}/`))
    .sort();
};
