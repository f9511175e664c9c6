/**
 * Bulk sends in the read models: whatever happens, in whatever batches, their counts add up and their timers say what
 * is to be done.
 */
import fc from 'fast-check';
import t from 'tap';
import type { BatchEvent } from '../../src/domain/bulk/events.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { assertDefined, emailIdInBatch, parseBatchId } from '../../src/domain/core/ids.js';
import { batchCounts, batchListing } from '../../src/domain/bulk/listing.js';
import { BATCH_TIMERS, BATCHES, readBatchEnds, type BatchDocument } from '../../src/projections/bulk/batches.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import type { TimerDocument } from '../../src/domain/ports/timers.js';
import {
  accepted,
  ARCHIVE_MS,
  at,
  attempted,
  cancelled,
  content,
  failed,
  PERIODS,
  RETENTION_MS,
  sent,
  T0,
  TEMPLATE_ID,
} from '../support/email-facts.js';
import { documentsOf, openDocuments, openLogOfTest, projectIn, tearWrite } from '../support/projected.js';

// Only what hangs is cut off.
t.setTimeout(900_000);

const projection = emailsProjection(PERIODS);
const BATCH = assertDefined(parseBatchId('0198f000-0000-7000-8000-00000000000d'), 'batch id');
const stream = `batch-${BATCH}`;
const PART = 2;
const TAGS = ['may'];
const RELEASED = at(2 * 86_400);

const begun = (total: number, scheduledAt?: string): BatchEvent => {
  const data = {
    at: T0,
    templateId: TEMPLATE_ID,
    templateName: 'Order confirmation',
    templateRevision: 3,
    templateVersion: 2,
    priority: 'low' as const,
    tags: TAGS,
    company: {},
    total,
    invalid: [7],
    duplicates: [],
    documents: [],
    documentCount: 2 * total,
  };
  const sealed = { from: content.from, headers: {}, metadata: {}, baseVariables: {}, documents: [], recipients: [] };
  return scheduledAt === undefined
    ? { type: 'BatchQueued', data, sealed }
    : { type: 'BatchScheduled', data: { ...data, scheduledAt }, sealed };
};

/**
 * Queued emails of a batch. For a scheduled batch, odd ones are as an earlier program wrote them: without the time of
 * the batch's call.
 */
const queuedIn = (index: number, isScheduled = false): EmailEvent => ({
  type: 'EmailQueued',
  data: {
    ...accepted,
    priority: 'low',
    roles: ['to'],
    tags: TAGS,
    generated: { pdf: 1, excel: 0 },
    batch: { id: BATCH, index },
    ...(isScheduled ? { at: RELEASED, ...(index % 2 === 0 ? { calledAt: T0 } : {}) } : {}),
  },
  sealed: content,
});

type Told = Readonly<{ name: string; event: BatchEvent | EmailEvent }>;
/** `late`: another process makes an email of the part that it was at when the batch was cancelled. */
type Step = Readonly<{
  kind: 'late' | 'advance' | 'attempt' | 'send' | 'fail' | 'cancel' | 'stop' | 'complete' | 'withdraw';
  which: number;
}>;

const story = fc.record({
  total: fc.integer({ min: 1, max: 5 }),
  isScheduled: fc.boolean(),
  steps: fc.array(
    fc.record({
      kind: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom<Step['kind']>('advance', 'late') },
        { weight: 8, arbitrary: fc.constantFrom<Step['kind']>('attempt', 'send', 'fail') },
        { weight: 1, arbitrary: fc.constantFrom<Step['kind']>('cancel', 'withdraw', 'stop', 'complete') },
      ),
      which: fc.nat(4),
    }),
    { maxLength: 40, size: 'max' },
  ),
});

type Ends = { queued: number; processing: number; sent: number; failed: number; cancelled: number };

/**
 * Plays a story by the rules of the domain. Out: the events in order, and after each of them what a count by hand says.
 */
const play = ({
  total,
  isScheduled,
  steps,
}: typeof story extends fc.Arbitrary<infer S> ? S : never): Readonly<{ told: Told[]; ends: Ends[] }> => {
  const told: Told[] = [];
  const ends: Ends[] = [];
  const emails: ('queued' | 'processing' | 'sent' | 'failed' | 'cancelled')[] = [];
  const state = { isStarted: false, isCancelled: false, isOver: false, claimed: 0 };
  const tell = (name: string, event: BatchEvent | EmailEvent): void => {
    told.push({ name, event });
    const count = (status: string): number => emails.filter((one) => one === status).length;
    // Once the batch is cancelled, only emails of the part that was being made may still be made.
    const never = state.isCancelled ? total - state.claimed : 0;
    ends.push({
      queued: count('queued') + total - emails.length - never,
      processing: count('processing'),
      sent: count('sent'),
      failed: count('failed'),
      cancelled: count('cancelled') + never,
    });
  };
  const emailOf = (index: number): string => `email-${emailIdInBatch(BATCH, index)}`;
  const make = (): void => {
    emails.push('queued');
    tell(emailOf(emails.length - 1), queuedIn(emails.length - 1, isScheduled));
  };
  tell(stream, begun(total, isScheduled ? RELEASED : undefined));
  for (const [now, { kind, which }] of steps.entries()) {
    const when = at(10 + now);
    const status = emails[which];
    if (kind === 'advance' && !state.isCancelled && emails.length < total) {
      if (!state.isStarted) {
        state.isStarted = true;
        state.claimed = Math.min(total, PART);
        tell(stream, { type: 'BatchStarted', data: { at: when, partSize: PART, priority: 'low' } });
      }
      while (emails.length < state.claimed) make();
      state.claimed = Math.min(total, emails.length + PART);
      const event: BatchEvent =
        emails.length === total
          ? { type: 'BatchFannedOut', data: { at: when } }
          : { type: 'BatchAdvanced', data: { at: when, upTo: emails.length, priority: 'low' } };
      tell(stream, event);
    }
    if (kind === 'late' && state.isCancelled && !state.isOver && emails.length < state.claimed) make();
    if (kind === 'attempt' && status === 'queued') {
      emails[which] = 'processing';
      tell(emailOf(which), attempted(1, when));
    }
    if ((kind === 'send' || kind === 'fail') && status === 'processing') {
      emails[which] = kind === 'send' ? 'sent' : 'failed';
      tell(
        emailOf(which),
        kind === 'send' ? sent(1, when, [0, 'accepted']) : failed('refused', 1, when, [0, 'refused']),
      );
    }
    if (kind === 'cancel' && !state.isCancelled && !state.isOver) {
      state.isCancelled = true;
      tell(stream, { type: 'BatchCancelled', data: { at: when, priority: 'low' } });
    }
    if (kind === 'withdraw' && state.isCancelled && status === 'queued') {
      emails[which] = 'cancelled';
      tell(emailOf(which), cancelled(when));
    }
    if (kind === 'stop' && state.isCancelled && !state.isOver) {
      while (emails.length < state.claimed) {
        make();
        emails[emails.length - 1] = 'cancelled';
        tell(emailOf(emails.length - 1), cancelled(when));
      }
      state.isOver = true;
      tell(stream, {
        type: 'BatchStopped',
        data: { at: when, made: emails.length, sent: 0, failed: 0, cancelled: 0, processing: 0 },
      });
    }
    const hasEnded = emails.length === total && emails.every((one) => one !== 'queued' && one !== 'processing');
    if (kind === 'complete' && hasEnded && !state.isCancelled && !state.isOver) {
      state.isOver = true;
      tell(stream, { type: 'BatchCompleted', data: { at: when, sent: 0, failed: 0, cancelled: 0 } });
    }
  }
  return { told, ends };
};

const timerKind = (batch: BatchDocument): string | undefined => {
  const { queued, processing } = batchCounts(batch);
  const isOpen = queued + processing > 0;
  if (batch.cancelledAt !== null) return batch.stoppedAt === null || isOpen ? 'cancelling' : undefined;
  if (batch.fannedOutAt === null)
    return batch.startedAt === null && batch.status === 'scheduled' ? 'scheduled' : 'fan-out';
  return batch.completedAt !== null || isOpen ? undefined : 'completing';
};

void t.test('at every event each recipient counts once, and the timer says what is to be done', async (t) => {
  await fc.assert(
    fc.asyncProperty(story, async (given) => {
      const world = openLogOfTest();
      const { told, ends } = play(given);
      for (const { name, event } of told) await world.append(name, [event]);
      const recorded = await world.recorded();
      const readModels = openDocuments(t);
      let withdrawnBefore = 0;
      for (const [at, expected] of ends.entries()) {
        await projectIn(readModels, projection, recorded.slice(0, at + 1));
        const batch = (await readModels.get(BATCHES, BATCH)) as BatchDocument;
        const { queued, processing, sent: left, failed: lost, cancelled: withdrawn } = batchCounts(batch);
        const counts = { queued, processing, sent: left, failed: lost, cancelled: withdrawn };
        if (JSON.stringify(counts) !== JSON.stringify(expected))
          throw new Error(`${JSON.stringify(counts)} is not ${JSON.stringify(expected)}`);
        const sum = queued + processing + left + lost + withdrawn;
        if (sum !== given.total) throw new Error(`${sum} of ${given.total}`);
        if (withdrawn < withdrawnBefore) throw new Error(`${withdrawn} are cancelled, and ${withdrawnBefore} were`);
        withdrawnBefore = withdrawn;
        const timer = (await readModels.get(BATCH_TIMERS, BATCH)) as TimerDocument | undefined;
        if (timer?.kind !== timerKind(batch)) throw new Error(`the timer is ${timer?.kind}, not ${timerKind(batch)}`);
      }
      const known = await readBatchEnds(readModels)(BATCH);
      if (known === undefined || known.sent + known.failed + known.cancelled + known.processing !== given.total)
        throw new Error('the ends');
    }),
    { numRuns: 20, endOnFailure: true },
  );
  t.pass();
});

void t.test('the documents are the same however the events are cut, and after a write that was torn', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      story,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      fc.nat(12),
      async (given, sizes, torn) => {
        const world = openLogOfTest();
        const { told } = play(given);
        for (const { name, event } of told) await world.append(name, [event]);
        if (told.some(({ event }) => event.type === 'BatchCompleted' || event.type === 'BatchStopped')) {
          // The emails of it may go before their batch and after it.
          const emails = [...new Set(told.map(({ name }) => name))].filter((name) => name !== stream);
          for (const name of emails.slice(1))
            await world.append(name, [archived, { type: 'EmailRemoved', data: { at: at(200) } }]);
          await world.append(stream, [{ type: 'BatchRemoved', data: { at: at(200) } }]);
          for (const name of emails.slice(0, 1)) await world.append(name, [archived]);
        }
        const recorded = await world.recorded();
        const [whole, cut] = [openDocuments(t), openDocuments(t)];
        await projectIn(whole, projection, recorded);
        const half = recorded.slice(0, Math.ceil(recorded.length / 2));
        await projectIn(cut, projection, half, { sizes, forgetful: true });
        if (half.length < recorded.length) await tearWrite(cut, projection, recorded.slice(half.length), torn);
        await projectIn(cut, projection, recorded, { sizes, forgetful: true });
        const [a, b] = [await documentsOf(whole, projection), await documentsOf(cut, projection)];
        if (JSON.stringify(a) !== JSON.stringify(b))
          throw new Error(`${JSON.stringify(a[BATCHES])}\n${JSON.stringify(b[BATCHES])}`);
      },
    ),
    { numRuns: 20, endOnFailure: true },
  );
  t.pass();
});

const archived: EmailEvent = { type: 'EmailArchived', data: { at: at(100) } };

void t.test('a batch that has ended has a time at which its record goes, and then nothing stands for it', async (t) => {
  const world = openLogOfTest();
  const readModels = openDocuments(t);
  const found = async () => {
    await projectIn(readModels, projection, await world.recorded());
    const documents = await documentsOf(readModels, projection);
    return { batches: documents[BATCHES]!, timers: documents[BATCH_TIMERS]! };
  };
  const ends = { sent: 1, failed: 0, cancelled: 0 };
  await world.append(stream, [
    begun(1),
    { type: 'BatchStarted', data: { at: at(1), partSize: PART, priority: 'low' } },
  ]);
  const name = `email-${emailIdInBatch(BATCH, 0)}`;
  await world.append(name, [queuedIn(0), attempted(1, at(2)), sent(1, at(3), [0, 'accepted'])]);
  await world.append(stream, [{ type: 'BatchFannedOut', data: { at: at(3) } }]);
  t.match((await found()).timers, [{ kind: 'completing' }]);
  await world.append(stream, [{ type: 'BatchCompleted', data: { at: at(4), ...ends } }]);
  const dueAt = at(4 + (RETENTION_MS + ARCHIVE_MS) / 1_000);
  const { batches, timers } = await found();
  t.match(timers, [{ id: `${BATCH}:removal`, kind: 'removal', key: stream, dueAt, priority: 'low' }]);
  t.equal(batches.length, 1);
  await world.append(name, [archived, { type: 'EmailRemoved', data: { at: dueAt } }]);
  t.equal(batchCounts((await found()).batches[0] as BatchDocument).sent, 1, 'its figures stay as long as it does');
  await world.append(stream, [{ type: 'BatchRemoved', data: { at: dueAt } }]);
  const gone = await found();
  t.match(gone, { batches: [{ id: BATCH, gone: 1 }], timers: [] }, 'but for a stub');
});

void t.test('what is shown of a batch', async (t) => {
  const world = openLogOfTest();
  await world.append(stream, [
    begun(2),
    { type: 'BatchStarted', data: { at: at(1), partSize: PART, priority: 'low' } },
  ]);
  const readModels = openDocuments(t);
  await projectIn(readModels, projection, await world.recorded());
  const batch = (await readModels.get(BATCHES, BATCH)) as BatchDocument;
  t.strictSame(batchListing(batch, { clock: { now: () => Date.parse(at(2)) }, waitMs: (emails) => emails * 1_000 }), {
    batchId: BATCH,
    batchName: null,
    status: 'processing',
    templateId: TEMPLATE_ID,
    emailTemplateName: 'Order confirmation',
    priority: 'low',
    totalEmails: 2,
    queued: 2,
    processing: 0,
    sent: 0,
    delivered: 0,
    failed: 0,
    bounced: 0,
    cancelled: 0,
    skipped: 1,
    duplicates: 0,
    progress: 0,
    createdAt: T0,
    scheduledAt: null,
    queuedAt: T0,
    startedAt: at(1),
    completedAt: null,
    cancelledAt: null,
    estimatedCompletionAt: at(4),
    test: false,
  });
});
