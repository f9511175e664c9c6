/**
 * Ways to share time and slots: turns of the event loop, calls that become one, turns by shares, slots of which no
 * tenant takes all.
 */

/** Parts of heavy work, each of which waits for its own turn of the event loop. */
const waiting: (() => void)[] = [];

const goOn = (): void => {
  const next = waiting.shift();
  if (waiting.length > 0) setImmediate(goOn);
  next?.();
};

/**
 * Lets the event loop serve others between two parts of heavy work. Each turn of the loop runs one waiting part, the
 * one that has waited longest, so that many callers hold the loop no longer than one.
 */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(goOn);
  });

/**
 * In: work for many items. Out: a function that collects the items of calls while the work is under way, then does the
 * work once for all of them.
 */
export const gathered = <Item, Answer>(
  work: (items: ReadonlySet<Item>) => Promise<Answer>,
): ((items: Iterable<Item>) => Promise<Answer>) => {
  let last: Promise<unknown> = Promise.resolve();
  let next: Readonly<{ items: Set<Item>; answer: Promise<Answer> }> | undefined;
  return (items) => {
    if (next === undefined) {
      const gathered = new Set<Item>();
      const begin = (): Promise<Answer> => {
        next = undefined;
        return work(gathered);
      };
      next = { items: gathered, answer: last.then(begin, begin) };
      last = next.answer;
    }
    for (const item of items) next.items.add(item);
    return next.answer;
  };
};

export type Shares<Name extends string> = Readonly<{
  /**
   * The waiting name whose turn it is: each waiting name earns its share, the name with the most credit is taken and
   * pays what all earned.
   */
  next: (waits: (name: Name) => boolean) => Name | undefined;
}>;

/** `shares` says how often each name is taken while all wait. A name that does not wait loses its credit. */
export const openShares = <Name extends string>(
  names: readonly Name[],
  shares: Readonly<Record<Name, number>>,
): Shares<Name> => {
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

export type FairSlotsOptions = Readonly<{
  slotsMax: number;
  /** The most that one tenant may hold: less than `slotsMax`, so that the others never find all slots taken by one. */
  shareMax: number;
  /** Most requests that wait, of all tenants together. */
  queueMax: number;
}>;

/** `full`: the queue is full, and no other tenant has more requests in it. `aborted`: the signal aborted first. */
export type SlotRequest = 'acquired' | 'full' | 'aborted';

export type FairSlots = Readonly<{
  /**
   * Takes a slot, which the tenant gives back by `release`. Answers a promise while no slot is free. When the queue is
   * full, the tenant with the most requests in it loses its newest one, which is answered `full`.
   */
  acquire: (tenant: string, signal: AbortSignal) => SlotRequest | Promise<SlotRequest>;
  release: (tenant: string) => void;
  /** How many requests stand in the queue. */
  waiting: () => number;
}>;

type Request = Readonly<{ settle: (how: SlotRequest) => void }>;
type Tenant = { held: number; readonly queue: Set<Request> };

/** Tenants that hold a slot or wait for one, by name. The tenant that was given a slot last stands at the end. */
type Tenants = ReadonlyMap<string, Tenant>;

export const openFairSlots = ({ slotsMax, shareMax, queueMax }: FairSlotsOptions): FairSlots => {
  const tenants = new Map<string, Tenant>();
  let taken = 0;

  const give = (name: string, tenant: Tenant): void => {
    taken += 1;
    tenant.held += 1;
    tenants.delete(name);
    tenants.set(name, tenant);
  };
  const forgetIdle = (name: string, { held, queue }: Tenant): void => {
    if (held === 0 && queue.size === 0) tenants.delete(name);
  };
  const dispatch = (): void => {
    while (taken < slotsMax) {
      const turn = nextOf(tenants, shareMax);
      if (turn === undefined) return;
      turn.tenant.queue.delete(turn.request);
      give(turn.name, turn.tenant);
      turn.request.settle('acquired');
    }
  };
  const wait = (name: string, tenant: Tenant, signal: AbortSignal): Promise<SlotRequest> => {
    tenants.set(name, tenant);
    return settled(tenant, signal, (request) => {
      tenant.queue.delete(request);
      forgetIdle(name, tenant);
    });
  };

  return {
    acquire: (name, signal) => {
      if (signal.aborted) return 'aborted';
      const tenant = tenants.get(name) ?? { held: 0, queue: new Set() };
      if (taken < slotsMax && tenant.held < shareMax) {
        give(name, tenant);
        return 'acquired';
      }
      return waitingIn(tenants) < queueMax || displace(tenants, tenant) ? wait(name, tenant, signal) : 'full';
    },
    release: (name) => {
      const tenant = tenants.get(name);
      if (tenant === undefined || tenant.held === 0) throw new Error('a slot was released that is not held');
      taken -= 1;
      tenant.held -= 1;
      forgetIdle(name, tenant);
      dispatch();
    },
    waiting: () => waitingIn(tenants),
  };
};

type Turn = Readonly<{ name: string; tenant: Tenant; request: Request }>;

/**
 * The next request: of tenants below their share, the tenant with the fewest slots, then the tenant served longest ago.
 */
const nextOf = (tenants: Tenants, shareMax: number): Turn | undefined => {
  let turn: Turn | undefined;
  for (const [name, tenant] of tenants) {
    const [request] = tenant.queue;
    if (request !== undefined && tenant.held < shareMax && (turn === undefined || tenant.held < turn.tenant.held))
      turn = { name, tenant, request };
  }
  return turn;
};

const waitingIn = (tenants: Tenants): number => [...tenants.values()].reduce((sum, { queue }) => sum + queue.size, 0);

/** Makes room in the queue for a request of `own`. Out: false if no other tenant has more requests in it. */
const displace = (tenants: Tenants, own: Tenant): boolean => {
  let longest = own;
  for (const tenant of tenants.values()) if (tenant.queue.size > longest.queue.size) longest = tenant;
  const last = [...longest.queue].at(-1);
  if (last === undefined || longest.queue.size <= own.queue.size + 1) return false;
  longest.queue.delete(last);
  last.settle('full');
  return true;
};

/**
 * Puts a request into the queue of the tenant. `giveUp` is called if the signal aborts before the request is settled.
 */
const settled = (tenant: Tenant, signal: AbortSignal, giveUp: (request: Request) => void): Promise<SlotRequest> =>
  new Promise((resolve) => {
    const abort = (): void => {
      giveUp(request);
      resolve('aborted');
    };
    const request: Request = {
      settle: (how) => {
        signal.removeEventListener('abort', abort);
        resolve(how);
      },
    };
    tenant.queue.add(request);
    signal.addEventListener('abort', abort, { once: true });
  });

/**
 * One piece of work for each key at a time in this process: the next one ends the one before, which rejects with
 * `superseded()`. `signal` ends the work too.
 */
export const openLatest = (superseded: () => Error) => {
  const running = new Map<string, AbortController>();
  return async <Made>(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Made>,
  ): Promise<Made> => {
    const own = new AbortController();
    running.get(key)?.abort(superseded());
    running.set(key, own);
    const ended = AbortSignal.any([signal, own.signal]);
    try {
      const made = await work(ended);
      own.signal.throwIfAborted();
      return made;
    } finally {
      if (running.get(key) === own) running.delete(key);
    }
  };
};

/** Runs a piece of work when the earlier ones of its key in this process have ended, well or not. */
export type Turns = <Made>(key: string, work: () => Promise<Made>) => Promise<Made>;

/** Out: a function that runs the work of each key in the order of its calls, one at a time. */
export const openTurns = (): Turns => {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work);
    const ended = mine.catch(() => undefined);
    last.set(key, ended);
    try {
      return await mine;
    } finally {
      if (last.get(key) === ended) last.delete(key);
    }
  };
};
