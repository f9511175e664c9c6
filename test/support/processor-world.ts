/**
 * Processors over the world of commands: a read model that follows, the bus in memory, a mailer that does as it is
 * told, a clock that is moved.
 */
import type { Test } from 'tap';
import type { SendEmailRequest } from '../../src/api/email.js';
import { emailStream, assertDefined, parseEmailId, type EmailId } from '../../src/domain/core/ids.js';
import type { Limits } from '../../src/domain/core/limits.js';
import type { Bus, Pointer } from '../../src/domain/ports/bus.js';
import type { ReadModels } from '../../src/domain/ports/read-models.js';
import type { DeliveryOutcome, Mailer, OutgoingMessage } from '../../src/domain/ports/mailer.js';
import type { Worker } from '../../src/domain/ports/worker.js';
import { DELIVER_EMAIL, deliverEmail, type DeliveryDeps } from '../../src/processors/email/delivery.js';
import { type Processor, type ProcessorDeps, openStuckWork } from '../../src/processors/core/declaration.js';
import { dueWorkWorker } from '../../src/processors/core/due-work.js';
import type { EraseAddressDeps } from '../../src/processors/privacy/erasure.js';
import type { FanOutDeps } from '../../src/processors/bulk/fan-out.js';
import { makeProcessors } from '../../src/processors/index.js';
import { openUnpublishedWork, relayWorker } from '../../src/processors/core/relay.js';
import { codec, type Codec } from '../../src/event-log/codec.js';
import { storedAttachmentBytes } from '../../src/projections/email/attachment-usage.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { readBatchEnds } from '../../src/projections/bulk/batches.js';
import { makeProjections } from '../../src/projections/index.js';
import { makeRunner, type Runner } from '../../src/projections/core/runner.js';
import { HOST, said, type Result } from './email-facts.js';
import { caller, type Kept, simple, withTemplate, type World } from './command-world.js';
import { mailerBy, type SendMessage } from './mailers.js';
import { leaseKeeper, type LeaseKeeper } from './memory-leases.js';
import { memoryLog, type MemoryLog } from './memory-ports.js';
import { openBusOfTest } from './ports-of-tests.js';
import { openDocuments } from './projected.js';

export type FakeMailer = Mailer &
  Readonly<{
    sent: OutgoingMessage[];
    /** The results of the next messages; messages without one are accepted. */
    next: SendMessage[];
  }>;

/** One result for every recipient, or one for each in order. */
export const answers =
  (...results: readonly Result[]) =>
  (message: OutgoingMessage): DeliveryOutcome => ({
    host: HOST,
    durationMs: 120,
    recipients: message.envelope.to.map((_, index) => said(results[index] ?? results.at(-1) ?? 'accepted')),
  });

const fakeMailer = (final: boolean): FakeMailer => {
  const sent: OutgoingMessage[] = [];
  const next: FakeMailer['next'] = [];
  const send: SendMessage = (message, ...more) => {
    sent.push(message);
    return (next.shift() ?? answers('accepted'))(message, ...more);
  };
  return { ...mailerBy(send, { final }), sent, next };
};

export type ProcessorWorld = World &
  Readonly<{
    processing: Processing;
    /** Keeper of the leases of this world. */
    keeper: LeaseKeeper;
    mailer: FakeMailer;
    bus: Bus;
    logger: MemoryLog;
    readModels: ReadModels;
    /** Runs a worker until the test ends or `stop` is called; `stop` resolves when it has drained. */
    run: (worker: Worker) => Readonly<{ stop: () => Promise<void>; done: Promise<void> }>;
    send: (more?: Partial<SendEmailRequest>) => Promise<EmailId>;
    point: (id: EmailId, position?: number) => Pointer;
    publish: (...ids: readonly EmailId[]) => Promise<void>;
    /** Waits until the email has that status. */
    reaches: (id: EmailId, status: string) => Promise<void>;
    /** Resolves when the read model has everything. */
    settled: () => Promise<void>;
  }>;

/** Lets everything that is ready run, until `holds`; fails after many turns. */
export const until = async (holds: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  for (let turn = 0; turn < 2_000; turn += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never came true: ${what}`);
};

/** The dependencies of all processors. */
export type Processing = ProcessorDeps &
  DeliveryDeps &
  Pick<FanOutDeps, 'batchEnds' | 'storedBytes'> &
  EraseAddressDeps &
  Readonly<{ awayMs: undefined; codec: Codec }>;

export const deliverEmailWorker = (deps: Processing): Worker => deliverEmail(deps).worker(deps);

/** All workers of the program that bring work to the bus, and those that do it, except those named. */
export const workersOf = (
  deps: Processing,
  processors: readonly Processor[],
  without: readonly string[] = [],
): Worker => {
  const unpublished = openUnpublishedWork();
  const all = [
    relayWorker(deps, processors, unpublished),
    dueWorkWorker(deps, processors, unpublished),
    ...processors.map(({ worker }) => worker(deps)),
  ];
  return {
    name: 'all',
    run: async (signal) => {
      await Promise.all(all.filter(({ name }) => !without.includes(name)).map((worker) => worker.run(signal)));
    },
  };
};

/** The relay and the reader of timers of deliveries. */
export const relayAndTimers = (deps: Processing): Worker => {
  const processors = [deliverEmail(deps)];
  return workersOf(deps, processors, [DELIVER_EMAIL]);
};

/** The reader of timers, and the processors that only time starts. */
export const timersAndTheirWork = (deps: Processing): Worker =>
  workersOf(deps, makeProcessors(deps), ['relay', DELIVER_EMAIL]);

/** The projections that keep timers, or that work depends on. */
const WITH_TIMERS = [
  'emails',
  'credits',
  'activity',
  'templates',
  'attachmentTemplates',
  'blocks',
  'assets',
  'senderDomains',
  'erasures',
  'approvals',
  'webhooks',
  'teams',
  'sessions',
  'audit',
];

export type ProcessorOptions = Readonly<{
  final?: boolean;
  limits?: Partial<Limits>;
  pointersMax?: number;
  inFlightMax?: number;
  worker?: string;
  mayDestroy?: () => boolean;
  delaysMs?: readonly number[];
}> &
  Pick<Kept, 'providers' | 'allowsHeader'>;

export const openProcessorWorld = async (t: Test, options: ProcessorOptions = {}): Promise<ProcessorWorld> => {
  const { providers, allowsHeader } = options;
  const world = await withTemplate(options.limits, {
    ...(providers && { providers }),
    ...(allowsHeader && { allowsHeader }),
  });
  const logger = memoryLog();
  const readModels = openDocuments(t);
  const mailer = fakeMailer(options.final ?? false);
  const bus = openBusOfTest({ clock: world.clock, pointersMax: options.pointersMax ?? 1_000, logger });
  const runners: Runner[] = [];
  for (const projection of makeProjections(world.deps.limits).filter(({ name }) => WITH_TIMERS.includes(name))) {
    const store = await readModels.projection(projection.name, projection.collections);
    runners.push(
      makeRunner(projection, {
        eventLog: world.deps.eventLog,
        clock: world.clock,
        makeAnew: async () => {},
        store,
        pause: async () => {},
      }),
    );
  }
  const caughtUp = async (position: number, signal: AbortSignal): Promise<void> => {
    await Promise.all(runners.map((runner) => runner.caughtUp(position, signal)));
  };
  const stops: (() => Promise<void>)[] = [];
  const run: ProcessorWorld['run'] = (worker) => {
    const stopping = new AbortController();
    const done = worker.run(stopping.signal);
    const stop = async (): Promise<void> => {
      stopping.abort();
      await done;
    };
    stops.push(() => stop().catch(() => {}));
    return { stop, done };
  };
  t.teardown(async () => {
    await bus.close();
    await Promise.all(stops.map((stop) => stop()));
  });
  for (const { worker } of runners) run(worker);
  const cutOff = new AbortController();
  const keeper = leaseKeeper(world.clock);
  const processing: Processing = {
    ...world.deps,
    readModels,
    timersCaughtUp: (_kind, position, signal) => caughtUp(position, signal),
    nextTurn: async () => {},
    turnFor: async () => {},
    leases: keeper.open(),
    stuckWork: openStuckWork(),
    bus,
    mailer,
    logger,
    schedule: { delaysMs: options.delaysMs ?? [60_000, 300_000] },
    worker: options.worker ?? 'worker-1',
    inFlightMax: options.inFlightMax ?? 8,
    mayDestroy: options.mayDestroy ?? (() => true),
    awayMs: undefined,
    unwatchedMs: () => 0,
    codec,
    batchEnds: readBatchEnds(readModels),
    addressIndex: addressIndex(readModels),
    emailsCaughtUp: async (signal) => caughtUp(await world.deps.eventLog.head(), signal),
    storedBytes: storedAttachmentBytes({ readModels, clock: world.clock }),
    cutOff: cutOff.signal,
  };
  const point = (id: EmailId, position = 0): Pointer => ({
    id: `email-${id}@${position}`,
    stream: emailStream(id),
    priority: 'normal',
  });
  return {
    ...world,
    processing,
    keeper,
    mailer,
    bus,
    logger,
    readModels,
    run,
    point,
    send: async (more = {}) =>
      assertDefined(parseEmailId((await world.commands.sendEmail(caller, simple(more))).body.id), 'email id'),
    publish: async (...ids) =>
      void (await bus.publish(
        DELIVER_EMAIL,
        ids.map((id) => point(id)),
      )),
    reaches: (id, status) =>
      until(async () => (await world.commands.getEmail(caller, id)).status === status, `${id} is ${status}`),
    settled: async () => caughtUp(await world.deps.eventLog.head(), new AbortController().signal),
  };
};
