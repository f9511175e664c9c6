/** Pointers that were delivered and are not settled yet: the server is told that they are in work, and in the end what became of them. */
import type { Clock } from '../../domain/ports/clock.js';
import type { Pointer } from '../../domain/ports/bus.js';
import { NobodyListens, type Link } from './nats-link.js';
import { ACK_WAIT_MS, nanos } from './nats-streams.js';

/** A delivery; `reply` names it to the server. */
export type Delivery = Readonly<{ pointer: Pointer; processor: string; deliveries: number; reply: string }>;

export type Held = Readonly<{
  /** Out: false where the pointer is to wait on: the server has delivered it before its time, and has been told so. */
  add: (delivery: Delivery) => boolean;
  /** To somebody else, now; nobody waits for the answer. */
  handBack: (delivery: Delivery) => void;
  ack: (delivery: Delivery) => Promise<void>;
  retryAt: (delivery: Delivery, atMs: number) => Promise<void>;
}>;

const SAY_EVERY_MS = ACK_WAIT_MS / 3;
/** The server keeps no longer pause; what waits longer is told to wait on when it comes. */
const PAUSE_MAX_MS = 3_600_000;
/** A delivery that comes so much too soon has come at its time. */
const EARLY_MS = 100;

export const openHeld = ({ clock, link }: Readonly<{ clock: Clock; link: Link }>): Held => {
  const kept: Kept = { held: new Map(), later: new Map() };
  const keepSaying = openSaying(kept, clock, link);

  const settle = async (delivery: Delivery, payload: string): Promise<void> => {
    kept.held.delete(delivery);
    try {
      await link.ask(delivery.reply, payload);
    } catch (fault) {
      // The stream or the consumer is gone, and the pointer with it.
      if (!(fault instanceof NobodyListens)) throw fault;
    }
  };
  return {
    add: (delivery) => {
      const key = keyOf(delivery);
      const leftMs = (kept.later.get(key) ?? Number.NEGATIVE_INFINITY) - clock.monotonic();
      if (leftMs > EARLY_MS) {
        link.post(delivery.reply, pauseOf(leftMs));
        return false;
      }
      kept.later.delete(key);
      kept.held.set(delivery, clock.monotonic());
      keepSaying();
      return true;
    },
    handBack: (delivery) => {
      kept.held.delete(delivery);
      link.post(delivery.reply, '-NAK');
    },
    ack: (delivery) => settle(delivery, '+ACK'),
    retryAt: (delivery, atMs) => {
      // The time of day may be set meanwhile: the distance from now counts.
      const ms = atMs - clock.now();
      if (ms > EARLY_MS) {
        kept.later.set(keyOf(delivery), clock.monotonic() + ms);
        keepSaying();
      }
      return settle(delivery, pauseOf(ms));
    },
  };
};

type Kept = Readonly<{
  /** When the server was last told that a delivery is in work. */
  held: Map<Delivery, number>;
  /** When pointers are due that this process has sent back, by the monotonic clock: a server that was restarted may deliver them at once. */
  later: Map<string, number>;
}>;

/** Tells the server what is in work, as long as something is. */
const openSaying = ({ held, later }: Kept, clock: Clock, link: Link): (() => void) => {
  let saying = false;
  const say = async (): Promise<void> => {
    saying = true;
    while ((held.size > 0 || later.size > 0) && !link.closed.aborted) {
      await clock.sleep(SAY_EVERY_MS / 2, link.closed);
      const atMs = clock.monotonic();
      for (const [delivery, saidAtMs] of held) {
        if (atMs - saidAtMs < SAY_EVERY_MS) continue;
        link.post(delivery.reply, '+WPI');
        held.set(delivery, atMs);
      }
      for (const [key, dueMs] of later) if (dueMs <= atMs) later.delete(key);
    }
    saying = false;
  };
  return () => {
    if (!saying) void say();
  };
};

const pauseOf = (ms: number): string => (ms <= 0 ? '-NAK' : `-NAK {"delay": ${nanos(Math.min(ms, PAUSE_MAX_MS))}}`);

const keyOf = ({ processor, pointer }: Delivery): string => `${processor}\n${pointer.id}`;
