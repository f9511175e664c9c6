/** When the records of a team's sender domains are to be looked up next. */
import type { Recorded } from '../domain/events.js';
import { splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import type { SenderDomainEvent } from '../domain/sender-domain/events.js';
import { evolveSenderDomains, type SenderDomains } from '../domain/sender-domain/state.js';
import { timersOf } from '../domain/timers.js';
import { declareProjection, type Handler, type Step } from './projection.js';
import { timersSpec, type TimerDocument } from './timers.js';

export const SENDER_DOMAINS = 'senderDomains';
export const SENDER_DOMAIN_TIMERS = timersOf('senderDomains');

/** All domains of one team, under its id. */
export type SenderDomainsDocument = Document & SenderDomains;

const step: Handler<SenderDomainEvent> = (recorded, document) => {
  const { event, stream, position } = recorded;
  const { id } = splitStream(stream);
  const before = document as SenderDomainsDocument | undefined;
  const domains = evolveSenderDomains(before, event)?.domains ?? [];
  const after: SenderDomainsDocument = { id, seq: before?.seq ?? position, position, domains };
  return [timerStep(recorded, domains), { collection: SENDER_DOMAINS, id, next: () => after }];
};

/** The one timer of a team stands at the earliest moment at which one of its domains is to be looked up. */
const timerStep = ({ stream, position, metadata }: Recorded, domains: SenderDomains['domains']): Step => {
  const { id } = splitStream(stream);
  const [dueAt] = domains.map(({ nextCheckAt }) => nextCheckAt).sort();
  const common = { id, seq: position, position, kind: 'check', key: stream, priority: 'low', team: metadata.teamId };
  const document: TimerDocument | undefined = dueAt === undefined ? undefined : { ...common, dueAt };
  return { collection: SENDER_DOMAIN_TIMERS, id, document };
};

export const senderDomainsProjection = declareProjection({
  name: 'senderDomains',
  collections: [timersSpec(SENDER_DOMAIN_TIMERS), { name: SENDER_DOMAINS, version: 1, fields: [], indexes: [] }],
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
    SenderDomainDeleted: step,
  },
});
