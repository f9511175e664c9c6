/**
 * Leases: what must run in one process only runs under one. They say who holds a name now; they never decide what is
 * true.
 */

/**
 * `fence` rises with every change of holder of that name, so what was written under an older lease can be told from
 * what came after it. `untilMs` (since the Unix epoch, by the clock of the reader) is the end unless it is renewed
 * before: a hint for when to ask again.
 */
export type Lease = Readonly<{ name: string; holder: string; fence: number; untilMs: number }>;

export type Leases = Readonly<{
  /**
   * Takes the name for `ttlMs`, from the moment at which the engine hears of it; undefined where another holds it. A
   * holder that already holds it gets the same fence again, so a call whose answer was lost may be repeated. The engine
   * measures the time: setting the clock of a client makes no lease longer or shorter.
   */
  acquire: (name: string, holder: string, ttlMs: number) => Promise<Lease | undefined>;
  /**
   * Makes the lease last `ttlMs` from now. Undefined where it has ended, even where nobody has taken it since: others
   * may have seen it free.
   */
  renew: (lease: Lease, ttlMs: number) => Promise<Lease | undefined>;
  /** Frees the name at once where this lease still holds it; else it does nothing. */
  release: (lease: Lease) => Promise<void>;
  /** The lease under which the name is held now, undefined where nobody holds it. */
  read: (name: string) => Promise<Lease | undefined>;
  /** Frees what this client holds. */
  close: () => Promise<void>;
}>;
