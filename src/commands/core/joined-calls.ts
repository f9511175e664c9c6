/** Joins calls of the same id that come while one of them is under way: one does the work, and all of them get its answer. */

export type JoinedCalls<Answer> = (
  id: string,
  /** Tells the same call from another under one id. */
  fingerprint: string,
  work: () => Promise<Answer>,
) => Promise<Readonly<{ answer: Answer; joined: boolean }>>;

/**
 * A call of the same fingerprint shares the outcome of the one under way, its failure too. A call of another fingerprint
 * begins when that one has ended.
 */
export const joinedCalls = <Answer>(): JoinedCalls<Answer> => {
  const underWay = new Map<string, Readonly<{ fingerprint: string; answer: Promise<Answer> }>>();
  return async (id, fingerprint, work) => {
    for (let first = underWay.get(id); first !== undefined; first = underWay.get(id)) {
      if (first.fingerprint === fingerprint) return { answer: await first.answer, joined: true };
      await first.answer.catch(() => undefined);
    }
    const answer = work().finally(() => underWay.delete(id));
    underWay.set(id, { fingerprint, answer });
    return { answer: await answer, joined: false };
  };
};
