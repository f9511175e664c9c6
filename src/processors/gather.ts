/**
 * Lets lanes that come along at about the same time go on in one turn of the event loop, so that what they write shares a commit.
 * A commit waits for the disk and costs about the same for one event as for many. Turns are counted and not time: while there is
 * much to do a turn is long and many come along; while there is little, some turns are over at once.
 */

export type Gather = Readonly<{
  /** In: how many lanes are at work. Resolves at once where they are few, else when enough have come or the turns are over. */
  together: (busy: number) => Promise<void>;
}>;

/** Enough for one commit. */
const TOGETHER_MAX = 32;
const TURNS_MAX = 8;
/** For each so many lanes at work a turn is waited. */
const LANES_PER_TURN = 4;

export const openGather = (): Gather => {
  let waiting: (() => void)[] = [];
  let turnsLeft = 0;
  let turning = false;

  const release = (): void => {
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  };

  const turn = (): void => {
    turnsLeft -= 1;
    if (turnsLeft <= 0) release();
    turning = waiting.length > 0;
    if (turning) setImmediate(turn);
  };

  return {
    together: (busy) => {
      const turns = Math.min(TURNS_MAX, Math.floor(busy / LANES_PER_TURN));
      if (turns === 0) return Promise.resolve();
      return new Promise((resolve) => {
        if (waiting.push(resolve) >= TOGETHER_MAX) return release();
        if (waiting.length > 1) return;
        turnsLeft = turns;
        if (turning) return;
        turning = true;
        setImmediate(turn);
      });
    },
  };
};
