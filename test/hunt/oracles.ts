/** Checks when everything is at rest, whatever happened before. */
import { emailDecider } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { Email, EmailState } from '../../src/domain/email/state.js';
import { splitStream } from '../../src/domain/core/ids.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import { decodeEvent } from '../../src/event-log/codec.js';
import { decodeMetadata } from '../../src/event-log/hash-chain.js';
import { openApart, openSealed } from '../../src/event-log/encode.js';
import { allKeyIds, ownIn } from '../../src/event-log/stream-keys.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import { noFaults } from '../support/distant/faults.js';
import { openDistantEventStore } from '../support/distant/event-store.js';
import { openDistantFiles } from '../support/distant/files.js';
import { openDistantKeys } from '../support/distant/keys.js';
import { openDistantReadModels } from '../support/distant/read-models.js';
import { clockOf, immediateScheduler, machineNamed } from '../support/distant/scheduler.js';
import type { Clients } from './clients.js';
import { nextAttemptMs, webhookFindings, webhooksAreAtRest } from './webhook-oracles.js';
import { webhookRecordFindings } from './webhook-records.js';
import { limits, projections, type World } from './world.js';

export type Finding = Readonly<{ oracle: string; message: string }>;

/** `keyIds`: of the email itself, and of each of its recipients where there are several. */
export type KnownEmail = Readonly<{ id: string; email: Email; correlationId: string; keyIds: readonly string[] }>;

/** Every email of the log, folded; what is sealed only where it is asked for. */
export const emailsOf = (world: World, opens = false): readonly KnownEmail[] => {
  const known: KnownEmail[] = [];
  for (const stream of world.events.streamsOf('email')) {
    const stored = world.events.stream(stream);
    let email: EmailState;
    for (const event of stored) email = emailDecider.evolve(email, decoded(world, event, opens));
    const metadata = decodeMetadata(stored[0]!.metadata);
    const { correlationId } = metadata;
    if (email !== undefined)
      known.push({ id: splitStream(stream).id, email, correlationId, keyIds: allKeyIds(metadata) });
  }
  return known;
};

const decoded = ({ keys }: World, stored: StoredEvent, opens: boolean): EmailEvent => {
  const { type, data, sealed, metadata } = stored;
  if (!opens || sealed === undefined) return decodeEvent(type, data, undefined) as EmailEvent;
  const { keyId, recipientKeys } = decodeMetadata(metadata);
  const shared = keyId === undefined ? undefined : keys.keys.get(keyId);
  if (shared === undefined) return decodeEvent(type, data, undefined) as EmailEvent;
  const plain =
    recipientKeys === undefined
      ? openSealed(shared, sealed, stored, 'whole')
      : openApart({ shared, own: ownIn(keys.keys, recipientKeys) }, sealed, stored, 'whole');
  return decodeEvent(type, data, plain) as EmailEvent;
};

const isDone = ({ status, deletedAt, archivedAt }: Email): boolean =>
  status !== 'queued' &&
  status !== 'processing' &&
  status !== 'scheduled' &&
  (deletedAt === null || archivedAt !== null);

const newestOf = ({ events }: World, kinds: readonly string[]): number =>
  events.events.findLast(({ stream }) => kinds.includes(splitStream(stream).kind))?.position ?? 0;

/** When the next thing is due that the log speaks of; undefined where nothing is. */
export const nextDueMs = (world: World): number | undefined => {
  const dues = emailsOf(world).flatMap(({ email }) => {
    const due =
      email.status === 'scheduled' ? email.scheduledAt : email.status === 'queued' ? email.nextAttemptAt : null;
    return due === null ? [] : [Date.parse(due)];
  });
  const attemptMs = world.hasWebhooks ? nextAttemptMs(world) : undefined;
  if (attemptMs !== undefined) dues.push(attemptMs);
  return dues.length === 0 ? undefined : Math.min(...dues);
};

/** True if no work is left, and the read models have seen every event. */
export const isAtRest = (world: World): boolean =>
  projections.every(
    ({ name, kinds }) => (world.models.projections.get(name)?.live.position ?? -1) >= newestOf(world, kinds),
  ) &&
  emailsOf(world).every((known) => isDone(known.email) && !hasLeftover(world, known)) &&
  (!world.hasWebhooks || webhooksAreAtRest(world));

/** It is archived, and its key is still to be destroyed: that comes after the fact. */
const hasLeftover = ({ keys }: World, { email, keyIds }: KnownEmail): boolean =>
  email.archivedAt !== null && keyIds.some((id) => keys.keys.has(id));

export const findings = async (
  world: World,
  clients: Clients,
  { hasGrown, isQuiet }: Readonly<{ hasGrown: boolean; isQuiet: boolean }>,
): Promise<readonly Finding[]> => {
  const emails = emailsOf(world, true);
  return [
    ...[...world.broken, ...clients.broken].map((message) => ({ oracle: message.split(':')[0]!, message })),
    ...acceptedFindings(clients, emails),
    ...sinkFindings(world, emails),
    ...cancelledFindings(clients, emails),
    ...emails.flatMap((known) => emailFindings(world, known, hasGrown)),
    ...(await logFindings(world)),
    ...(await readModelFindings(world)),
    ...webhookFindings(world, clients, emails, { isQuiet }),
    ...webhookRecordFindings(world),
  ];
};

/** Accepted emails are in the log, and refused ones are not. */
const acceptedFindings = ({ sends }: Clients, emails: readonly KnownEmail[]): Finding[] => {
  const byCall = new Map(sends.map((call) => [call.correlationId, call]));
  const ids = new Set(emails.map(({ id }) => id));
  return [
    ...sends.flatMap(({ id }) =>
      id === undefined || ids.has(id)
        ? []
        : [{ oracle: 'accepted', message: `${id} was accepted and is not in the log` }],
    ),
    ...emails.flatMap(({ id, correlationId }) => {
      const call = byCall.get(correlationId);
      if (call?.idempotencyKey !== undefined)
        return call.id === id ? [] : [{ oracle: 'accepted', message: `${id} is not the email of its key` }];
      if (call?.end === 'refused' || (call?.end === 'done' && call.id !== id))
        return [{ oracle: 'accepted', message: `${id} is in the log, but its call was ${call.end}` }];
      return [];
    }),
  ];
};

/** Cancelled emails have ended as cancelled. */
const cancelledFindings = ({ cancelled }: Clients, emails: readonly KnownEmail[]): Finding[] => {
  const ids: ReadonlySet<string> = cancelled;
  return emails.flatMap(({ id, email }) =>
    ids.has(id) && email.status !== 'cancelled'
      ? [{ oracle: 'cancelled', message: `${id} was cancelled for its caller, and is ${email.status}` }]
      : [],
  );
};

/** The log and the host that got the mail agree on who got it; no one got it twice. */
const sinkFindings = ({ sink }: World, emails: readonly KnownEmail[]): Finding[] => {
  const found: Finding[] = sink.doubles.map((message) => ({ oracle: 'double', message }));
  for (const { id, email } of emails) {
    const recipients = email.content?.recipients;
    if (recipients === undefined) continue;
    email.recipientStatuses.forEach((status, index) => {
      const key = `${email.accepted.messageId} ${recipients[index]!.email}`;
      const dialogue = sink.arrived.get(key);
      const isSent = status === 'sent' || status === 'delivered';
      if (isSent && dialogue === undefined)
        found.push({ oracle: 'sink', message: `${id}: the log says that ${key} was sent, but it never arrived` });
      // After a dialogue that was cut off behind the message, its result is unknown here.
      const isCutOff =
        email.replies[index]?.rule === 'aborted' ||
        email.attempts.some(({ ended }) => ended?.outcome === 'interrupted');
      if (!isSent && dialogue !== undefined && !isCutOff)
        found.push({ oracle: 'sink', message: `${id}: ${key} arrived, but the log says ${status}` });
    });
  }
  return found;
};

const emailFindings = (world: World, known: KnownEmail, hasGrown: boolean): Finding[] => {
  const { files, keys } = world;
  const { id, email, keyIds } = known;
  const found: Finding[] = [];
  if (!isDone(email))
    found.push({
      oracle: 'stuck',
      message: `${id} is ${email.status}, deleted ${email.deletedAt}, archived ${email.archivedAt}`,
    });
  if (hasGrown && email.archivedAt === null)
    found.push({ oracle: 'stuck', message: `${id} is not archived after the time of retention` });
  if (hasLeftover(world, known)) found.push({ oracle: 'key', message: `${id} is archived, but its key is there` });
  if (email.archivedAt === null && !keyIds.every((key) => keys.keys.has(key)))
    found.push({ oracle: 'key', message: `${id} is not archived, but its key is gone` });
  for (const { file } of email.content?.attachments ?? []) {
    if (!files.stored.has(file)) found.push({ oracle: 'attachment', message: `${id}: an attachment is gone` });
  }
  if (email.failureReason === 'content-lost')
    found.push({ oracle: 'attachment', message: `${id} failed, for its content was lost` });
  return found;
};

/** Ports on the same servers, without any distance. */
const atTheServer = (world: World) => {
  const network = { scheduler: immediateScheduler(), faults: noFaults(), machine: machineNamed('observer') };
  const store = openDistantEventStore(world.events, network);
  const keys = openDistantKeys(world.keys, network);
  const files = openDistantFiles(world.files, network);
  const readModels = openDistantReadModels(world.models, network);
  return {
    store,
    readModels,
    eventLog: openEventLog({ store, keys, files, ids: world.ids, clock: clockOf(world.scheduler, undefined), limits }),
  };
};

const logFindings = async (world: World): Promise<Finding[]> => {
  const { finding } = await verifyLog(atTheServer(world).store, undefined);
  return finding === undefined ? [] : [{ oracle: 'log', message: finding.message }];
};

const readModelFindings = async (world: World): Promise<Finding[]> => {
  const ports = atTheServer(world);
  const found: Finding[] = [];
  for (const projection of projections) {
    const { difference, checkpoint } = await compareWithRebuild(projection, ports);
    if (difference !== undefined)
      found.push({ oracle: 'read-models', message: `${projection.name}: ${JSON.stringify(difference)}` });
    if (checkpoint < newestOf(world, projection.kinds))
      found.push({ oracle: 'read-models', message: `${projection.name} stands at ${checkpoint}` });
  }
  return found;
};
