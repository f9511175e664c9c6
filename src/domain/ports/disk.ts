/** The disk that holds the data directory. */
export type Disk = Readonly<{ freeBytes: () => Promise<number> }>;
