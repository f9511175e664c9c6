/** Ports that make spans of what goes through them. Only where traces are asked for: without them nothing stands between. */
import type { EventStore, EventToStore, StoredEvent } from '../../domain/ports/event-store.js';
import type { Generator } from '../../domain/ports/generator.js';
import type { DeliveryOutcome, Mailer } from '../../domain/ports/mailer.js';
import type { CompiledEmail, Renderer } from '../../domain/ports/renderer.js';
import type { SpanAttributes, Tracer } from '../../domain/ports/tracer.js';
import { partIdOf, spanIdOf, traceIdOf } from './trace-ids.js';
import { addPart, endScope, newScope, type Scope, type Scopes } from './trace-scope.js';

export type TracingDeps = Readonly<{
  tracer: Tracer;
  scopes: Scopes;
  /** Milliseconds since the Unix epoch, with fractions. */
  nowMs: () => number;
}>;

type Metadata = Readonly<{ eventId: string; correlationId: string; causationId: string }>;

const metadataOf = ({ metadata }: Pick<EventToStore, 'metadata'>): Metadata => JSON.parse(metadata) as Metadata;

type Append = Readonly<{ stream: string; startMs: number; endMs: number; scope: Scope | undefined; tracer: Tracer }>;

/** Each event of an email is a span with the ids of the event, as long as its append took; of other streams those that a call appends. */
export const tracedStore = ({ tracer, scopes, nowMs }: TracingDeps): ((store: EventStore) => EventStore) => {
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
export const tracedRenderer = ({ scopes, nowMs }: TracingDeps): ((renderer: Renderer) => Renderer) => {
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
export const tracedGenerator = ({ scopes, nowMs }: TracingDeps): ((generator: Generator) => Generator) => {
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
export const tracedComposing =
  ({ scopes, nowMs }: TracingDeps) =>
  (seconds: number): void => {
    const scope = scopes.getStore();
    const endMs = nowMs();
    if (scope !== undefined) addPart(scope, { name: 'compose', startMs: endMs - seconds * 1_000, endMs, attributes: {} });
  };

/** Each attempt is a span from the moment when it has a connection until the outcome is known. */
export const tracedMailer = ({ tracer, scopes, nowMs }: TracingDeps): ((mailer: Mailer) => Mailer) => {
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
