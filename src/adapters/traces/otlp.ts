/**
 * Sends spans to a collector by OTLP over HTTP (protobuf), in batches. If the collector is away, spans are lost and
 * nothing else.
 */
import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  TraceIdRatioBasedSampler,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../../domain/ports/logger.js';
import type { FinishedSpan, SpanIds, Tracer } from '../../domain/ports/tracer.js';

export type OtlpOptions = Readonly<{
  /** Batches are posted here; includes `/v1/traces`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** The attributes of the process in every span, such as `service.name`. */
  resource: Readonly<Record<string, string>>;
  /** The share of traces that is sent, from 0 to 1. */
  ratio: number;
  version: string;
  logger: Logger;
  /** Called with the number of spans that the collector will not get. */
  dropped: (spans: number) => void;
}>;

const QUEUE_SPANS_MAX = 8_192;
const BATCH_SPANS_MAX = 512;
const BATCH_AFTER_MS = 1_000;
const EXPORT_TIMEOUT_MS = 10_000;
/** Spans that are not sent by then are lost when the process stops. */
const CLOSE_WITHIN_MS = 3_000;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

const NONE: never[] = [];

export const openOtlp = (options: OtlpOptions): Tracer => {
  const { url, headers, ratio, version, dropped } = options;
  const source = {
    resource: resourceFromAttributes({ ...options.resource }),
    instrumentationScope: { name: 'sealpost', version },
  };
  const sampler = new TraceIdRatioBasedSampler(ratio);
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: EXPORT_TIMEOUT_MS });
  let waiting = 0;
  const processor = new BatchSpanProcessor({
    exporter: watched(exporter, options, (spans) => (waiting -= spans)),
    maxQueueSize: QUEUE_SPANS_MAX,
    maxExportBatchSize: BATCH_SPANS_MAX,
    scheduledDelayMillis: BATCH_AFTER_MS,
    // Longer than the exporter's own timeout, so that the exporter always answers first.
    exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
  });
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    let late: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => (late = setTimeout(resolve, CLOSE_WITHIN_MS)));
    await Promise.race([processor.shutdown().catch(() => {}), tooLate]);
    clearTimeout(late);
  };

  return {
    samples: (traceId) => sampler.shouldSample(undefined as never, traceId).decision !== 0,
    record: (span) => {
      // Counted here, because the processor drops spans beyond its bound silently.
      if (closed !== undefined || waiting >= QUEUE_SPANS_MAX) return dropped(1);
      waiting += 1;
      processor.onEnd({ ...readable(span), ...source });
    },
    close: () => (closed ??= close()),
  };
};

/**
 * Logs one line when spans cannot be sent, and one when they can again. The processor is told that every batch
 * succeeded.
 */
const watched = (
  exporter: SpanExporter,
  { logger, dropped }: Pick<OtlpOptions, 'logger' | 'dropped'>,
  taken: (spans: number) => void,
): SpanExporter => {
  let isAway = false;
  return {
    export: (spans, done) => {
      taken(spans.length);
      exporter.export(spans, ({ code, error }) => {
        const failed = code !== ExportResultCode.SUCCESS;
        if (failed) dropped(spans.length);
        if (failed && !isAway)
          logger.warn({ code: codeOf(error) }, 'spans cannot be sent to the collector; mail goes on');
        if (!failed && isAway) logger.info({}, 'spans can be sent to the collector again');
        isAway = failed;
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    shutdown: () => exporter.shutdown(),
  };
};

/** The code of the system or the status of the answer. The message is left out: it may quote the collector's answer. */
const codeOf = (error: Error | undefined): string | number =>
  error !== undefined && 'code' in error && (typeof error.code === 'string' || typeof error.code === 'number')
    ? error.code
    : 'no answer';

const contextOf = ({ traceId, spanId }: SpanIds, isRemote: boolean): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote,
});

/** Seconds and nanoseconds. */
const timeOf = (ms: number): HrTime => {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.min(Math.round((ms - seconds * 1_000) * 1e6), 999_999_999)];
};

const readable = (span: FinishedSpan): Omit<ReadableSpan, 'resource' | 'instrumentationScope'> => {
  const context = contextOf(span, false);
  const { traceId, parent, link, startMs, endMs } = span;
  return {
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: contextOf({ traceId, spanId: parent }, false) }),
    startTime: timeOf(startMs),
    endTime: timeOf(endMs),
    duration: timeOf(Math.max(0, endMs - startMs)),
    status: { code: span.isError === true ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    attributes: span.attributes,
    links: link === undefined ? NONE : [{ context: contextOf(link, true) }],
    events: NONE,
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
};
