/** What is under way while spans are made: a call, or an attempt at delivery; what happens within it becomes its parts. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { FinishedSpan, SpanAttributes, SpanIds, Tracer } from '../../domain/ports/tracer.js';
import { partIdOf } from './trace-ids.js';

export type Part = Readonly<{ name: string; startMs: number; endMs: number; attributes: SpanAttributes; isError?: boolean }>;

export type Scope = {
  readonly kind: 'call' | 'attempt';
  /** Of a call from its beginning; of an attempt when its beginning is recorded. */
  ids: (SpanIds & Readonly<{ parent?: string | undefined }>) | undefined;
  readonly parts: Part[];
  /** Attributes that become known on the way. */
  attributes: SpanAttributes;
  /** Of streams that a call has read: the correlation id under which each began. */
  begunUnder: Map<string, string> | undefined;
};

export type Scopes = AsyncLocalStorage<Scope>;

export const openScopes = (): Scopes => new AsyncLocalStorage<Scope>();

export const newScope = (kind: Scope['kind'], ids?: Scope['ids']): Scope => ({
  kind,
  ids,
  parts: [],
  attributes: {},
  begunUnder: undefined,
});

/** A call of many emails has as many parts. */
const PARTS_MAX = 100;

export const addPart = (scope: Scope, part: Part): void => {
  if (scope.parts.length < PARTS_MAX) scope.parts.push(part);
};

/** What is known of a scope's own span when it has ended. */
export type Ended = Pick<FinishedSpan, 'name' | 'kind' | 'startMs' | 'endMs' | 'attributes' | 'link' | 'isError'>;

/** Records the span of the scope and those of its parts, where its trace is wanted. */
export const endScope = (tracer: Tracer, { ids, parts, attributes }: Scope, ended: Ended): void => {
  if (ids === undefined || !tracer.samples(ids.traceId)) return;
  const { traceId, spanId } = ids;
  tracer.record({ ...ended, ...ids, attributes: { ...ended.attributes, ...attributes } });
  for (const [index, part] of parts.entries())
    tracer.record({ ...part, kind: 'internal', traceId, spanId: partIdOf(spanId, index), parent: spanId });
};
