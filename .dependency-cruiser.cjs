// Who may import whom. The folders of src are rooms; each driver package is imported in one of them only.
const room = (from, allowed) => ({
  name: `${from}-imports`,
  severity: 'error',
  comment: `src/${from} may import only ${allowed.join(', ') || 'itself'}`,
  from: { path: `^src/${from}/` },
  to: { path: '^src/', pathNot: [from, ...allowed].map((folder) => `^src/${folder}`) },
});

const drivers = {
  fastify: '^src/(http/|app\\.ts)',
  '@fastify/': '^src/http/',
  rxjs: '^src/processors/lanes\\.ts',
  'better-sqlite3': '^src/adapters/sqlite/',
  nodemailer: '^src/adapters/mail/',
  'smtp-server': '^src/adapters/mailbox/',
  'postal-mime': '^src/adapters/mailbox/',
  acorn: '^src/domain/rendering/expression/',
  eta: '^src/adapters/render/',
  'sanitize-html': '^src/adapters/render/',
  htmlparser2: '^src/adapters/render/',
  pino: '^src/adapters/log/',
  uuid: '^src/adapters/ids/',
  'lru-cache': '^src/(adapters/render|commands)/',
  commander: '^src/(main\\.ts|cli/)',
  'cli-progress': '^src/cli/',
};

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    room('domain', []),
    room('commands', ['domain']),
    room('processors', ['commands', 'domain']),
    room('projections', ['domain']),
    room('http', ['commands', 'projections', 'domain']),
    room('adapters', ['domain']),
    room('samples', ['domain']),
    {
      name: 'adapters-apart',
      severity: 'error',
      comment: 'an adapter never imports the adapter of another port; src/adapters/sqlite is the shared driver',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: ['^src/adapters/$1/', '^src/adapters/sqlite/'] },
    },
    {
      name: 'adapters-only-from-app',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/app\\.ts', '^src/adapters/', '^src/engine\\.ts'] },
      to: { path: '^src/adapters/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { dependencyTypes: ['npm', 'npm-dev', 'core'], pathNot: ['@sinclair/typebox', 'node_modules/acorn/', '^(node:)?(crypto|buffer|url)$'] },
    },
    ...Object.entries(drivers).map(([driver, home]) => ({
      name: `one-home-for-${driver}`,
      severity: 'error',
      from: { path: '^src/', pathNot: [home] },
      to: { path: `node_modules/${driver}${driver.endsWith('/') ? '' : '/'}` },
    })),
    { name: 'no-dev-packages', severity: 'error', from: { path: '^src/' }, to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default', 'types'], extensions: ['.ts', '.js', '.d.ts', '.json'] },
  },
};
