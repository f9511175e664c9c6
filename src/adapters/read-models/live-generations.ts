/** The open files of the live generations. */
import { isSqliteError } from '../sqlite/database.js';
import type { Catalog, Projection } from './catalog.js';
import { openGeneration, type Generation } from './generation.js';

type Use = <Result>(name: string, work: (generation: Generation) => Result) => Result;
export type LiveGenerations = Readonly<{
  /** The work is done on the generation that is live now, whichever process has put it there. */
  use: Use;
  /** Closes the file, until it is used again. */
  release: (name: string) => void;
  close: () => void;
}>;

/** A generation can be replaced between the look into the catalog and the opening of its file. */
const openAttemptsMax = 5;

export const openLiveGenerations = (catalog: Catalog, onFault: (fault: Error) => void): LiveGenerations => {
  const open = new Map<string, Generation>();

  const current = (name: string): Generation => {
    for (let attempt = 1; ; attempt += 1) {
      const projection = catalog.projection(name);
      if (projection === undefined) throw new Error(`there is no projection ${name}`);
      const known = open.get(name);
      if (known?.number === projection.generation) return known;
      known?.close();
      open.delete(name);
      try {
        const generation = openGeneration(place(catalog, projection), onFault);
        open.set(name, generation);
        return generation;
      } catch (error) {
        if (attempt === openAttemptsMax || !isSqliteError(error, 'SQLITE_CANTOPEN')) throw error;
      }
    }
  };

  return {
    use: (name, work) => work(current(name)),
    release: (name) => {
      open.get(name)?.close();
      open.delete(name);
    },
    close: () => {
      for (const generation of open.values()) generation.close();
      open.clear();
    },
  };
};

const place = (catalog: Catalog, { name, generation, specs }: Projection) => ({
  file: catalog.fileOf(name, generation),
  number: generation,
  specs,
});
