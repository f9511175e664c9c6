/** The ids of traces and spans, made of the ids that stand in the events: every process makes the same without being told. */
import { hash } from 'node:crypto';

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
