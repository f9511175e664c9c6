/** Traces of this process, where a collector is named: what makes spans, and where they go. */
import { tracedCalls } from './traced-calls.js';
import { tracedComposing, tracedGenerator, tracedMailer, tracedRenderer, tracedStore, type TracingDeps } from './traced.js';
import type { Config } from '../settings/config.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Ids } from '../../domain/ports/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Metrics } from './metrics.js';
import { openScopes } from './trace-scope.js';
import { version } from '../version.js';

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
