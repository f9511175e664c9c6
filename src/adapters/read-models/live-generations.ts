/** The open files of the live generations. */
import { isSqliteError } from '../sqlite/database.js';
import type { Catalog, Projection } from './catalog.js';
import { isDamage, isDamagedAtOpening, moveAside, type OnDamaged } from './damaged.js';
import { createGeneration, openGeneration, type Generation } from './generation.js';

type Use = <Result>(name: string, work: (generation: Generation) => Result) => Result;
export type LiveGenerations = Readonly<{
  /**
   * The work is done on the generation that is live now, whichever process has put it there. Where its file is damaged it is moved
   * aside, and the work is done on an empty generation, which the projection fills from the log.
   */
  use: Use;
  /** Closes the file, until it is used again. */
  release: (name: string) => void;
  close: () => void;
}>;

/** A generation can be replaced between the look into the catalog and the opening of its file. */
const openAttemptsMax = 5;

export type LiveGenerationsOptions = Readonly<{ catalog: Catalog; onFault: (fault: Error) => void; onDamaged: OnDamaged }>;

export const openLiveGenerations = ({ catalog, onFault, onDamaged }: LiveGenerationsOptions): LiveGenerations => {
  const open = new Map<string, Generation>();

  const release = (name: string): void => {
    open.get(name)?.close();
    open.delete(name);
  };

  const renew = ({ name, generation, specs }: Projection): void => {
    release(name);
    if (!catalog.renew(name, generation, (file) => createGeneration(file, specs))) return;
    const file = catalog.fileOf(name, generation);
    onDamaged(file, moveAside(file));
  };

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
        if (attempt === openAttemptsMax) throw error;
        if (isDamagedAtOpening(error, catalog.fileOf(name, projection.generation))) renew(projection);
        else if (!isSqliteError(error, 'SQLITE_CANTOPEN')) throw error;
      }
    }
  };

  return {
    use: (name, work) => {
      const projection = catalog.projection(name);
      try {
        return work(current(name));
      } catch (error) {
        if (!isDamage(error) || projection === undefined) throw error;
        renew(projection);
        return work(current(name));
      }
    },
    release,
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
