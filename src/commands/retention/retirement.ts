/**
 * Takes what is left of old emails, bulk sends and months of the audit log out of the log: the last events of their streams say again what is
 * counted of them, and keep the hashes of the others.
 */
import { whatIsFreed } from '../billing/credits.js';
import type { CommandDeps } from '../core/deps.js';
import { placesOf, retireWhole, RETIRED_EVENTS_MAX, type OrdinalOf, type Places, type Retired } from './retire-whole.js';
import type { EmailEvent } from '../../domain/email/events.js';
import { evolveEmail, type EmailState } from '../../domain/email/state.js';
import { retirementOf } from '../../domain/email/retirement.js';
import { mayBeRetired } from '../../domain/email/timers.js';
import type { DomainEvent, Recorded } from '../../domain/events.js';
import { assertDefined, batchStream, parseBatchId, splitStream, type StreamName } from '../../domain/core/ids.js';
import { DAY_MS } from '../../domain/core/time.js';
import { namesOf } from '../../event-log/codec.js';
import { versionOf, type Cause } from '../../event-log/event-log.js';

export type RetireDeps = Pick<CommandDeps, 'eventLog' | 'limits' | 'keys'> &
  Readonly<{
    /** Whether as many templates or tags as may have a row of their own on that day of that team have one. */
    isFull: (teamId: string, day: string) => Promise<boolean>;
  }>;

/**
 * Appends the last events of a stream whose time is over. undefined where something still speaks against it: then the stream stays as it is.
 * Nothing is removed from the log by this.
 */
export const retireStream = async (
  deps: RetireDeps,
  stream: StreamName,
  ordinalOf: OrdinalOf,
  cause: Cause,
): Promise<Retired | undefined> => {
  const { eventLog } = deps;
  const { kind } = splitStream(stream);
  const isCounted = kind === 'email' || kind === 'batch';
  const recorded = await eventLog.load(stream, 0, []);
  const [first, last] = [recorded[0], recorded.at(-1)];
  if (first === undefined || last === undefined || first.revision !== 0) return undefined;
  if (isCounted && recorded.length > RETIRED_EVENTS_MAX) return undefined;
  if ((await eventLog.existingKey(stream)) !== undefined) return undefined;
  if (!isCounted) return retireWhole(deps, stream, recorded, { ordinalOf, cause });
  const places = placesOf(deps, stream, { recorded, first: recorded.length, from: 0, ordinalOf });
  if (places === undefined) return undefined;
  const ending = kind === 'batch' ? endingOfBatch(last, places, cause.at) : await endingOfEmail(deps, recorded, places, cause.at);
  if (ending === undefined) return undefined;
  // They name the keys of the stream: an older copy of the keys may bring them back.
  const { teamId } = first.metadata;
  const { position } = await eventLog.append(stream, versionOf(last), ending, { ...cause, teamId });
  return { stream, position };
};

const endingOfBatch = (last: Recorded, { ordinals, hashes, mark }: Places, at: string): readonly DomainEvent[] | undefined =>
  last.event.type === 'BatchRemoved'
    ? [{ type: 'BatchRetired', data: { at, ordinals: [...ordinals], hashes: [...hashes], mark } }]
    : undefined;

/** What may stand last in the stream of a bulk send of which nothing shows anything any more. */
const batchGone = namesOf(['BatchRemoved', 'BatchRetired']);

const endingOfEmail = async (
  { eventLog, limits, isFull }: RetireDeps,
  recorded: readonly Recorded[],
  places: Places,
  at: string,
): Promise<readonly DomainEvent[] | undefined> => {
  const events = recorded.map(({ event }) => event as EmailEvent);
  const email = events.reduce<EmailState>(evolveEmail, undefined);
  if (email === undefined || !mayBeRetired(email, at, limits.archiveDays * DAY_MS)) return undefined;
  // Credits that were given back name this stream, and whoever gives back goes on from there.
  if (whatIsFreed(recorded) !== undefined) return undefined;
  const { batch } = email.accepted;
  if (batch !== undefined) {
    const last = await eventLog.last(batchStream(assertDefined(parseBatchId(batch.id), 'batch id')));
    if (last !== undefined && !batchGone.has(last.storedType)) return undefined;
  }
  const ending = retirementOf(events, places, at);
  const { teamId } = recorded[0]!.metadata;
  for (const event of ending ?? []) if (event.type === 'EmailSummarised' && (await isFull(teamId, event.data.day))) return undefined;
  return ending;
};
