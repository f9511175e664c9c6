/**
 * The forms of a page for the client: the `ts` block directly after an `sh` block does with the client what its curls
 * do. All of a page are one program, in which they stand in place of their commands; commands without such a form run in
 * a shell between them.
 */
import { execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { commandsOf, compareAnswers, equip, type Reader, type Shown } from './documented-pages.js';
import { finished } from './server-process.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** The result of a block, as the program of its page tells it. */
export type Told = Readonly<{ block: number; code: number; text: string }>;

/** The shell beside a program, as `page-shell.ts` makes it. */
export type Page = Readonly<{
  /** Runs the commands of a block. */
  shell: (block: number) => Promise<void>;
  /** Before a block of the program; `sets`: what its commands would set. */
  begin: (sets: readonly string[]) => Promise<void>;
  /** After it; `handed`: values of variables and files that later commands read. */
  end: (block: number, handed: Readonly<Record<string, unknown>>) => Promise<void>;
  sleep: (ms: number) => Promise<void>;
  close: () => Promise<void>;
}>;

/** Installs the client, as it is published, in the folder of somebody else's program. */
export const installClient = async (folder: string): Promise<void> => {
  const target = join(folder, 'node_modules/sealpost-client');
  mkdirSync(target, { recursive: true });
  // Packing builds it. Tests that do so at the same time have a copy each.
  const copy = join(folder, 'packages/sdk');
  cpSync(join(root, 'packages/sdk'), copy, {
    recursive: true,
    filter: (source) => !/[\\/](?:node_modules|dist)$/.test(source),
  });
  symlinkSync(join(root, 'node_modules'), join(folder, 'packages/node_modules'));
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  await run('tar', ['-xzf', join(folder, tarball), '--strip-components=1', '-C', target]);
  for (const name of ['nodemailer', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
};

/** Compiles programs in that folder. Out: what the compiler says against them. */
export const compilePrograms = async (folder: string, programs: Readonly<Record<string, string>>): Promise<string> => {
  const files = Object.keys(programs);
  for (const file of files) writeFileSync(join(folder, file), programs[file] ?? '');
  const compilerOptions = {
    ...{ strict: true, module: 'NodeNext', target: 'ES2023', skipLibCheck: true, types: ['node'] },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = join(root, 'node_modules/typescript-native/bin/tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', folder]).catch(
    (fault: unknown) => fault as Readonly<{ stdout: string }>,
  );
  return stdout;
};

/** The variables of the shell, and the files, that the commands of a block set. */
const setBy = (command: string): readonly string[] => [
  ...[...command.matchAll(/^(?:export )?(\w+)=/gm)].map(([, name = '']) => name),
  ...[...command.matchAll(/(?:>|\btee|-o) ?([\w-]+\.(?:json|jsonl|txt|csv|pdf))\b/g)].map(([, name = '']) => name),
];

/** `first.json` of the shell is `first` of the program, and `ACCESS_TOKEN` is `accessToken`. */
const nameInProgram = (name: string): string => {
  const base = name.replace(/\.\w+$/, '');
  return (/^[A-Z_]+$/.test(base) ? base.toLowerCase() : base).replace(/[_-]([a-z])/g, (_, letter: string) =>
    letter.toUpperCase(),
  );
};

const IMPORT = /^import \{ ([^}]*) \} from '([^']*)';\n/gm;
const PAUSE = 'setTimeout as sleep';

const MADE = /^const sealpost = createClient\(.*$/m;

/** The line of docs/sdk.md by which a program has its client, if no form of its page makes one. */
const made = (forms: readonly string[]): string =>
  forms.some((form) => MADE.test(form)) ? '' : (MADE.exec(readFileSync(join(root, 'docs/sdk.md'), 'utf8'))?.[0] ?? '');

/** The blocks of a page as one program. */
export const programOf = (blocks: readonly Shown[]): string => {
  const forms = blocks.flatMap(({ client }) => (client === undefined ? [] : [client]));
  const imports = new Map([['sealpost-client', new Set(['createClient'])]]);
  for (const [, names = '', module = ''] of forms.flatMap((form) => [...form.matchAll(IMPORT)]))
    imports.set(module, new Set([...(imports.get(module) ?? []), ...names.split(', ')]));
  const parts = blocks.map(({ command, client }, index) => {
    if (client === undefined) return `await pageShell.shell(${index});`;
    const later = blocks.slice(index + 1).flatMap((block) => (block.client === undefined ? [block.command] : []));
    const sets = setBy(command);
    const read = sets.filter(
      (name) =>
        later.some((text) => new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(text)) &&
        // A form that writes the file itself has done so.
        !client.includes(`'${name}'`),
    );
    return [
      `await pageShell.begin(${JSON.stringify(sets)});`,
      client.replaceAll(IMPORT, '').replaceAll("'http://127.0.0.1:3000'", "process.env['API_URL']!").trim(),
      `await pageShell.end(${index}, { ${read.map((name) => `'${name}': ${nameInProgram(name)}`).join(', ')} });`,
    ].join('\n');
  });
  const needsPause = imports.get('node:timers/promises')?.delete(PAUSE) === true;
  return [
    ...[...imports].map(([module, names]) => `import { ${[...names].join(', ')} } from '${module}';`),
    'declare const pageShell: {',
    '  shell(block: number): Promise<void>; begin(sets: readonly string[]): Promise<void>;',
    '  end(block: number, handed: object): Promise<void>; sleep(ms: number): Promise<void>; close(): Promise<void>;',
    '};',
    ...(needsPause ? ['const sleep = pageShell.sleep;'] : []),
    made(forms),
    ...parts,
    'await pageShell.close();',
    'export {};',
    '',
  ].join('\n');
};

/**
 * Runs the program of a page, which lies compiled in `folder`, in the reader's directory, and holds what it prints
 * against the answers of the page.
 */
export const runProgram = async (
  t: Test,
  blocks: readonly Shown[],
  { reader, program, waiting = '' }: Readonly<{ reader: Reader; program: string; waiting?: string }>,
): Promise<void> => {
  const commands = join(reader.directory, 'commands.json');
  writeFileSync(commands, JSON.stringify(commandsOf(blocks, reader)));
  const env = { ...equip(reader), API_URL: reader.base, WAITING: waiting, PAGE_COMMANDS: commands };
  const shell = fileURLToPath(new URL('page-shell.js', import.meta.url));
  const child = spawn(process.execPath, ['--import', shell, program], {
    cwd: reader.directory,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, stdout, stderr } = await finished(child, 120_000);
  t.equal(code, 0, 'the program ends in order', { stderr });
  const told = new Map(
    stdout
      .split('\n')
      .filter((line) => line.startsWith('{"block":'))
      .map((line) => JSON.parse(line) as Told)
      .map((one) => [one.block, one] as const),
  );
  blocks.forEach(({ heading, command, client, answer }, index) => {
    const name = `${heading}: ${(client ?? command).split('\n')[0]?.slice(0, 60)}`;
    const one = told.get(index);
    t.equal(one?.code, 0, name, { stderr, text: one?.text });
    if (one !== undefined && answer !== undefined)
      compareAnswers(t, name, { answer: one.text, shown: answer, isPart: client !== undefined });
  });
};
