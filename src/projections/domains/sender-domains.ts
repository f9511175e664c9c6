/** Read model of a team's sender domains, with the timers of their next look-up and of the removal of deleted ones. */
import type { Recorded } from '../../domain/events.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { TRASHED_DOMAINS_MAX } from '../../domain/domains/decider.js';
import type { SenderDomainEvent } from '../../domain/domains/events.js';
import { evolveSenderDomains, type SenderDomains, type TrashedDomain } from '../../domain/domains/state.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import {
  declareProjection,
  type Handler,
  type Projection,
  type Step,
  removalDueAt,
  timersSpec,
} from '../core/projection.js';

export const SENDER_DOMAINS = 'senderDomains';
export const SENDER_DOMAIN_TIMERS = timersOf('senderDomains');

/** All domains of one team, under its id. */
export type SenderDomainsDocument = Document & SenderDomains;

/** `restoreMs`: for how long a deleted domain can be restored. */
export const senderDomainsProjection = (restoreMs: number): Projection => {
  const step = stepWith(restoreMs);
  return declareProjection({
    name: 'senderDomains',
    collections: [timersSpec(SENDER_DOMAIN_TIMERS), { name: SENDER_DOMAINS, version: 3, fields: [], indexes: [] }],
    main: SENDER_DOMAINS,
    kinds: ['senderDomains'],
    decrypts: [],
    on: {
      SenderDomainAdded: step,
      SenderDomainsChecked: step,
      SenderDomainVerified: step,
      SenderDomainUnverified: step,
      SenderDomainKeysAdded: step,
      SenderDomainKeysChanged: step,
      SenderDomainKeysRetired: step,
      SenderDomainTrackingSet: step,
      SenderDomainTrashed: step,
      SenderDomainRestored: step,
      SenderDomainDeleted: step,
    },
  });
};

const stepWith =
  (restoreMs: number): Handler<SenderDomainEvent> =>
  (recorded, document) => {
    const { event, stream, position } = recorded;
    const { id } = splitStream(stream);
    const before = document as SenderDomainsDocument | undefined;
    const { domains, trash } = evolveSenderDomains(before, event) ?? { domains: [] };
    const after: SenderDomainsDocument = {
      id,
      seq: before?.seq ?? position,
      position,
      domains,
      ...(trash && { trash }),
    };
    const checks = timerStep(
      recorded,
      'check',
      domains.map(({ nextCheckAt }) => nextCheckAt),
    );
    return [
      checks,
      timerStep(recorded, 'removal', removalTimes(trash ?? [], restoreMs)),
      { collection: SENDER_DOMAINS, id, next: () => after },
    ];
  };

/** If the trash has too many domains, a removal is due at once. */
const removalTimes = (trash: readonly TrashedDomain[], restoreMs: number): readonly string[] =>
  trash.map(({ deletedAt }) => (trash.length > TRASHED_DOMAINS_MAX ? deletedAt : removalDueAt(deletedAt, restoreMs)));

/** A team has one timer of each kind, due at the earliest of the times. */
const timerStep = (
  { stream, position, metadata }: Recorded,
  kind: 'check' | 'removal',
  times: readonly string[],
): Step => {
  const team = splitStream(stream).id;
  const id = kind === 'check' ? team : `${team}.${kind}`;
  const [dueAt] = times.toSorted();
  // One event may set both timers, and `seq` is unique in a collection.
  const seq = 2 * position + (kind === 'check' ? 0 : 1);
  const common = { id, seq, position, kind, key: stream, priority: 'low', team: metadata.teamId };
  const document: TimerDocument | undefined = dueAt === undefined ? undefined : { ...common, dueAt };
  return { collection: SENDER_DOMAIN_TIMERS, id, document };
};
