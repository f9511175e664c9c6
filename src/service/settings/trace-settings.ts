/** The settings of traces, by the names that OpenTelemetry gives them. */
import { ConfigError } from './config-error.js';
import type { SettingName } from './settings.js';

export type TraceSettings = Readonly<{
  /** Where batches of spans are posted. */
  url: string;
  headers: Readonly<Record<string, string>>;
  resource: Readonly<Record<string, string>>;
  /** The share of traces that is sent. */
  ratio: number;
}>;

const samplers = {
  always_on: 1,
  always_off: 0,
  traceidratio: undefined,
  parentbased_always_on: 1,
  parentbased_always_off: 0,
  parentbased_traceidratio: undefined,
} as const;

const PROTOCOL = 'http/protobuf';
const SERVICE_NAME = 'sealpost';

/** undefined where no collector is named. Throws ConfigError. */
export const readTraces = (text: (name: SettingName) => string | undefined): TraceSettings | undefined => {
  const endpoint = text('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (endpoint === undefined) return undefined;
  const protocol = text('OTEL_EXPORTER_OTLP_PROTOCOL') ?? PROTOCOL;
  if (protocol !== PROTOCOL) {
    throw new ConfigError(
      `OTEL_EXPORTER_OTLP_PROTOCOL=${protocol} is not spoken; set ${PROTOCOL}, and the collector's port for it (4318, where 4317 is that of grpc).`,
    );
  }
  const resource = readPairs('OTEL_RESOURCE_ATTRIBUTES', text('OTEL_RESOURCE_ATTRIBUTES'));
  const serviceName = text('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? SERVICE_NAME;
  return {
    url: urlOf(endpoint),
    headers: readPairs('OTEL_EXPORTER_OTLP_HEADERS', text('OTEL_EXPORTER_OTLP_HEADERS')),
    resource: { ...resource, 'service.name': serviceName },
    ratio: readRatio(text('OTEL_TRACES_SAMPLER'), text('OTEL_TRACES_SAMPLER_ARG')),
  };
};

/** The value is not repeated: an address may hold a password. */
const urlOf = (endpoint: string): string => {
  const url = URL.parse(endpoint);
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new ConfigError(
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an http:// or https:// address, for example http://collector.internal:4318.',
    );
  }
  return `${url.href.replace(/\/+$/, '')}/v1/traces`;
};

const PAIR = /^\s*([^\s=,]+)\s*=\s*(.*?)\s*$/;

/** `name=value` pairs with commas between them, values as in a URL. A fault names the place and no value, which may be a secret. */
const readPairs = (name: SettingName, value: string | undefined): Readonly<Record<string, string>> => {
  const pairs = (value ?? '').split(',').filter((pair) => pair.trim() !== '');
  return Object.fromEntries(
    pairs.map((pair, index) => {
      const [, key, given] = PAIR.exec(pair) ?? [];
      const decoded = given === undefined ? undefined : decode(given);
      if (key === undefined || decoded === undefined) {
        throw new ConfigError(
          `Part ${index + 1} of ${name} is not name=value with the value as in a URL (a comma is %2C, a percent sign %25).`,
        );
      }
      return [key, decoded];
    }),
  );
};

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

const readRatio = (sampler = 'parentbased_always_on', argument: string | undefined): number => {
  if (!Object.hasOwn(samplers, sampler)) {
    throw new ConfigError(`OTEL_TRACES_SAMPLER=${sampler} is none of ${Object.keys(samplers).join(', ')}.`);
  }
  const fixed = samplers[sampler as keyof typeof samplers];
  if (fixed !== undefined) return fixed;
  const ratio = Number(argument ?? '1');
  if (!/^\d*\.?\d+$/.test(argument ?? '1') || ratio > 1) {
    throw new ConfigError(`OTEL_TRACES_SAMPLER_ARG=${argument} is not a number from 0 to 1, for example 0.1.`);
  }
  return ratio;
};
