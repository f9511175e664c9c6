/**
 * Makes spans of calls, events, renderings and deliveries where a collector of traces is named, and sends them there.
 */
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

type Deps = Readonly<{ clock: Clock; logger: Logger }>;

type TracingDeps = Readonly<{
  tracer: Tracer;
  scopes: Scopes;
  /** Milliseconds since the Unix epoch, with fractions. */
  nowMs: () => number;
}>;

/** A call or an attempt at delivery that is under way. Spans that begin within it become its children. */
type Scope = {
  readonly kind: 'call' | 'attempt';
  /** A call has them from its beginning, an attempt once its beginning is recorded. */
  ids: (SpanIds & Readonly<{ parent?: string | undefined }>) | undefined;
  readonly parts: Part[];
  /** Attributes that become known on the way. */
  attributes: SpanAttributes;
  /** The correlation ids under which the streams began that the call has read. */
  begunUnder: Map<string, string> | undefined;
};

type Scopes = AsyncLocalStorage<Scope>;

type Part = Readonly<{ name: string; startMs: number; endMs: number; attributes: SpanAttributes; isError?: boolean }>;

/** The span of a scope that has ended. */
type Ended = Pick<FinishedSpan, 'name' | 'kind' | 'startMs' | 'endMs' | 'attributes' | 'link' | 'isError'>;

type Metadata = Readonly<{ eventId: string; correlationId: string; causationId: string }>;

type Append = Readonly<{ stream: string; startMs: number; endMs: number; scope: Scope | undefined; tracer: Tracer }>;

const HEX_32 = /^[0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;

/** A call for many emails would have a part for each. */
const PARTS_MAX = 100;

const PORT = /:(\d+)$/;

const APART_MAX_MS = 2;

/**
 * Wraps the measured ports so that they make spans too. If no collector is named, they stay as they are, and no package
 * is loaded.
 */
export const withTraces = async (
  { traces }: Pick<Config, 'traces'>,
  metrics: Metrics,
  { clock, logger }: Deps,
): Promise<Metrics> => {
  if (traces === undefined) return metrics;
  const [{ openOtlp }, { systemIds }] = await Promise.all([
    import('../../adapters/traces/otlp.js'),
    import('../../adapters/ids/system.js'),
  ]);
  const tracer = openOtlp({ ...traces, version, logger, dropped: (spans) => metrics.spansDropped?.(spans) });
  const deps: TracingDeps = { tracer, scopes: openScopes(), nowMs: fineTimeOf(clock) };
  const ids: Pick<Ids, 'bytes'> = systemIds();
  const [store, renderer, generator, mailer] = [
    tracedStore(deps),
    tracedRenderer(deps),
    tracedGenerator(deps),
    tracedMailer(deps),
  ];
  const composed = tracedComposing(deps);
  return {
    ...metrics,
    store: (inner) => store(metrics.store(inner)),
    renderer: (inner) => renderer(metrics.renderer(inner)),
    generator: (inner) => generator(metrics.generator(inner)),
    mailer: (inner, relay) => mailer(metrics.mailer(inner, relay)),
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

/**
 * The time of day with fractions of a millisecond: the monotonic clock plus an offset, set anew if the two clocks drift
 * apart.
 */
const fineTimeOf = (clock: Pick<Clock, 'now' | 'monotonic'>): (() => number) => {
  let offsetMs = clock.now() - clock.monotonic();
  return () => {
    const elapsedMs = clock.monotonic();
    const now = clock.now();
    if (Math.abs(now - elapsedMs - offsetMs) > APART_MAX_MS) offsetMs = now - elapsedMs;
    return elapsedMs + offsetMs;
  };
};

/**
 * Makes a span of each call. Its trace, like that of the events, comes from the request id. If the caller names a span
 * of that trace, the call is its child; a span of another trace becomes a link. A caller may send a request id again,
 * so the span id is then drawn at random.
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

/**
 * Makes a span of each event of an email, with the ids of the event and the duration of its append; and of each event
 * of another stream that a call appends.
 */
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
      // After a conflict nothing is in the log. Events of an unknown outcome nearly always are, and are settled without
      // another append.
      if (outcome.kind !== 'conflict') for (const event of given) appended(append, event, outcome.kind === 'unknown');
      return outcome;
    },
  });
};

const noteBeginning = (scope: Scope, stream: string, first: StoredEvent | undefined): void => {
  if (first?.revision === 0 && stream.startsWith('email-'))
    (scope.begunUnder ??= new Map()).set(stream, metadataOf(first).correlationId);
};

const appended = (
  { stream, startMs, endMs, scope, tracer }: Append,
  stored: EventToStore,
  isUnknown: boolean,
): void => {
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
    // The beginning of the attempt was recorded before a fault of ours; the attempt goes on.
    scope.ids = { traceId, spanId: partIdOf(spanId, 0), parent: spanIdOf(causationId) };
    scope.attributes = { 'sealpost.stream': stream };
  }
  if (tracer.samples(traceId))
    tracer.record({ ...span, traceId, spanId, parent: parentOf(scope, traceId, causationId) });
  const earlier = scope?.begunUnder?.get(stream);
  if (earlier !== undefined && traceIdOf(earlier) !== traceId && tracer.samples(traceIdOf(earlier)))
    // The event of a later call is also a span in the trace of the email, as the parent of what follows from it.
    tracer.record({ ...span, traceId: traceIdOf(earlier), spanId, link: { traceId, spanId } });
};

const attemptOf = ({ data }: EventToStore): SpanAttributes => {
  const { attempt } = JSON.parse(data) as Readonly<{ attempt?: unknown }>;
  return typeof attempt === 'number' ? { 'sealpost.attempt': attempt } : {};
};

/** The span of the call under way if the call caused the event, otherwise the span of the cause. */
const parentOf = (scope: Scope | undefined, traceId: string, causationId: string): string =>
  scope?.kind === 'call' && scope.ids?.traceId === traceId && traceIdOf(causationId) === traceId
    ? scope.ids.spanId
    : spanIdOf(causationId);

const metadataOf = ({ metadata }: Pick<EventToStore, 'metadata'>): Metadata => JSON.parse(metadata) as Metadata;

/** Makes each rendering of a mail a part of the call that checks it or of the attempt that sends it. */
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
    email: async (cacheKey, load) => traced(await renderer.email(cacheKey, load)),
    inline: (content, language) => traced(renderer.inline(content, language)),
  });
};

/** Makes each document, including its wait for a document process, a part of the scope. */
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
        addPart(scope, {
          name: 'document',
          startMs,
          endMs: nowMs(),
          attributes: { 'sealpost.document.format': format },
          isError,
        });
      }
    },
  });
};

/** Makes the composing of a message a part. Called when it has ended. */
const tracedComposing =
  ({ scopes, nowMs }: TracingDeps) =>
  (seconds: number): void => {
    const scope = scopes.getStore();
    const endMs = nowMs();
    if (scope !== undefined)
      addPart(scope, { name: 'compose', startMs: endMs - seconds * 1_000, endMs, attributes: {} });
  };

/** Each attempt is a span from the moment when it has a connection until the outcome is known. */
const tracedMailer = ({ tracer, scopes, nowMs }: TracingDeps): ((mailer: Mailer) => Mailer) => {
  return (mailer) => ({
    ...mailer,
    lend: async (wanted, use) => {
      const askedMs = nowMs();
      const scope = newScope('attempt');
      let startMs = askedMs;
      let ended: Readonly<{ outcome: DeliveryOutcome; endMs: number }> | undefined;
      try {
        return await mailer.lend(wanted, (send) => {
          startMs = nowMs();
          return scopes.run(scope, () =>
            use(async (message, signal) => {
              const outcome = await send(message, signal);
              ended = { outcome, endMs: nowMs() };
              return outcome;
            }),
          );
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

/** The attributes of the first recipient that was not accepted; of the first one if all were. */
const attributesOf = (host: string, outcome: DeliveryOutcome | undefined): SpanAttributes => {
  const port = PORT.exec(host)?.[1];
  const server = {
    'server.address': host.replace(PORT, ''),
    ...(port === undefined ? {} : { 'server.port': Number(port) }),
  };
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

const openScopes = (): Scopes => new AsyncLocalStorage<Scope>();

const newScope = (kind: Scope['kind'], ids?: Scope['ids']): Scope => ({
  kind,
  ids,
  parts: [],
  attributes: {},
  begunUnder: undefined,
});

const addPart = (scope: Scope, part: Part): void => {
  if (scope.parts.length < PARTS_MAX) scope.parts.push(part);
};

/** Records the span of the scope and those of its parts, if its trace is sampled. */
const endScope = (tracer: Tracer, { ids, parts, attributes }: Scope, ended: Ended): void => {
  if (ids === undefined || !tracer.samples(ids.traceId)) return;
  const { traceId, spanId } = ids;
  tracer.record({ ...ended, ...ids, attributes: { ...ended.attributes, ...attributes } });
  for (const [index, part] of parts.entries())
    tracer.record({ ...part, kind: 'internal', traceId, spanId: partIdOf(spanId, index), parent: spanId });
};

/**
 * The trace id of an id that events have, so that every process makes the same one. Out: 32 hex digits: the id itself
 * if it is that, its digits if it is a UUID, otherwise the beginning of its SHA-256.
 */
export const traceIdOf = (id: string): string => {
  const digits = HEX_32.test(id) ? id : UUID.test(id) ? id.replaceAll('-', '').toLowerCase() : NO_TRACE;
  return digits === NO_TRACE ? hash('sha256', id, 'hex').slice(0, 32) : digits;
};

/** The last 16 digits of the trace id: the random part of the id of an event. */
export const spanIdOf = (id: string): string => {
  const digits = traceIdOf(id).slice(16);
  return digits === NO_SPAN ? hash('sha256', id, 'hex').slice(0, 16) : digits;
};

/** The id of the n-th part of a span. It begins with 0, and the id of an event, a UUID, with 8, 9, a or b. */
export const partIdOf = (spanId: string, n: number): string =>
  `0${((n + 1) % 0xfff).toString(16).padStart(3, '0')}${spanId.slice(4)}`;

/** The ids of a `traceparent` header (W3C Trace Context); undefined if it is malformed. */
export const idsOfTraceparent = (
  header: string | readonly string[] | undefined,
): { traceId: string; spanId: string } | undefined => {
  const [, traceId, spanId] = (typeof header === 'string' && TRACEPARENT.exec(header)) || [];
  if (traceId === undefined || spanId === undefined || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  return { traceId, spanId };
};
