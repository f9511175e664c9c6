/**
 * The endpoints that webhooks are posted to: they outlive every process, remember each post, and answer as the seed
 * decides.
 */
import { OutboundFault, type OutboundPost, type Posted } from '../../src/domain/ports/outbound-http.js';
import type { Network } from '../support/distant/network.js';
import type { Machine, Scheduler } from '../support/distant/scheduler.js';

/**
 * `flaky` fails half of the time, `dead` always. `gone` answers 410 from a random post on. `hanging` does not answer
 * until everything is to come to its rest, `later` asks at the first post of each event to wait.
 */
export const manners = ['healthy', 'flaky', 'dead', 'gone', 'hanging', 'later'] as const;
export type Manner = (typeof manners)[number];

/** The Retry-After of a `later` endpoint, a little more than the first pause of the service. */
export const RETRY_AFTER_MS = 90_000;

export type HookPost = Readonly<{
  url: string;
  /** The subscription, as the process names it to its port. */
  sender: string;
  machine: Machine;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** When it left the process, and how often the time had jumped by then. */
  leftMs: number;
  jumps: number;
}>;

export type Endpoints = Readonly<{
  /** Those that arrived, in that order. */
  posts: readonly HookPost[];
  /** From now on all that hung answer, and nobody takes his time. */
  calm: () => void;
  /** How many posts wait for an answer in a process that lives. */
  underWay: () => number;
  portOf: (network: Network) => OutboundPost;
}>;

/** An address of its own for each subscription: it tells how the endpoint behaves. */
export const urlOf = (manner: Manner, number: number): string => `https://hooks.example/${manner}/${number}`;
export const mannerOf = (url: string): Manner => new URL(url).pathname.split('/')[1] as Manner;

const BROKEN_AFTER_MS = 2_000;
const LATE_MS = 6_000;

const answered = (status: number, retryAfter?: string): Posted => ({ status, retryAfter, body: `status ${status}` });

/** `jumps`: how often the time has jumped. */
export const makeEndpoints = ({
  scheduler,
  jumps,
}: Readonly<{ scheduler: Scheduler; jumps: () => number }>): Endpoints => {
  const { random } = scheduler;
  const posts: HookPost[] = [];
  const gone = new Set<string>();
  const asked = new Set<string>();
  const waiting = new Map<object, Machine>();
  let isCalm = false;

  /** Out: undefined where it does not answer. */
  const answerTo = ({ url, headers }: HookPost): Posted | undefined => {
    const manner = mannerOf(url);
    switch (manner) {
      case 'healthy':
        return answered(200);
      case 'flaky':
        return answered(random.chance(0.5) ? 500 : 204);
      case 'dead':
        return answered(500);
      case 'hanging':
        return isCalm ? answered(200) : undefined;
      case 'gone':
        if (random.chance(0.3)) gone.add(url);
        return answered(gone.has(url) ? 410 : 200);
      case 'later': {
        const event = `${url} ${headers['x-service-event-id']}`;
        const isFirst = !asked.has(event);
        asked.add(event);
        return isFirst ? answered(503, String(RETRY_AFTER_MS / 1_000)) : answered(200);
      }
    }
  };

  /** Most endpoints answer at once, some take their time. */
  const durationMs = (): number => (isCalm || random.chance(0.85) ? 5 : random.between(100, 3_000));

  const arrive = (post: HookPost, reply: (posted: Posted) => void): void => {
    posts.push(post);
    const posted = answerTo(post);
    if (posted !== undefined) scheduler.at(scheduler.now() + durationMs(), undefined, () => reply(posted));
  };

  const portOf = ({ machine, faults }: Network): OutboundPost => ({
    post: (url, { sender, headers, body, timeoutMs, signal }) =>
      new Promise((resolve, reject) => {
        const own = {};
        const end = (settle: () => void): void => {
          if (!waiting.delete(own)) return;
          cancelTimeout();
          signal.removeEventListener('abort', stop);
          settle();
        };
        const fail = (fault: 'timeout' | 'unreachable', why: string) => (): void =>
          end(() => reject(new OutboundFault(fault, why)));
        const stop = fail('timeout', 'The work was stopped.');
        const broken = fail('unreachable', 'The connection broke.');
        const cancelTimeout = scheduler.at(
          scheduler.now() + timeoutMs,
          machine,
          fail('timeout', `No whole answer within ${timeoutMs / 1_000} seconds.`),
        );
        waiting.set(own, machine);
        if (signal.aborted) return stop();
        signal.addEventListener('abort', stop);
        const post: HookPost = { url, sender, machine, headers, body, leftMs: scheduler.now(), jumps: jumps() };
        const breakLater = (): void => void scheduler.at(scheduler.now() + BROKEN_AFTER_MS, machine, broken);
        const unheard = (): void => arrive(post, () => {});
        switch (faults.fate('outbound.post')) {
          case 'done':
            return scheduler.travel(undefined, () =>
              arrive(post, (posted) => scheduler.travel(machine, () => end(() => resolve(posted)))),
            );
          case 'refused':
            return scheduler.travel(machine, broken);
          case 'request-lost':
            return breakLater();
          case 'answer-lost':
            scheduler.travel(undefined, unheard);
            return breakLater();
          case 'late':
            scheduler.at(scheduler.now() + random.next() * LATE_MS, undefined, unheard);
            return breakLater();
        }
      }),
    forget: () => {},
    close: async () => {},
  });

  return {
    posts,
    calm: () => {
      isCalm = true;
    },
    underWay: () => [...waiting.values()].filter(({ alive }) => alive).length,
    portOf,
  };
};
