/**
 * A new type of event does not compile until every fold of its kind of stream says what it means there; who only
 * listens need not name it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The sources with one event more in each of these kinds of stream. */
const withNewEvents = (
  schemasOf: readonly (readonly [file: string, schemas: string])[],
  folders: readonly string[],
): ts.Program => {
  const host: ts.ParseConfigFileHost = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: ({ messageText }) => t.fail(String(messageText)),
  };
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(`${root}tsconfig.json`, { noEmit: true }, host)!;
  const { tsBuildInfoFile: _file, incremental: _incremental, ...plain } = options;
  const compilerHost = ts.createCompilerHost(plain);
  const changed = new Map<string, string>();
  for (const [path, schemas] of schemasOf) {
    const file = `${root}src/${path}`;
    const begin = `export const ${schemas} = {`;
    const text = changed.get(file) ?? readFileSync(file, 'utf8');
    t.ok(text.includes(begin), `${file} declares ${schemas}`);
    changed.set(file, text.replace(begin, `${begin} NewOf_${schemas}: { data: Type.Object({ at: text }) },`));
  }
  const { readFile } = compilerHost;
  compilerHost.readFile = (name) => changed.get(name) ?? readFile(name);
  return ts.createProgram(
    fileNames.filter((name) => folders.some((folder) => name.startsWith(`${root}src/${folder}/`))),
    plain,
    compilerHost,
  );
};

const program = withNewEvents(
  [
    ['domain/email/events.ts', 'emailEvents'],
    ['domain/templates/events.ts', 'assetEvents'],
    ['domain/templates/events.ts', 'templateEvents'],
  ],
  ['event-log', 'projections', 'processors'],
);

const compiles = (file: string): boolean => {
  const source = program.getSourceFile(`${root}src/${file}`);
  if (source === undefined) throw new Error(`there is no ${file}`);
  return program.getSemanticDiagnostics(source).length === 0;
};

/** Files that must give a new event its meaning. */
const asked = [
  'domain/email/state.ts',
  'domain/email/status.ts',
  'domain/templates/asset.ts',
  'domain/templates/decider.ts',
];

void t.test('the compiler names each of them', async (t) => {
  for (const file of asked) t.notOk(compiles(file), file);
});

void t.test('neither the event itself nor those whom it does not concern are at fault', async (t) => {
  for (const file of [
    'domain/email/events.ts',
    'domain/email/recipient-parts.ts',
    'domain/templates/events.ts',
    'domain/events.ts',
    'event-log/codec.ts',
    'event-log/ledger.ts',
    'projections/audit/audit.ts',
    'domain/email/milestones.ts',
    'domain/webhooks/body.ts',
    'projections/bulk/emails.ts',
    'projections/email/summaries.ts',
    'projections/teams/activity.ts',
    'processors/email/delivery.ts',
    'processors/email/timers.ts',
    'processors/recipients/bounces.ts',
    'processors/retention/removal.ts',
    'processors/webhooks/router.ts',
  ])
    t.ok(compiles(file), file);
});
