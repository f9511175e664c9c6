/** Takes turns by shares: smooth weighted round robin. */

export type Shares<Name extends string> = Readonly<{
  /** The name that is next of those that wait: each earns its share, the one that is owed most is taken and pays for all. */
  next: (waits: (name: Name) => boolean) => Name | undefined;
}>;

/** `shares` says how often each is taken while all wait; a name that does not wait is owed nothing. */
export const openShares = <Name extends string>(names: readonly Name[], shares: Readonly<Record<Name, number>>): Shares<Name> => {
  const credits = new Map<Name, number>();
  return {
    next: (waits) => {
      let most: Name | undefined;
      let paid = 0;
      for (const name of names) {
        if (!waits(name)) {
          credits.delete(name);
          continue;
        }
        const credit = (credits.get(name) ?? 0) + shares[name];
        credits.set(name, credit);
        paid += shares[name];
        if (most === undefined || credit > credits.get(most)!) most = name;
      }
      if (most !== undefined) credits.set(most, credits.get(most)! - paid);
      return most;
    },
  };
};
