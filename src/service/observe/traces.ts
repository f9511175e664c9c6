/** Traces of this process, where a collector is named: what makes spans, and where they go. */
import { hash } from 'node:crypto';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FinishedSpan, SpanAttributes, SpanIds, Tracer } from '../../domain/ports/tracer.js';
import type { EventStore, EventToStore, StoredEvent } from '../../domain/ports/event-store.js';
import type { Generator } from '../../domain/ports/generator.js';
import type { DeliveryOutcome, Mailer } from '../../domain/ports/mailer.js';
import type { CompiledEmail, Renderer } from '../../domain/ports/renderer.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { CallTraces } from '../../http/server/context.js';
import type { Config } from '../settings/config.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Metrics } from './metrics.js';
import { version } from '../version.js';

/* The ids of traces and spans, made of the ids that stand in the events: every process makes the same without being told. */

const HEX_32 = /^[0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** In: any id. Out: 32 hex digits: the id itself where it is so many, its digits where it is a UUID, else the beginning of its SHA-256. */
export const traceIdOf = (id: string): string => {
  const digits = HEX_32.test(id) ? id : UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : NO_TRACE;
  return digits === NO_TRACE ? hash('sha256', id, 'hex').slice(0, 32) : digits;
};

/** The last 16 of these digits: the random part of the id of an event. */
export const spanIdOf = (id: string): string => {
  const digits = traceIdOf(id).slice(16);
  return digits === NO_SPAN ? hash('sha256', id, 'hex').slice(0, 16) : digits;
};

/** The id of the n-th part of a span. It begins with 0, and the id of an event, a UUID, with 8, 9, a or b. */
export const partIdOf = (spanId: string, n: number): string => `0${((n + 1) % 0xfff).toString(16).padStart(3, '0')}${spanId.slice(4)}`;

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** The ids of a `traceparent` header (W3C Trace Context); undefined where it is none. */
export const idsOfTraceparent = (header: string | readonly string[] | undefined): { traceId: string; spanId: string } | undefined => {
  const [, traceId, spanId] = (typeof header === 'string' && TRACEPARENT.exec(header)) || [];
  if (traceId === undefined || spanId === undefined || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return { traceId, spanId };
};

/* What is under way while spans are made: a call, or an attempt at delivery; what happens within it becomes its parts. */

type Part = Readonly<{ name: string; startMs: number; endMs: number; attributes: SpanAttributes; isError?: boolean }>;

type Scope = {
  readonly kind: 'call' | 'attempt';
  /** Of a call from its beginning; of an attempt when its beginning is recorded. */
  ids: (SpanIds & Readonly<{ parent?: string | undefined }>) | undefined;
  readonly parts: Part[];
  /** Attributes that become known on the way. */
  attributes: SpanAttributes;
  /** Of streams that a call has read: the correlation id under which each began. */
  begunUnder: Map<string, string> | undefined;
};

type Scopes = AsyncLocalStorage<Scope>;

const openScopes = (): Scopes => new AsyncLocalStorage<Scope>();

const newScope = (kind: Scope['kind'], ids?: Scope['ids']): Scope => ({
  kind,
  ids,
  parts: [],
  attributes: {},
  begunUnder: undefined,
});

/** A call of many emails has as many parts. */
const PARTS_MAX = 100;

const addPart = (scope: Scope, part: Part): void => {
  if (scope.parts.length < PARTS_MAX) scope.parts.push(part);
};

/** What is known of a scope's own span when it has ended. */
type Ended = Pick<FinishedSpan, 'name' | 'kind' | 'startMs' | 'endMs' | 'attributes' | 'link' | 'isError'>;

/** Records the span of the scope and those of its parts, where its trace is wanted. */
const endScope = (tracer: Tracer, { ids, parts, attributes }: Scope, ended: Ended): void => {
  if (ids === undefined || !tracer.samples(ids.traceId)) return;
  const { traceId, spanId } = ids;
  tracer.record({ ...ended, ...ids, attributes: { ...ended.attributes, ...attributes } });
  for (const [index, part] of parts.entries())
    tracer.record({ ...part, kind: 'internal', traceId, spanId: partIdOf(spanId, index), parent: spanId });
};

/* Ports that make spans of what goes through them. Only where traces are asked for: without them nothing stands between. */

type TracingDeps = Readonly<{
  tracer: Tracer;
  scopes: Scopes;
  /** Milliseconds since the Unix epoch, with fractions. */
  nowMs: () => number;
}>;

type Metadata = Readonly<{ eventId: string; correlationId: string; causationId: string }>;

const metadataOf = ({ metadata }: Pick<EventToStore, 'metadata'>): Metadata => JSON.parse(metadata) as Metadata;

type Append = Readonly<{ stream: string; startMs: number; endMs: number; scope: Scope | undefined; tracer: Tracer }>;

/** Each event of an email is a span with the ids of the event, as long as its append took; of other streams those that a call appends. */
const tracedStore = ({ tracer, scopes, nowMs }: TracingDeps): ((store: EventStore) => EventStore) => {
  return (store) => ({
    ...store,
    readStream: async (stream, fromRevision) => {
      const scope = scopes.getStore();
      const events = await store.readStream(stream, fromRevision);
      if (scope?.kind === 'call') noteBeginning(scope, stream, events[0]);
      return events;
    },
    append: async (stream, expectedRevision, given) => {
      const scope = scopes.getStore();
      if (scope === undefined && !stream.startsWith('email-')) return store.append(stream, expectedRevision, given);
      const startMs = nowMs();
      const outcome = await store.append(stream, expectedRevision, given);
      const append = { stream, startMs, endMs: nowMs(), scope, tracer };
      // Of a conflict nothing stands in the log. What is unknown nearly always does, and is settled without another append.
      if (outcome.kind !== 'conflict') for (const event of given) appended(append, event, outcome.kind === 'unknown');
      return outcome;
    },
  });
};

const noteBeginning = (scope: Scope, stream: string, first: StoredEvent | undefined): void => {
  if (first?.revision === 0 && stream.startsWith('email-')) (scope.begunUnder ??= new Map()).set(stream, metadataOf(first).correlationId);
};

const appended = ({ stream, startMs, endMs, scope, tracer }: Append, stored: EventToStore, isUnknown: boolean): void => {
  const { eventId, correlationId, causationId } = metadataOf(stored);
  const traceId = traceIdOf(correlationId);
  const spanId = spanIdOf(eventId);
  const [type = stored.type] = stored.type.split('.');
  const attributes = { 'sealpost.stream': stream, 'sealpost.event.id': eventId };
  const span = { name: `append ${type}`, kind: 'internal' as const, startMs, endMs, attributes, isError: isUnknown };
  if (scope?.kind === 'attempt' && type === 'DeliveryAttempted') {
    // The attempt itself is the span of this event.
    scope.ids = { traceId, spanId, parent: spanIdOf(causationId) };
    scope.attributes = { ...attributes, ...attemptOf(stored) };
    addPart(scope, { ...span, attributes: {} });
    return;
  }
  if (scope?.kind === 'attempt' && scope.ids === undefined) {
    // It was recorded to begin before a fault of ours, and goes on.
    scope.ids = { traceId, spanId: partIdOf(spanId, 0), parent: spanIdOf(causationId) };
    scope.attributes = { 'sealpost.stream': stream };
  }
  if (tracer.samples(traceId)) tracer.record({ ...span, traceId, spanId, parent: parentOf(scope, traceId, causationId) });
  const earlier = scope?.begunUnder?.get(stream);
  if (earlier !== undefined && traceIdOf(earlier) !== traceId && tracer.samples(traceIdOf(earlier)))
    // What a later call does to an email stands in the trace of the email too: what follows from it has it for a parent.
    tracer.record({ ...span, traceId: traceIdOf(earlier), spanId, link: { traceId, spanId } });
};

const attemptOf = ({ data }: EventToStore): SpanAttributes => {
  const { attempt } = JSON.parse(data) as Readonly<{ attempt?: unknown }>;
  return typeof attempt === 'number' ? { 'sealpost.attempt': attempt } : {};
};

/** The call that is under way where it caused the event, else the span of what caused it. */
const parentOf = (scope: Scope | undefined, traceId: string, causationId: string): string =>
  scope?.kind === 'call' && scope.ids?.traceId === traceId && traceIdOf(causationId) === traceId ? scope.ids.spanId : spanIdOf(causationId);

/** Rendering of a mail, as a part of the call that checks it or of the attempt that sends it. */
const tracedRenderer = ({ scopes, nowMs }: TracingDeps): ((renderer: Renderer) => Renderer) => {
  const known = new WeakMap<CompiledEmail, CompiledEmail>();
  const timed = <Input, Output>(work: (input: Input) => Output): ((input: Input) => Output) => {
    return (input) => {
      const scope = scopes.getStore();
      if (scope === undefined) return work(input);
      const startMs = nowMs();
      let isError = true;
      try {
        const result = work(input);
        isError = false;
        return result;
      } finally {
        addPart(scope, { name: 'render', startMs, endMs: nowMs(), attributes: {}, isError });
      }
    };
  };
  const traced = (compiled: CompiledEmail): CompiledEmail => {
    const before = known.get(compiled);
    if (before !== undefined) return before;
    const render: CompiledEmail = Object.assign(timed(compiled), { check: timed(compiled.check) });
    known.set(compiled, render);
    return render;
  };
  return (renderer) => ({
    ...renderer,
    email: (cacheKey, load) => {
      const compiled = renderer.email(cacheKey, load);
      return compiled instanceof Promise ? compiled.then(traced) : traced(compiled);
    },
  });
};

/** Making of a document, its wait for a document process included. */
const tracedGenerator = ({ scopes, nowMs }: TracingDeps): ((generator: Generator) => Generator) => {
  return (generator) => ({
    ...generator,
    make: async (input, format, ...rest) => {
      const scope = scopes.getStore();
      if (scope === undefined) return generator.make(input, format, ...rest);
      const startMs = nowMs();
      let isError = true;
      try {
        const made = await generator.make(input, format, ...rest);
        isError = false;
        return made;
      } finally {
        addPart(scope, { name: 'document', startMs, endMs: nowMs(), attributes: { 'sealpost.document.format': format }, isError });
      }
    },
  });
};

/** Composing of a message, told when it has ended. */
const tracedComposing =
  ({ scopes, nowMs }: TracingDeps) =>
  (seconds: number): void => {
    const scope = scopes.getStore();
    const endMs = nowMs();
    if (scope !== undefined) addPart(scope, { name: 'compose', startMs: endMs - seconds * 1_000, endMs, attributes: {} });
  };

/** Each attempt is a span from the moment when it has a connection until the outcome is known. */
const tracedMailer = ({ tracer, scopes, nowMs }: TracingDeps): ((mailer: Mailer) => Mailer) => {
  return (mailer) => ({
    ...mailer,
    send: async (delivery) => {
      const askedMs = nowMs();
      const scope = newScope('attempt');
      let startMs = askedMs;
      let ended: Readonly<{ outcome: DeliveryOutcome; endMs: number }> | undefined;
      try {
        return await mailer.send({
          ...delivery,
          begin: () => {
            startMs = nowMs();
            return scopes.run(scope, delivery.begin);
          },
          end: (outcome) => {
            ended = { outcome, endMs: nowMs() };
            return scopes.run(scope, () => delivery.end(outcome));
          },
        });
      } finally {
        const { endMs = nowMs(), outcome } = ended ?? {};
        const attributes = { ...attributesOf(mailer.host, outcome), 'sealpost.connection_wait_ms': startMs - askedMs };
        const isError = outcome?.recipients.some(({ result }) => result === 'accepted') !== true;
        endScope(tracer, scope, { name: 'deliver', kind: 'client', startMs, endMs, attributes, isError });
      }
    },
  });
};

const PORT = /:(\d+)$/;

/** Of the first recipient that was not accepted; of the first where all were. */
const attributesOf = (host: string, outcome: DeliveryOutcome | undefined): SpanAttributes => {
  const port = PORT.exec(host)?.[1];
  const server = { 'server.address': host.replace(PORT, ''), ...(port === undefined ? {} : { 'server.port': Number(port) }) };
  if (outcome === undefined) return { ...server, 'error.type': 'not-sent' };
  const { recipients } = outcome;
  const shown = recipients.find(({ result }) => result !== 'accepted') ?? recipients[0];
  if (shown === undefined) return server;
  const { result, replyCode, rule } = shown;
  return {
    ...server,
    'sealpost.recipients': recipients.length,
    'sealpost.outcome': result,
    ...(replyCode === null ? {} : { 'sealpost.smtp.reply_code': replyCode }),
    ...(result === 'accepted' ? {} : { 'error.type': rule }),
  };
};

/* Spans of the calls that the API answers. */

/**
 * The trace is that of the request id, as that of the events is. Where the caller names a span of the same trace, the call is its child;
 * a span of another trace becomes a link. A request id of the caller's own may come again, so the id of its span is drawn.
 */
const tracedCalls = ({ tracer, scopes, nowMs }: TracingDeps, ids: Pick<Ids, 'bytes'>): CallTraces => ({
  begin: (requestId, { isOwn, traceparent }) => {
    const traceId = traceIdOf(requestId);
    if (!tracer.samples(traceId)) return undefined;
    const from = idsOfTraceparent(traceparent);
    const isContinued = from?.traceId === traceId;
    const spanId = isOwn ? ids.bytes(8).toString('hex') : spanIdOf(requestId);
    const scope = newScope('call', { traceId, spanId, parent: isContinued ? from.spanId : undefined });
    let code: string | undefined;
    return {
      run: (next) => scopes.run(scope, next),
      failed: (failure) => (code = failure),
      end: ({ method, route, status, seconds }) => {
        const endMs = nowMs();
        const attributes = {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
          ...(code === undefined ? {} : { 'error.type': code }),
        };
        endScope(tracer, scope, {
          name: `${method} ${route}`,
          kind: 'server',
          startMs: endMs - seconds * 1_000,
          endMs,
          attributes,
          link: isContinued ? undefined : from,
          isError: status >= 500,
        });
      },
    };
  },
});

type Deps = Readonly<{ clock: Clock; logger: Logger }>;

/** The same ports that are measured, which make spans too; as they were where no collector is named, and no package is loaded. */
export const withTraces = async ({ traces }: Pick<Config, 'traces'>, metrics: Metrics, { clock, logger }: Deps): Promise<Metrics> => {
  if (traces === undefined) return metrics;
  const [{ openOtlp }, { systemIds }] = await Promise.all([
    import('../../adapters/traces/otlp.js'),
    import('../../adapters/ids/system.js'),
  ]);
  const tracer = openOtlp({ ...traces, version, logger, dropped: (spans) => metrics.spansDropped?.(spans) });
  const deps: TracingDeps = { tracer, scopes: openScopes(), nowMs: fineTimeOf(clock) };
  const ids: Pick<Ids, 'bytes'> = systemIds();
  const [store, renderer, generator, mailer] = [tracedStore(deps), tracedRenderer(deps), tracedGenerator(deps), tracedMailer(deps)];
  const composed = tracedComposing(deps);
  return {
    ...metrics,
    store: (inner) => store(metrics.store(inner)),
    renderer: (inner) => renderer(metrics.renderer(inner)),
    generator: (inner) => generator(metrics.generator(inner)),
    mailer: (inner) => mailer(metrics.mailer(inner)),
    composed: (seconds) => {
      metrics.composed?.(seconds);
      composed(seconds);
    },
    calls: tracedCalls(deps, ids),
    close: async () => {
      await tracer.close();
      await metrics.close();
    },
  };
};

const APART_MAX_MS = 2;

/** The time of day with fractions of a millisecond: that of the monotonic clock, set anew where the two come apart. */
const fineTimeOf = (clock: Pick<Clock, 'now' | 'monotonic'>): (() => number) => {
  let offsetMs = clock.now() - clock.monotonic();
  return () => {
    const elapsedMs = clock.monotonic();
    const now = clock.now();
    if (Math.abs(now - elapsedMs - offsetMs) > APART_MAX_MS) offsetMs = now - elapsedMs;
    return elapsedMs + offsetMs;
  };
};
