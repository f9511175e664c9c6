/** Reads the log of the distributed engine at the end of a run and finds entries that no fault may cause. */
import { systemClock } from '../../src/adapters/clock/system.js';
import { openEventStoreDb } from '../../src/adapters/event-store/eventstoredb.js';
import { openLogger } from '../../src/adapters/logger/pino.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';

/** `cutOff`: how many attempts of each worker ended without an outcome, and were followed by another. */
export type EmailInLog = {
  readonly messageId: string;
  worker: string | undefined;
  isFinished: boolean;
  readonly cutOff: string[];
};

export type DistributedLog = Readonly<{
  events: number;
  emails: ReadonlyMap<string, EmailInLog>;
  /** Events under a lease, and the streams in which a fencing number fell. */
  fenced: number;
  faults: readonly string[];
}>;

export const readDistributedLog = async (url: string): Promise<DistributedLog> => {
  const store = await openEventStoreDb({ url, clock: systemClock(), logger: openLogger({ level: 'silent' }) });
  const emails = new Map<string, EmailInLog>();
  const fences = new Map<string, number>();
  const faults: string[] = [];
  let [events, fenced] = [0, 0];
  try {
    for await (const batch of store.readAll(0)) {
      for (const event of batch.events) {
        events += 1;
        if (event.stream.startsWith('email-')) noteEmail(emails, event);
        const { fence } = JSON.parse(event.metadata) as { fence?: number };
        if (fence === undefined) continue;
        fenced += 1;
        const newest = fences.get(event.stream) ?? 0;
        if (fence < newest) faults.push(`${event.stream} has an event under lease ${fence} after one under ${newest}`);
        fences.set(event.stream, Math.max(fence, newest));
      }
    }
  } finally {
    await store.close();
  }
  return { events, emails, fenced, faults };
};

const outcomes = ['EmailSent', 'EmailDeferred', 'EmailFailed', 'EmailBounced'];

const noteEmail = (emails: Map<string, EmailInLog>, { stream, type, data }: StoredEvent): void => {
  const id = stream.slice('email-'.length);
  const name = type.slice(0, type.indexOf('.'));
  if (name === 'EmailQueued') {
    const { messageId } = JSON.parse(data) as { messageId: string };
    emails.set(id, { messageId, worker: undefined, isFinished: false, cutOff: [] });
    return;
  }
  const email = emails.get(id);
  if (email === undefined) throw new Error(`the log has a ${name} of the email ${id} before it was accepted`);
  if (name === 'DeliveryAttempted') {
    if (email.worker !== undefined) email.cutOff.push(email.worker);
    email.worker = (JSON.parse(data) as { worker: string }).worker;
  }
  if (outcomes.includes(name)) email.worker = undefined;
  if (name === 'EmailSent') email.isFinished = true;
};

/** How often each mail was taken, by Message-ID in angle brackets. */
export type Taken = ReadonlyMap<string, number>;

export type Verdict = Readonly<{ faults: readonly string[]; doubles: number; cutOff: number; workersCutOff: number }>;

/**
 * Accepted = in the log = delivered; twice only what a worker had under way when it was cut off, and no more workers
 * were than `cutsMax`, none with more attempts than it has `connections`.
 */
export const judgeLog = (
  log: DistributedLog,
  {
    accepted,
    taken,
    cutsMax,
    connections,
  }: Readonly<{ accepted: ReadonlySet<string>; taken: Taken; cutsMax: number; connections: number }>,
): Verdict => {
  const faults = [...log.faults];
  const ofWorker = new Map<string, number>();
  let [doubles, cutOff] = [0, 0];
  for (const id of accepted) if (!log.emails.has(id)) faults.push(`email ${id} was answered 201 and is not in the log`);
  const known = new Set<string>();
  for (const [id, email] of log.emails) {
    known.add(email.messageId);
    if (!accepted.has(id)) faults.push(`email ${id} is in the log, and its call was answered with another`);
    const copies = taken.get(email.messageId) ?? 0;
    if (copies === 0) faults.push(`email ${id} never arrived`);
    if (!email.isFinished) faults.push(`email ${id} is not sent at the end`);
    cutOff += email.cutOff.length;
    doubles += Math.max(0, copies - 1);
    for (const worker of email.cutOff) ofWorker.set(worker, (ofWorker.get(worker) ?? 0) + 1);
    if (copies > 1 + email.cutOff.length)
      faults.push(`email ${id} arrived ${copies} times, and ${email.cutOff.length} of its attempts were cut off`);
  }
  for (const messageId of taken.keys())
    if (!known.has(messageId)) faults.push(`a mail arrived that is not in the log: ${messageId}`);
  for (const [worker, count] of ofWorker)
    if (count > connections)
      faults.push(`worker ${worker} had ${count} attempts cut off, on ${connections} connections`);
  if (ofWorker.size > cutsMax)
    faults.push(`attempts of ${ofWorker.size} workers were cut off, but only ${cutsMax} could have been by the faults`);
  return { faults, doubles, cutOff, workersCutOff: ofWorker.size };
};
