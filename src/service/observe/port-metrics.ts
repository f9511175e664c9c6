/** Wraps ports so that they count and time what goes through them, if metrics are wanted. */
import type { Bus, Work } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { EventStore } from '../../domain/ports/event-store.js';
import type { Generator } from '../../domain/ports/generator.js';
import type { Leases } from '../../domain/ports/lease.js';
import type { Mailer } from '../../domain/ports/mailer.js';
import type { Meter } from '../../domain/ports/meter.js';
import type { CompiledEmail, Renderer } from '../../domain/ports/renderer.js';

type MeasuringDeps = Readonly<{ meter: Meter; clock: Pick<Clock, 'monotonic' | 'now'> }>;

/** Upper bounds in seconds, from work of microseconds to waits for a network. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const EVENTS = [1, 2, 5, 10, 25, 50, 100, 250, 500];

const stopwatch = ({ clock }: MeasuringDeps): (() => number) => {
  const beganMs = clock.monotonic();
  return () => (clock.monotonic() - beganMs) / 1_000;
};

/** The counters of emails, by the type of the event that is counted. */
const emailCounters = {
  EmailQueued: ['sealpost_emails_accepted_total', 'Emails accepted with a 201.'],
  DeliveryAttempted: ['sealpost_delivery_attempts_total', 'Attempts at delivery that were begun.'],
  EmailSent: ['sealpost_emails_sent_total', 'Times that a relay took an email for recipients.'],
  EmailDelivered: ['sealpost_emails_delivered_total', 'Times that a final host took an email for recipients.'],
  EmailBounceReported: [
    'sealpost_emails_bounces_reported_total',
    'Reports of a later host that could not deliver to recipients.',
  ],
  EmailComplained: ['sealpost_emails_complained_total', 'Complaints of recipients.'],
  EmailDeferred: ['sealpost_emails_deferred_total', 'Attempts after which an email waits for the next.'],
  EmailBounced: ['sealpost_emails_bounced_total', 'Times that a reply blamed recipients for good.'],
  EmailFailed: ['sealpost_emails_failed_total', 'Emails given up.'],
  EmailRetried: ['sealpost_emails_retried_total', 'Emails that somebody pushed on by hand.'],
  EmailCancelled: ['sealpost_emails_cancelled_total', 'Emails that somebody cancelled, or deleted before they left.'],
  EmailArchived: ['sealpost_emails_archived_total', 'Emails whose key was destroyed because of their age.'],
  EmailDeleted: ['sealpost_emails_deleted_total', 'Emails whose key was destroyed on demand.'],
} as const;

export type MeasuredStore = Readonly<{
  wrap: (store: EventStore) => EventStore;
  /** When this process appended the last seal of the ledger; undefined if it has not. */
  lastSealMs: () => number | undefined;
}>;

export const measuredStore = (deps: MeasuringDeps): MeasuredStore => {
  const { meter, clock } = deps;
  const seconds = meter.histogram({
    name: 'sealpost_append_seconds',
    help: 'Time until appended events were durable, by how the append ended.',
    labels: ['outcome'],
    buckets: SECONDS,
  });
  const sizes = meter.histogram({ name: 'sealpost_append_events', help: 'Events of one append.', buckets: EVENTS });
  const events = meter.counter({
    name: 'sealpost_events_appended_total',
    help: 'Events appended by this process.',
    labels: ['type'],
  });
  const emails = new Map<string, (labels?: undefined, by?: number) => void>(
    Object.entries(emailCounters).map(([type, [name, help]]) => [type, meter.counter({ name, help })]),
  );
  let sealedMs: number | undefined;
  const note = (stored: string): void => {
    const [type = stored] = stored.split('.');
    events({ type });
    emails.get(type)?.();
    if (type === 'LedgerSealed') sealedMs = clock.now();
  };
  return {
    lastSealMs: () => sealedMs,
    wrap: (store) => ({
      ...store,
      append: async (stream, expectedRevision, given) => {
        const passed = stopwatch(deps);
        try {
          const outcome = await store.append(stream, expectedRevision, given);
          seconds(passed(), { outcome: outcome.kind });
          sizes(given.length);
          if (outcome.kind === 'done') for (const { type } of given) note(type);
          return outcome;
        } catch (fault) {
          seconds(passed(), { outcome: 'refused' });
          throw fault;
        }
      },
    }),
  };
};

/** Times each rendering, of templates from the cache too. */
export const measuredRenderer = (deps: MeasuringDeps): ((renderer: Renderer) => Renderer) => {
  const seconds = deps.meter.histogram({
    name: 'sealpost_render_seconds',
    help: 'Rendering of one mail.',
    buckets: SECONDS,
  });
  const known = new WeakMap<CompiledEmail, CompiledEmail>();
  const timed = (compiled: CompiledEmail): CompiledEmail => {
    const before = known.get(compiled);
    if (before !== undefined) return before;
    const render: CompiledEmail = Object.assign(
      (input: Parameters<CompiledEmail>[0]) => {
        const passed = stopwatch(deps);
        const rendered = compiled(input);
        seconds(passed());
        return rendered;
      },
      { check: compiled.check },
    );
    known.set(compiled, render);
    return render;
  };
  return (renderer) => ({
    ...renderer,
    email: async (cacheKey, load) => timed(await renderer.email(cacheKey, load)),
    inline: (content, language) => timed(renderer.inline(content, language)),
  });
};

export const measuredGenerator = (deps: MeasuringDeps): ((generator: Generator) => Generator) => {
  const seconds = deps.meter.histogram({
    name: 'sealpost_document_seconds',
    help: 'Making of one document, its wait for a document process included.',
    labels: ['format', 'outcome'],
    buckets: SECONDS,
  });
  let underWay = 0;
  deps.meter.gauge(
    { name: 'sealpost_documents_under_way', help: 'Documents being made or waiting for a process.' },
    () => [{ value: underWay }],
  );
  return (generator) => ({
    ...generator,
    make: async (input, format, ...rest) => {
      const passed = stopwatch(deps);
      underWay += 1;
      let outcome = 'failed';
      try {
        const made = await generator.make(input, format, ...rest);
        outcome = 'made';
        return made;
      } finally {
        underWay -= 1;
        seconds(passed(), { format, outcome });
      }
    },
  });
};

/** `relay`: the name of the relay in the figures. */
export const measuredMailer = (deps: MeasuringDeps): ((mailer: Mailer, relay: string) => Mailer) => {
  const seconds = deps.meter.histogram({
    name: 'sealpost_smtp_seconds',
    help: 'Delivery of one mail to the relay, its wait for a connection included, by the outcome for its first recipient; host-away where no session could be opened.',
    labels: ['outcome', 'relay'],
    buckets: SECONDS,
  });
  const recipients = deps.meter.counter({
    name: 'sealpost_smtp_recipients_total',
    help: 'Recipients by what the relay answered for them.',
    labels: ['outcome', 'relay'],
  });
  return (mailer, relay) => ({
    ...mailer,
    lend: async (wanted, use) => {
      const passed = stopwatch(deps);
      const lent = await mailer.lend(wanted, (send) =>
        use(async (message, signal) => {
          const outcome = await send(message, signal);
          seconds(passed(), { outcome: outcome.recipients[0]?.result ?? 'deferred', relay });
          for (const { result } of outcome.recipients) recipients({ outcome: result, relay });
          return outcome;
        }),
      );
      if (lent.kind === 'host-away') seconds(passed(), { outcome: 'host-away', relay });
      return lent;
    },
  });
};

export type MeasuredBus = Readonly<{
  wrap: (bus: Bus) => Bus;
  /** Pieces of work given to a processor and not yet settled. */
  inFlight: (processor: string) => number;
}>;

export const measuredBus = ({ meter }: MeasuringDeps): MeasuredBus => {
  const taken = meter.counter({
    name: 'sealpost_pointers_published_total',
    help: 'Pointers to work that the bus was given, by whether it had room.',
    labels: ['processor', 'room'],
  });
  const settled = meter.counter({
    name: 'sealpost_work_settled_total',
    help: 'Pieces of work by how they ended: done, to be tried again, or parked.',
    labels: ['processor', 'ending'],
  });
  const under = new Map<string, number>();
  const change = (processor: string, by: number): void => void under.set(processor, (under.get(processor) ?? 0) + by);
  const watched = (processor: string, work: Work): Work => {
    change(processor, 1);
    const end = (ending: string): void => {
      change(processor, -1);
      settled({ processor, ending });
    };
    return {
      ...work,
      ack: () => work.ack().finally(() => end('done')),
      retryAt: (atMs) => work.retryAt(atMs).finally(() => end('retry')),
      park: (reason) => work.park(reason).finally(() => end('parked')),
    };
  };
  const wrap = (bus: Bus): Bus => ({
    ...bus,
    publish: async (processor, pointers) => {
      const left = await bus.publish(processor, pointers);
      if (pointers.length > left.length) taken({ processor, room: 'yes' }, pointers.length - left.length);
      if (left.length > 0) taken({ processor, room: 'no' }, left.length);
      return left;
    },
    consume: async function* (processor, options) {
      for await (const work of bus.consume(processor, options)) yield watched(processor, work);
    },
  });
  return { wrap, inFlight: (processor) => under.get(processor) ?? 0 };
};

/** Each run of a worker has a lease of its own; they count under one name. */
const nameOfLease = (name: string): string => name.replace(/^worker-[0-9a-f-]{36}-/, 'worker-');

export const measuredLeases = ({ meter }: MeasuringDeps): ((leases: Leases) => Leases) => {
  const held = new Map<string, number>();
  const lost = meter.counter({
    name: 'sealpost_leases_lost_total',
    help: 'Leases that ended while they were in use.',
    labels: ['lease'],
  });
  meter.gauge({ name: 'sealpost_lease_held', help: '1 where this process holds the lease.', labels: ['lease'] }, () =>
    [...held.keys()].map((name) => ({ value: 1, labels: { lease: nameOfLease(name) } })),
  );
  meter.gauge({ name: 'sealpost_lease_fence', help: 'The fencing number of a held lease.', labels: ['lease'] }, () =>
    [...held].map(([name, fence]) => ({ value: fence, labels: { lease: nameOfLease(name) } })),
  );
  return (leases) => ({
    ...leases,
    acquire: async (name, ...rest) => {
      const lease = await leases.acquire(name, ...rest);
      if (lease !== undefined) held.set(name, lease.fence);
      return lease;
    },
    renew: async (lease, ttlMs) => {
      const renewed = await leases.renew(lease, ttlMs);
      if (renewed === undefined && held.delete(lease.name)) lost({ lease: nameOfLease(lease.name) });
      return renewed;
    },
    release: (lease) => {
      held.delete(lease.name);
      return leases.release(lease);
    },
  });
};
