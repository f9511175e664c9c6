/**
 * The Helm chart: each way to run it is rendered, every document fits its kind, and the service takes the settings of
 * each pod. setup.sh builds the two programs for it; where Helm is on the PATH, its documents are the same.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Ajv } from 'ajv';
import t, { type Test } from 'tap';
import type { Environment } from '../../src/service/settings/config.js';
import { readServeConfig } from '../../src/service/settings/config.js';
import { settings } from '../../src/service/settings/settings.js';
import { programDirectory } from '../../src/service/version.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { folderVariable, isPlain } from '../support/server-names.js';

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
type Values = Readonly<Record<string, Json>>;
type Named = Readonly<{ name: string }>;
type Labels = Readonly<Record<string, string>>;

type Container = Readonly<{
  image: string;
  env?: readonly Readonly<{ name: string; value: string }>[];
  envFrom: readonly Readonly<{ configMapRef?: Named; secretRef?: Named }>[];
  ports: readonly Readonly<{ name: string; containerPort: number }>[];
  volumeMounts: readonly Readonly<{ name: string; mountPath: string }>[];
}> &
  Readonly<
    Record<'startupProbe' | 'readinessProbe' | 'livenessProbe', Readonly<{ httpGet: { port: string } }> | undefined>
  >;
type Pod = Readonly<{
  metadata: Readonly<{ labels: Labels }>;
  spec: Readonly<{ containers: readonly [Container]; volumes: readonly Named[]; serviceAccountName: string }>;
}>;
type Document = Readonly<{
  kind: string;
  metadata: Named;
  data?: Readonly<Record<string, string>>;
  spec: Readonly<{
    replicas?: number;
    selector?: Readonly<{ matchLabels: Labels }> | Labels;
    template?: Pod;
    ports?: readonly Readonly<{ targetPort: string }>[];
    volumeClaimTemplates?: readonly Readonly<{ metadata: Named }>[];
    rules?: readonly Readonly<{ host: string }>[];
  }>;
}>;

const chart = join(programDirectory, 'deploy', 'helm', 'sealpost');
const read = (...path: readonly string[]): string => readFileSync(join(programDirectory, ...path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

const production = {
  publicUrl: 'https://mail.example.com',
  trustProxy: '10.0.0.0/8',
  existingSecret: 'sealpost',
  mail: { relayUrl: '', accountSender: 'Example <accounts@example.com>' },
};
const smtp = {
  submission: { enabled: true, certificateSecret: 'submission-tls' },
  inbound: { enabled: true, domain: 'bounces.example.com', name: 'mx.example.com', certificateSecret: 'mx-tls' },
};
const distributed = { ...production, engine: 'distributed' };
const relay = { SEALPOST_SMTP_URL: 'smtp://user:password@mail.example.com:587' };
const databases = {
  ...relay,
  SEALPOST_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  SEALPOST_READ_MODELS_URL: 'mongodb://user:password@mongo/sealpost',
  SEALPOST_KEYS_URL: 'mongodb://user:password@mongo/sealpost_keys',
  SEALPOST_FILES_URL: 'mongodb://user:password@mongo/sealpost_files',
};
const servers = {
  eventStoreUrl: 'esdb+discover://eventstore:2113',
  busUrl: 'nats://nats:4222',
  limiterUrl: 'redis://redis',
};

/** `secret`: what existingSecret holds. `kinds`: the documents that are made. */
const ways: Readonly<Record<string, Readonly<{ values: Values; secret?: Environment; kinds: string }>>> = {
  'the defaults': { values: {}, kinds: 'ConfigMap Service ServiceAccount StatefulSet' },
  'the embedded engine behind an ingress': {
    values: { ...production, ingress: { enabled: true, className: 'nginx', tlsSecret: 'mail-tls' } },
    secret: relay,
    kinds: 'ConfigMap Ingress Service ServiceAccount StatefulSet',
  },
  'the embedded engine with SMTP, a claim and an account that are there': {
    values: {
      ...production,
      ...smtp,
      embedded: { persistence: { existingClaim: 'mail' } },
      serviceAccount: { create: false, name: 'mailer' },
      settings: { SEALPOST_RETENTION_DAYS: 60, SEALPOST_LIMIT_HOT_BYTES_MAX: 41_943_040, SEALPOST_SMTP_FINAL: false },
    },
    secret: relay,
    kinds: 'ConfigMap Service Service Service StatefulSet',
  },
  'the distributed engine': {
    values: { ...distributed, distributed: servers },
    secret: databases,
    kinds:
      'ConfigMap Deployment Deployment PodDisruptionBudget PodDisruptionBudget PodDisruptionBudget Service ServiceAccount StatefulSet',
  },
  'the distributed engine with all there is': {
    values: {
      ...distributed,
      ...smtp,
      distributed: { ...servers, process: { replicas: 1 } },
      ingress: { enabled: true },
      networkPolicy: { enabled: true, httpFrom: [{ podSelector: { matchLabels: { app: 'ingress' } } }] },
      image: { tag: '9.9.9', pullSecrets: ['registry'] },
      podLabels: { team: 'mail' },
      podAnnotations: { note: 'mail' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'mail', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
      extraVolumes: [{ name: 'fonts', configMap: { name: 'fonts' } }],
      extraVolumeMounts: [{ name: 'fonts', mountPath: '/fonts' }],
      submission: { ...smtp.submission, tlsPort: 0, service: { type: 'ClusterIP', annotations: { a: 'b' } } },
    },
    secret: databases,
    kinds:
      'ConfigMap Deployment Deployment Ingress NetworkPolicy PodDisruptionBudget PodDisruptionBudget Service Service Service ServiceAccount StatefulSet',
  },
};

const refusals: readonly (readonly [Values, RegExp])[] = [
  [{ engine: 'clustered' }, /\/engine must be equal to one of the allowed values/],
  [{ replicas: 3 }, /must NOT have additional properties/],
  [{ distributed: { http: { replicas: 0 } } }, /\/distributed\/http\/replicas must be >= 1/],
  [{ publicUrl: 'http://mail.example.com' }, /\/publicUrl must match pattern/],
  [{ settings: { LOG_LEVEL: 'info' } }, /\/settings property name must be valid/],
  [{ settings: { SEALPOST_LOG_LEVEL: ['info'] } }, /\/settings\/SEALPOST_LOG_LEVEL must be/],
  [{ publicUrl: 'https://mail.example.com' }, /trustProxy is empty: .* for example 10\.0\.0\.0\/8\./],
  [{ trustProxy: '10.0.0.0/8' }, /publicUrl is empty: with trustProxy/],
  [{ ingress: { enabled: true } }, /publicUrl is empty: an ingress/],
  [
    { ...production, publicUrl: 'https://example.com/mail', ingress: { enabled: true } },
    /publicUrl has the path \/mail, which an ingress/,
  ],
  [{ mail: { relayUrl: '' } }, /mail\.relayUrl is empty: set it to your relay/],
  [{ mail: { relayUrl: 'smtp://relay:25' } }, /mail\.accountSender is empty/],
  [
    { mail: { relayUrl: 'smtp://user:password@relay', accountSender: 'a@example.com' } },
    /mail\.relayUrl holds a login, .* put the URL into existingSecret/,
  ],
  [
    { ...distributed, existingSecret: '', mail: { relayUrl: 'smtp://relay', accountSender: 'a@example.com' } },
    /SEALPOST_MASTER_KEY in that secret/,
  ],
  [{ ...distributed, mail: { relayUrl: 'mailbox:' } }, /mail\.relayUrl is mailbox:, which pods .* do not share/],
  [{ ...distributed, metrics: { enabled: false } }, /metrics\.enabled is false: the liveness probes/],
  [{ ...distributed, distributed: { busUrl: 'nats://user:password@nats' } }, /distributed\.busUrl holds a login/],
  [{ submission: { enabled: true } }, /submission\.certificateSecret is empty/],
  [{ inbound: { enabled: true } }, /inbound\.domain is empty/],
  [{ settings: { PORT: '80' } }, /property name must be valid/],
  [{ settings: { SEALPOST_METRICS_PORT: 1 } }, /settings\.SEALPOST_METRICS_PORT: the chart sets SEALPOST_METRICS_PORT/],
  [{ settings: { SEALPOST_ROLES: 'http' } }, /settings\.SEALPOST_ROLES: the chart sets/],
];

const folder = isPlain ? undefined : process.env[folderVariable];
const tool = (name: string): string => join(folder ?? '', 'chart', name);
const skip = folder === undefined && process.env['CI'] !== '1' ? `no ${folderVariable}` : false;

/** The output of a program. Throws an Error with the output of a program that fails. */
const output = (program: string, args: readonly string[]): string => {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? ''}${stderr}${stdout}`);
  return stdout;
};

const documentsOf = (...args: readonly string[]): readonly Document[] =>
  JSON.parse(output(tool('chart'), args)) as readonly Document[];

const isMap = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const merged = (base: Values, over: Values): Values => ({
  ...base,
  ...Object.fromEntries(
    Object.entries(over).map(([name, value]) => {
      const below = base[name];
      return [name, isMap(value) && isMap(below) ? merged(below, value) : value];
    }),
  ),
});

/** Writes the values into a file for the programs, once they fit the schema, as Helm checks it. */
const open = (t: Test) => {
  const directory = temporaryDirectory(t);
  mkdirSync(directory, { recursive: true });
  const fits = new Ajv({ strict: false }).compile(JSON.parse(read('deploy', 'helm', 'sealpost', 'values.schema.json')));
  const [defaults] = JSON.parse(output(tool('chart'), ['read', join(chart, 'values.yaml')])) as readonly [Values];
  let files = 0;
  const file = (text: string): string => {
    const path = join(directory, `${(files += 1)}.json`);
    writeFileSync(path, text);
    return path;
  };
  return {
    file,
    directory,
    render: (values: Values): readonly Document[] => {
      if (!fits(merged(defaults, values)))
        throw new Error(
          (fits.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join('\n'),
        );
      return documentsOf('render', chart, 'mail', file(JSON.stringify(values)));
    },
  };
};

/** The files in which kubeconform looks for the kinds. */
const writeSchemas = (directory: string): string => {
  const { definitions } = JSON.parse(read('test', 'support', 'servers', 'chart', 'kubernetes.json')) as {
    definitions: Readonly<Record<string, unknown>>;
  };
  const kinds = [...new Set(Object.values(ways).flatMap((way) => way.kinds.split(' ')))];
  for (const kind of kinds)
    writeFileSync(
      join(directory, `${kind.toLowerCase()}.json`),
      JSON.stringify({ $ref: `#/definitions/${kind}`, definitions }),
    );
  return join(directory, '{{ .ResourceKind }}.json');
};

const podsOf = (documents: readonly Document[]): readonly Pod[] =>
  documents.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template]));

/** The environment of a container. The certificates of the tests stand for those of the secrets. */
const environmentOf = (documents: readonly Document[], { env = [], envFrom }: Container, secret: Environment) => {
  const all: Record<string, string | undefined> = {};
  for (const { configMapRef, secretRef } of envFrom) {
    const { data } =
      documents.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef?.name) ?? {};
    Object.assign(all, data, secretRef === undefined ? {} : secret);
  }
  for (const { name, value } of env) all[name] = value;
  const tls = join(programDirectory, 'test', 'support', 'tls');
  const files = { crt: join(tls, 'valid.pem'), key: join(tls, 'key.pem') } as const;
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => {
      const [, kind] = /^\/certificates\/.*\.(crt|key)$/.exec(value ?? '') ?? [];
      return [name, kind === 'crt' || kind === 'key' ? files[kind] : value];
    }),
  );
};

const isSelected = (labels: Labels, by: Labels): boolean =>
  Object.entries(by).every(([name, value]) => labels[name] === value);

for (const [name, { values, secret = {}, kinds }] of Object.entries(ways)) {
  void t.test(name, { skip }, async (t) => {
    const { render, directory, file } = open(t);
    const documents = render(values);
    t.same(documents.map(({ kind }) => kind).sort(), kinds.split(' '));
    const path = file(documents.map((document) => JSON.stringify(document)).join('\n---\n'));
    t.match(
      output(tool('kubeconform'), ['-strict', '-summary', '-schema-location', writeSchemas(directory), path]),
      new RegExp(`Valid: ${documents.length}, Invalid: 0, Errors: 0, Skipped: 0`),
    );

    const { image, podLabels } = values as { image?: { tag: string }; podLabels?: Labels };
    for (const { metadata, spec } of podsOf(documents)) {
      const [container] = spec.containers;
      t.equal(container.image, `registry.internal/sealpost:${image?.tag ?? version}`);
      t.match(metadata.labels, podLabels ?? {});
      t.match(spec, {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1_000, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      });
      const environment = environmentOf(documents, container, secret);
      for (const setting of Object.keys(environment)) t.ok(setting in settings, `${setting} is a setting`);
      const config = readServeConfig(environment);
      const listening = [
        ...(config.roles.includes('http')
          ? [config.port, ...(config.submission?.ports ?? []).map(({ port }) => port)]
          : []),
        ...(config.roles.includes('http') && config.feedback?.smtp !== undefined ? [config.feedback.smtp.port] : []),
        ...(config.metrics === undefined ? [] : [config.metrics.port]),
      ];
      t.same(
        container.ports.map(({ containerPort }) => containerPort),
        listening,
      );
      const ports = container.ports.map((port) => port.name);
      for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
        if (probe !== undefined) t.ok(ports.includes(probe.httpGet.port), probe.httpGet.port);
      t.equal(container.readinessProbe !== undefined, config.roles.includes('http'));
    }
    for (const { kind, metadata, spec } of documents) {
      const pods = podsOf(documents);
      const { selector } = spec ?? {};
      const by = (selector !== undefined && 'matchLabels' in selector ? selector.matchLabels : selector) as
        Labels | undefined;
      if (by !== undefined) {
        const chosen = pods.filter((pod) => isSelected(pod.metadata.labels, by));
        t.equal(chosen.length, 1, `${kind} ${metadata.name} selects the pods of one role`);
        const ports = chosen.flatMap(({ spec: { containers } }) => containers[0].ports.map((port) => port.name));
        if (kind === 'Service')
          for (const { targetPort } of spec.ports ?? []) t.ok(ports.includes(targetPort), targetPort);
      }
      if (spec?.template !== undefined) {
        const [{ volumeMounts }] = spec.template.spec.containers;
        const claims = (spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name);
        const volumes = [...spec.template.spec.volumes.map((volume) => volume.name), ...claims];
        t.same([...new Set(volumes)].sort(), volumeMounts.map((mount) => mount.name).sort(), metadata.name);
      }
      if (kind === 'Ingress') t.equal(spec.rules?.[0]?.host, 'mail.example.com');
    }
    const data = documents.find(({ kind }) => kind === 'ConfigMap')?.data ?? {};
    for (const [setting, value] of Object.entries((values['settings'] ?? {}) as Readonly<Record<string, unknown>>))
      t.equal(data[setting], String(value));
    for (const text of Object.values(data)) t.notMatch(text, /:password@/);
  });
}

void t.test('values that cannot work are refused with a sentence', { skip }, async (t) => {
  const { render } = open(t);
  for (const [values, sentence] of refusals)
    t.throws(() => render(values), { message: sentence }, JSON.stringify(values));
});

const helm = (process.env['PATH'] ?? '').split(delimiter).some((path) => existsSync(join(path, 'helm')));

void t.test(
  'Helm renders and refuses the same',
  { skip: skip !== false ? skip : helm ? false : 'no helm' },
  async (t) => {
    const { render, file } = open(t);
    // A Helm that `go install` built believes itself before Kubernetes 1.20 unless it is told.
    const cluster = ['--kube-version', '1.33.0'];
    const byHelm = (values: Values): readonly Document[] =>
      documentsOf(
        'read',
        file(output('helm', ['template', 'mail', chart, ...cluster, '--values', file(JSON.stringify(values))])),
      );
    const inOrder = (documents: readonly Document[]): readonly string[] =>
      documents.map((document) => JSON.stringify(document)).sort();
    for (const [name, { values }] of Object.entries(ways))
      t.same(inOrder(byHelm(values)), inOrder(render(values)), name);
    for (const [values] of refusals) t.throws(() => byHelm(values), JSON.stringify(values));
    t.match(output('helm', ['lint', '--strict', chart, ...cluster]), /0 chart\(s\) failed/);
  },
);

void t.test('everything that installs the service names the version of this program', async (t) => {
  const named: Readonly<Record<string, RegExp>> = {
    'deploy/helm/sealpost/Chart.yaml': /(?:ersion: )'?(\d+\.\d+\.\d+)'?$/gm,
    'deploy/kubernetes.yaml': /image: registry\.internal\/sealpost:(\S+)/g,
    'deploy/sealpost@.service': /sealpost (\d+\.\d+\.\d+)/g,
    'docker-compose.yml': /image: sealpost:(\S+)/g,
    Dockerfile: /image\.version="([^"]*)"/g,
  };
  for (const [file, pattern] of Object.entries(named)) {
    const found = [...read(...file.split('/')).matchAll(pattern)].map(([, text]) => text);
    t.ok(found.length > 0 && found.every((text) => text === version), `${file}: ${found.join(' ')} is ${version}`);
  }
});
