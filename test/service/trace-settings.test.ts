/** The settings of traces: what is sent where, and that a fault is a sentence without the secrets of the settings. */
import t from 'tap';
import { readConfig, settingsToKeep, type Environment } from '../../src/service/settings/config.js';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
const read = (environment: Environment = {}) => readConfig({ ...endpoint, ...environment }).traces;

await t.test('without an address nothing is traced, whatever else is set', async (t) => {
  t.equal(
    readConfig({ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'nonsense', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).traces,
    undefined,
  );
});

await t.test('an address alone sends all of it', async (t) => {
  t.same(read(), {
    url: 'http://127.0.0.1:4318/v1/traces',
    headers: {},
    resource: { 'service.name': 'sealpost' },
    ratio: 1,
  });
  t.equal(
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c.example.com/otlp/' })?.url,
    'https://c.example.com/otlp/v1/traces',
  );
});

await t.test('headers, names and the share are read as OpenTelemetry writes them', async (t) => {
  t.same(
    read({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a=b, x-team = 7,',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,deployment.environment.name=test',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '.25',
    }),
    {
      url: 'http://127.0.0.1:4318/v1/traces',
      headers: { authorization: 'Bearer a=b', 'x-team': '7' },
      resource: { 'service.name': 'other', 'deployment.environment.name': 'test' },
      ratio: 0.25,
    },
  );
  t.equal(
    read({ OTEL_RESOURCE_ATTRIBUTES: 'service.name=other', OTEL_SERVICE_NAME: 'mail' })?.resource['service.name'],
    'mail',
  );
  for (const [sampler, ratio] of [
    ['always_off', 0],
    ['parentbased_always_off', 0],
    ['always_on', 1],
    ['parentbased_traceidratio', 0.5],
  ] as const)
    t.equal(read({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0.5' })?.ratio, ratio, sampler);
});

await t.test('traces are switched off as OpenTelemetry says, and nothing else of them is looked at', async (t) => {
  const wrong = {
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_TRACES_SAMPLER: 'some',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'hunter2',
  };
  for (const off of [{ OTEL_SDK_DISABLED: 'true' }, { OTEL_SDK_DISABLED: 'True' }, { OTEL_TRACES_EXPORTER: 'none' }])
    t.equal(read({ ...wrong, ...off }), undefined, JSON.stringify(off));
  for (const on of [{ OTEL_SDK_DISABLED: 'false' }, { OTEL_SDK_DISABLED: '1' }, { OTEL_TRACES_EXPORTER: 'otlp' }])
    t.match(read(on), { url: 'http://127.0.0.1:4318/v1/traces' }, JSON.stringify(on));
});

await t.test('the names of the signal hold before those of every signal', async (t) => {
  const own = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/in?tenant=7',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=own',
  };
  const general = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=all,x-team=7' };
  const sent = { url: 'https://traces.example.com/in?tenant=7', headers: { authorization: 'own' } };
  t.match(readConfig(own).traces, sent);
  t.same(read({ ...own, ...general })?.headers, sent.headers);
  t.equal(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318' })?.url, 'http://127.0.0.1:4318/');
});

await t.test('what cannot be used is refused with a sentence', async (t) => {
  for (const [environment, message] of [
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'hunter2' },
      /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http:\/\/ or https:\/\/ address/,
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://hunter2@c:4317' }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL=grpc is not spoken; set http\/protobuf/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=1,hunter2' }, /^Part 2 of OTEL_EXPORTER_OTLP_HEADERS is not name=value/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=hunter2%' }, /^Part 1 of OTEL_EXPORTER_OTLP_HEADERS is not name=value/],
    [
      { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' },
      /^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc is not spoken; set http\/protobuf/,
    ],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'hunter2' }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http/],
    [{ OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'hunter2' }, /^Part 1 of OTEL_EXPORTER_OTLP_TRACES_HEADERS is not/],
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, /^OTEL_TRACES_EXPORTER=zipkin is not spoken; set otlp, or none/],
    [{ OTEL_TRACES_SAMPLER: 'some' }, /^OTEL_TRACES_SAMPLER=some is none of always_on, /],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      /^OTEL_TRACES_SAMPLER_ARG=2 is not a number from 0 to 1/,
    ],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' },
      /^OTEL_TRACES_SAMPLER_ARG=half is not a number/,
    ],
  ] as const) {
    const thrown = t.throws(() => read(environment), { name: 'ConfigError', message }) as Error | false;
    t.notMatch(String(thrown), 'hunter2');
  }
});

await t.test('the headers, which hold secrets, are not kept with a backup', async (t) => {
  const kept = settingsToKeep({
    ...endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hunter2',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=hunter2',
  });
  t.match(kept, 'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318');
  t.notMatch(kept, 'hunter2');
});
