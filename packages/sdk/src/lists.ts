/** Lists of the API, page after page. */
import type { CallOptions } from './http.js';

type Page<Item> = Readonly<{ data: readonly Item[]; meta?: Readonly<{ nextCursor?: string | null }> }>;

/** The things of a page of a list. */
export type ItemOf<P> = P extends Readonly<{ data: readonly (infer Item)[] }> ? Item : never;

/** Its things one after the other (`for await`), or one page (`await list.page()`). Nothing is called before that. */
export type List<P extends Page<unknown>> = AsyncIterable<ItemOf<P>> &
  Readonly<{
    /** In: `meta.nextCursor` of the page before; absent: the first page. */
    page: (cursor?: string) => Promise<P>;
    /** At most `limit` things; default: 1,000. */
    all: (limit?: number) => Promise<readonly ItemOf<P>[]>;
  }>;

const ALL_LIMIT = 1_000;

/** In: a function that reads the page behind a cursor. */
export const listOf = <P extends Page<unknown>>(
  read: (cursor: string | undefined, options: CallOptions | undefined) => Promise<P>,
  options: CallOptions | undefined,
): List<P> => {
  const items = async function* (): AsyncGenerator<ItemOf<P>> {
    let cursor: string | undefined;
    do {
      const page: P = await read(cursor, options);
      yield* page.data as readonly ItemOf<P>[];
      cursor = page.meta?.nextCursor ?? undefined;
    } while (cursor !== undefined);
  };
  return {
    [Symbol.asyncIterator]: items,
    page: (cursor) => read(cursor, options),
    all: async (limit = ALL_LIMIT) => {
      const found: ItemOf<P>[] = [];
      if (limit < 1) return found;
      for await (const item of items()) if (found.push(item) >= limit) break;
      return found;
    },
  };
};
