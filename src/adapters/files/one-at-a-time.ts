/** Runs the work of one key in the order in which it came, and that of different keys side by side. */

export type OneAtATime = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

export const oneAtATime = (): OneAtATime => {
  /** The last work of each key; a key stands here only while it has any. */
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const result = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, result);
    const forget = (): void => {
      if (last.get(key) === result) last.delete(key);
    };
    result.then(forget, forget);
    return result;
  };
};
