/** Commands that may carry an Idempotency-Key: one that was made under it is not made again, whatever became of the stream since. */
import { handle, type Loaded } from './handle.js';
import type { CommandDeps } from './deps.js';
import { fingerprintOf, isSameBody, keyReused, type Idempotency } from './idempotency.js';
import type { Decider } from '../../domain/core/decider.js';
import type { DomainEvent } from '../../domain/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Cause } from '../../event-log/event-log.js';

/** What events keep of a call: HMACs of its key and of its body. */
export type CallKey = Readonly<{ idempotencyKey: string | undefined; fingerprint: string | undefined }>;

export type KeyedCommand<Command, State> = Readonly<{
  command: (key: CallKey) => Command;
  /** What was made under that key before; undefined where nothing was. */
  earlier: (state: NonNullable<State>, idempotencyKey: string) => Pick<CallKey, 'fingerprint'> | undefined;
  idempotency: Idempotency | undefined;
  cause: Cause;
  guard: (loaded: Loaded<State>) => void;
}>;

/** Rejects as `handle`, and with IDEMPOTENCY_KEY_REUSED. */
export const handleKeyed = async <Command, Event extends DomainEvent, State>(
  { eventLog, keys }: Pick<CommandDeps, 'eventLog' | 'keys'>,
  stream: StreamName,
  decider: Decider<Command, Event, State>,
  { command, earlier, idempotency, cause, guard }: KeyedCommand<Command, State>,
): Promise<Readonly<{ state: NonNullable<State>; idempotencyKey: string | undefined; replayed: boolean }>> => {
  const idempotencyKey = idempotency && keys.fingerprint('idempotency-key', idempotency.key);
  const fingerprint = idempotency && fingerprintOf(keys, idempotency);
  const madeIn = (state: State): Pick<CallKey, 'fingerprint'> | undefined =>
    idempotencyKey === undefined || state === undefined || state === null ? undefined : earlier(state, idempotencyKey);
  const once: Decider<Command, Event, State> = {
    ...decider,
    decide: (given, state) => (madeIn(state) === undefined ? decider.decide(given, state) : []),
  };
  const { state, events } = await handle(eventLog, stream, once, command({ idempotencyKey, fingerprint }), cause, guard);
  if (state === undefined || state === null) throw new Error(`${stream} is there, and has no state`);
  const replayed = events.length === 0;
  if (replayed && idempotency !== undefined && !isSameBody(keys, madeIn(state)?.fingerprint, idempotency)) throw keyReused();
  return { state, idempotencyKey, replayed };
};
