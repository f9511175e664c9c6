/** How often reads of MongoDB ask which generation is live. */
import t from 'tap';
import { type Catalog, openLive } from '../../../src/adapters/read-models/mongodb.js';
import type { Db } from '../../../src/adapters/mongodb/client.js';

const specs = ['things', 'others'].map((name) => ({ name, fields: [], indexes: [] }));
const projectionOf = (name: string) => ({ name: `p-${name}`, version: 'v', live: 1, position: 0 });
const found = (names: readonly string[]) =>
  new Map(names.map((name) => [name, { name, version: 'v', live: 1, position: 0 }]));

await t.test(
  'reads that are made at once share a look at the catalog, whatever they read, though none uses one that began before it',
  async (t) => {
    let looks = 0;
    const catalog = {
      projections: async (names: readonly string[]) => {
        looks += 1;
        await new Promise((resolve) => setImmediate(resolve));
        return found(names);
      },
      projectionOf: async (collection: string) => projectionOf(collection),
      specsOf: async () => specs,
    } as unknown as Catalog;
    const live = openLive({ collection: () => ({}) } as unknown as Db, catalog);
    const read = (isNothing: boolean, at = 0) =>
      live.read(
        specs[at % 2]!.name,
        () => isNothing,
        async () => 1,
      );
    await read(false);
    t.equal(looks, 1);
    await read(false, 1);

    looks = 0;
    t.same(
      await Promise.all(Array.from({ length: 20 }, (_, at) => read(false, at))),
      Array.from({ length: 20 }, () => 1),
    );
    t.ok(looks <= 2, `${looks} looks of 20 reads`);

    looks = 0;
    await Promise.all(Array.from({ length: 20 }, (_, at) => read(true, at)));
    t.ok(looks <= 4, `${looks} looks of 20 reads that found nothing`);
  },
);

await t.test(
  'what is empty again and again is followed by one look each time, which begins after the read',
  async (t) => {
    const told: string[] = [];
    const catalog = {
      projections: async (names: readonly string[]) => {
        told.push('look');
        return found(names);
      },
      projectionOf: async (collection: string) => projectionOf(collection),
      specsOf: async () => specs,
    } as unknown as Catalog;
    const live = openLive({ collection: () => ({}) } as unknown as Db, catalog);
    const read = async (isNothing: boolean): Promise<readonly string[]> => {
      told.length = 0;
      const work = async (): Promise<number> => {
        await new Promise((resolve) => setImmediate(resolve));
        return told.push('read');
      };
      await live.read('things', () => isNothing, work);
      return [...told];
    };
    t.same(await read(true), ['look', 'read', 'look'], 'at first it is not known');
    t.same(await read(true), ['read', 'look']);
    t.same(await read(false), ['read', 'look'], 'what was found after all');
    t.same(await read(false), ['look', 'read'], 'then the look is beside the read again');
  },
);
