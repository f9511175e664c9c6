// Who may import whom, type imports included. The folders of src are rooms, the folders in them capabilities; each driver package is imported
// in one room only. `npm run check:imports` runs these rules (bin/check-imports.js) and holds what is left against .known-imports.json.

/** Within a room a capability imports only those that stand before it. The last ones know all others: they compose or list them. */
const order = [
  ...['core', 'server', 'mime', 'rendering', 'ports'],
  ...[
    'access',
    'recipients',
    'domains',
    'mailbox',
    'billing',
    'templates',
    'documents',
    'keys',
    'apps',
    'email',
    'email-content',
    'several-emails',
    'bulk',
    'approvals',
  ],
  ...['webhooks', 'teams', 'people', 'audit', 'privacy', 'retention', 'analytics', 'live', 'pages', 'mcp'],
  ...['needs', 'authenticate', 'ops'],
  ...[
    'remote',
    'serve',
    'log',
    'verify',
    'query-types',
    'events',
    'components',
    'examples',
    'queries',
    'commands',
    'index',
  ],
];
const roomsOfCapabilities = ['domain', 'api', 'commands', 'processors', 'projections', 'http', 'cli'];

const inOrder = roomsOfCapabilities.flatMap((room) =>
  order.slice(0, -1).map((capability, at) => ({
    name: `${room}-${capability}-in-order`,
    severity: 'error',
    comment: `src/${room}/${capability} may import of the other capabilities only ${order.slice(0, at).join(', ') || 'none'}`,
    from: { path: `^src/${room}/${capability}(/|\\.ts$)` },
    to: { path: `^src/${room}/(${order.slice(at + 1).join('|')})(/|\\.ts$)` },
  })),
);

const room = (from, allowed) => ({
  name: `${from}-imports`,
  severity: 'error',
  comment: `src/${from} may import only ${[...allowed, 'shared'].join(', ')}`,
  from: { path: `^src/${from}/` },
  to: { path: '^src/', pathNot: [from, ...allowed, 'shared'].map((folder) => `^src/${folder}/`) },
});

const drivers = {
  fastify: '^src/(http/|service/app\\.ts$|service/app\\.ts$)',
  '@fastify/': '^src/http/',
  rxjs: '^src/processors/core/lanes\\.ts$',
  'better-sqlite3': '^src/adapters/sqlite/',
  '@eventstore/db-client': '^src/adapters/event-store/',
  mongodb: '^src/adapters/mongodb/',
  nats: '^src/adapters/bus/',
  ioredis: '^src/adapters/limiter/',
  'prom-client': '^src/adapters/metrics/',
  '@opentelemetry/': '^src/adapters/traces/',
  nodemailer: '^src/adapters/mail/',
  'smtp-server':
    '^src/(adapters/feedback/|adapters/mailbox/|adapters/submission/|service/engine\\.ts$|service/mailbox\\.ts$)',
  'postal-mime': '^src/(adapters/feedback/|adapters/mailbox/|service/engine\\.ts$|service/mailbox\\.ts$)',
  acorn: '^src/domain/rendering/expression/',
  eta: '^src/(adapters/render/email/renderer\\.ts$|http/server/forms\\.ts$)',
  qrcode: '^src/adapters/render/',
  '@resvg/resvg-wasm': '^src/adapters/render/svg/',
  '@jsquash/': '^src/adapters/render/pdf/photos\\.ts$',
  'sanitize-html': '^src/adapters/render/',
  htmlparser2: '^src/adapters/render/',
  pdfmake: '^src/adapters/render/pdf/pdfmake-(internals|parts)\\.',
  fontkit: '^src/adapters/render/pdf/',
  'bidi-js': '^src/adapters/render/pdf/',
  exceljs: '^src/adapters/render/excel/',
  pino: '^src/adapters/logger/',
  jose: '^src/adapters/access-tokens/',
  otpauth: '^src/adapters/second-factor/',
  '@node-rs/argon2': '^src/adapters/passwords/',
  undici: '^src/(adapters/outbound-http/|service/engine\\.ts$)',
  'ipaddr.js': '^src/(adapters/outbound-http/|service/engine\\.ts$)',
  'file-type': '^src/adapters/media-types/',
  'lru-cache': '^src/shared/',
  '@node-oauth/oauth2-server': '^src/(http/apps/|http/server/forms\\.ts$)',
  '@modelcontextprotocol/server': '^src/http/mcp/mcp\\.ts$',
  commander: '^src/(main\\.ts|cli/)',
  'cli-progress': '^src/cli/',
  'csv-parse': '^src/commands/',
  'csv-stringify': '^src/commands/',
};

module.exports = {
  order,
  roomsOfCapabilities,
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: { path: '^src/' }, to: { circular: true } },
    {
      name: 'no-cycles-of-tests',
      severity: 'error',
      from: { pathNot: '^src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'nothing-loose',
      severity: 'error',
      comment: 'beside the rooms stands only src/main.ts; put the file into the room and the capability that it is of',
      from: {},
      to: { path: '^src/[^/]+$', pathNot: '^src/main\\.ts$' },
    },
    ...inOrder,
    room('shared', []),
    room('domain', []),
    room('event-log', ['domain']),
    room('api', ['domain']),
    room('commands', ['event-log', 'api', 'domain']),
    room('processors', ['commands', 'event-log', 'domain']),
    room('projections', ['event-log', 'domain']),
    room('http', ['commands', 'projections', 'api', 'domain']),
    room('adapters', ['domain']),
    {
      name: 'main-imports',
      severity: 'error',
      comment: 'src/main.ts may import only cli and service',
      from: { path: '^src/main\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(cli|service)/' },
    },
    {
      name: 'service-on-top',
      severity: 'error',
      comment: 'only src/main.ts and src/cli import src/service and src/cli: nothing below knows how it is composed',
      from: { path: '^src/', pathNot: '^src/(main\\.ts$|cli/|service/)' },
      to: { path: '^src/(service|cli)/' },
    },
    {
      name: 'service-below-cli',
      severity: 'error',
      from: { path: '^src/service/' },
      to: { path: '^src/(cli/|main\\.ts$)' },
    },
    {
      name: 'adapters-apart',
      severity: 'error',
      comment:
        'an adapter never imports the adapter of another port; src/adapters/sqlite and src/adapters/mongodb are the shared drivers',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: ['^src/adapters/$1/', '^src/adapters/(sqlite|mongodb)/'] },
    },
    {
      name: 'adapters-only-from-service',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/(service|adapters)/'],
      },
      to: { path: '^src/adapters/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/(domain|event-log|api)/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'core'],
        pathNot: ['@sinclair/typebox', 'node_modules/acorn/', '^(node:)?(crypto|buffer|url)$'],
      },
    },
    {
      name: 'stored-events-are-frozen',
      severity: 'error',
      comment: 'a schema of stored events is made of nothing that another reason may change',
      from: { path: '^src/domain/[^/]+/[a-z-]*events\\.ts$' },
      to: { path: '^src/', pathNot: ['^src/domain/core/(schema|stored-schemas|event)\\.ts$'] },
    },
    {
      name: 'documents-in-processes',
      severity: 'error',
      comment:
        'what makes documents is loaded by the document process alone: in the service it would cost memory, and a fault in it the service',
      from: {
        path: '^src/',
        pathNot: ['^src/adapters/render/(pdf|excel)/', '^src/adapters/render/workers/worker\\.ts$'],
      },
      to: { path: '^src/adapters/render/(pdf|excel)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'programs-apart',
      severity: 'error',
      comment: 'a program of a document process or of its guard is started by its file name, never imported',
      from: { path: '^src/' },
      to: { path: '^src/adapters/render/workers/(worker|process-main|guard)\\.ts$' },
    },
    ...Object.entries(drivers).map(([driver, home]) => ({
      name: `one-home-for-${driver}`,
      severity: 'error',
      from: { path: '^src/', pathNot: [home] },
      to: { path: `node_modules/${driver}${driver.endsWith('/') ? '' : '/'}` },
    })),
    {
      name: 'no-dev-packages',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.d.ts', '.json'],
    },
  },
};
