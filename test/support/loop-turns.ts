/** Turns of the event loop, as those see them who wait for theirs. */

/** Out: how many turns others had while the work was under way. */
export const turnsBeside = async (work: () => Promise<unknown>): Promise<number> => {
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  await work();
  over = true;
  return turns;
};
