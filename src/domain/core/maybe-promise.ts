/** What is mostly at hand and then answered at once: a promise costs more than many of the answers. To be awaited like any promise. */
export type MaybePromise<T> = T | Promise<T>;
