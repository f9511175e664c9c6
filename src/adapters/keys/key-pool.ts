/** Keys made ahead and durable, to be given out one by one: many share one commit, and whoever needs one seldom waits for it. */
import type { MaybePromise } from '../../domain/core/maybe-promise.js';
import type { NewKey } from '../../domain/ports/keys.js';

export type KeyPool = Readonly<{
  /** At once where one is left. Rejects where none is left and none can be made. */
  take: () => MaybePromise<NewKey>;
  /** Forgets what it holds. */
  close: () => void;
}>;

/** In: makes more keys, durable when it resolves; asked for again when fewer than `low` are left. */
export const keyPool = (make: () => Promise<readonly NewKey[]>, low: number): KeyPool => {
  let ready: NewKey[] = [];
  let making: Promise<void> | undefined;
  let closed = false;

  const refill = (): Promise<void> =>
    (making ??= make().then(
      (made) => {
        making = undefined;
        if (!closed) ready = [...made, ...ready];
      },
      (fault: unknown) => {
        making = undefined;
        throw fault;
      },
    ));

  const left = (): NewKey | undefined => {
    const key = ready.pop();
    // Made ahead, so its fault is nobody's yet: who finds the pool empty asks again and sees it.
    if (key !== undefined && ready.length < low) refill().catch(() => {});
    return key;
  };

  const takeMade = async (): Promise<NewKey> => {
    for (;;) {
      if (closed) throw new Error('the keys are closed');
      const key = left();
      if (key !== undefined) return key;
      await refill();
    }
  };

  return {
    take: () => left() ?? takeMade(),
    close: () => {
      closed = true;
      ready = [];
    },
  };
};
