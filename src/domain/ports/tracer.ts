/**
 * Spans of a running process, for whoever follows one email through it. Names and attributes are fixed words, numbers,
 * relay hosts and ids of ours: never an address, a subject, a key, a token, a body or a reply in words, for spans are
 * kept long and by others.
 */

/** Lower case hex: 32 digits of the trace, 16 of the span. */
export type SpanIds = Readonly<{ traceId: string; spanId: string }>;

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** An ended span. Times are milliseconds since the Unix epoch, with fractions. */
export type FinishedSpan = SpanIds &
  Readonly<{
    name: string;
    kind: 'server' | 'client' | 'internal';
    /** The span that led to this one, of the same trace. */
    parent?: string | undefined;
    /** A span of another trace that this one belongs to as well. */
    link?: SpanIds | undefined;
    startMs: number;
    endMs: number;
    attributes: SpanAttributes;
    isError?: boolean;
  }>;

export type Tracer = Readonly<{
  /** Whether spans of that trace are wanted: every process answers the same. */
  samples: (traceId: string) => boolean;
  /** Takes a span for sending. It neither waits nor throws; where too many wait, the span is dropped and counted. */
  record: (span: FinishedSpan) => void;
  /** Sends what waits, within a bound, and takes no more. */
  close: () => Promise<void>;
}>;
