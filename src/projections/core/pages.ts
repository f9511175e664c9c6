export type Paging = Readonly<{ page: number; limit: number; cursor?: string }>;

/** One page of a list. `nextCursor` is null on the last page. */
export type Page<Item> = {
  data: Item[];
  meta: {
    /** The page asked for; 1 where a cursor was given. */
    page: number;
    limit: number;
    total: number;
    totalPages: number;
    /** True where a search matches more than is counted. */
    totalIsLowerBound: boolean;
    nextCursor: string | null;
  };
};

/** With the moment of its deletion where it is deleted. */
export type Listed<Listing> = Listing & { deletedAt?: string };
