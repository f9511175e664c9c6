/**
 * Loaded before the program of a page (`node --import`): the shell of the page, in which its commands without a form
 * for the client run between the blocks of the program. What one side sets, the other sees: variables of the shell are
 * environment variables of the program, and the program hands over what later commands name. Each block is told as a
 * line of JSON on standard output.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page, Told } from './client-forms.js';

const { PAGE_COMMANDS: file = '', WAITING: waiting = '', ...environment } = process.env;
const { API_URL: base = '', API_KEY: key = '' } = environment;
// A program of a page may put another in its place.
const { fetch } = globalThis;
const commands = JSON.parse(readFileSync(file, 'utf8')) as readonly string[];
const bash = spawn('bash', [], { env: { ...environment, WAITING: waiting }, stdio: ['pipe', 'pipe', 'inherit'] });
bash.stdin.write('set -a -o pipefail\n');

const END = '\0==end==\0';
let said = '';
/** The exported variables of the shell after its last command. */
let variables: ReadonlyMap<string, string> = new Map();
let heard: () => void = () => undefined;
bash.stdout.setEncoding('utf8').on('data', (text: string) => {
  said += text;
  if (said.endsWith(END)) heard();
});

/** Runs a command. Out: what it printed, and its code. */
const run = async (command: string): Promise<Readonly<{ text: string; code: number }>> => {
  const done = new Promise<void>((resolve, reject) => {
    heard = resolve;
    bash.once('close', () => reject(new Error(`the shell ended in: ${command}`)));
  });
  bash.stdin.write(`{ ${command}\n} </dev/null\nprintf '\\0%s\\0' $?; env -0; printf '\\0==end==\\0'\n`);
  await done;
  bash.removeAllListeners('close');
  const [text = '', code, ...exported] = said.split('\0');
  said = '';
  variables = new Map(
    exported.flatMap((variable) => {
      const [, name, value = ''] = /^(\w+)=([^]*)$/.exec(variable) ?? [];
      return name === undefined ? [] : [[name, value] as const];
    }),
  );
  for (const [name, value] of variables) process.env[name] = value;
  return { text, code: Number(code) };
};

/** The status of an email in an answer; other answers have none. */
const askStatus = async (path: string): Promise<unknown> => {
  const answer = await fetch(`${base}${path}`, { headers: { authorization: `Bearer ${key}` } });
  const body = (await answer.json()) as Readonly<{
    status?: unknown;
    data?: readonly Readonly<{ status?: unknown }>[];
  }>;
  return body.data === undefined ? body.status : body.data[0]?.status;
};

/** Waits until the email that the page speaks of has left, without the programs that `quiet` of a shell would start. */
const quiet = async (): Promise<void> => {
  const id = variables.get('id') ?? '';
  for (;;) {
    const status = await askStatus(id === '' ? '/api/emails?limit=1' : `/api/emails/${encodeURIComponent(id)}`);
    if (status !== 'queued' && status !== 'processing') return;
    if ((variables.get('WAITING') ?? '') !== '') return;
    await pause(50);
  }
};

const tell = (told: Told): void => void process.stdout.write(`${JSON.stringify(told)}\n`);

const quoted = (value: unknown): string => `'${String(value).replaceAll("'", `'\\''`)}'`;

/** An error as JSON has its message, too. */
const plain = (value: unknown): unknown => (value instanceof Error ? { ...value, message: value.message } : value);

let logged: string[] = [];
console.log = (...values: readonly unknown[]): void => {
  for (const value of values) logged.push(typeof value === 'string' ? value : JSON.stringify(plain(value)));
};

const pageShell: Page = {
  shell: async (block) => {
    const { text, code } = await run(commands[block] ?? '');
    tell({ block, code, text });
    await quiet();
  },
  begin: async (sets) => {
    logged = [];
    await run(`unset id ${sets.filter((name) => !name.includes('.')).join(' ')}`);
  },
  end: async (block, handed) => {
    for (const [name, value] of Object.entries(handed))
      if (!name.includes('.')) await run(`${name}=${quoted(value)}`);
      else writeFileSync(name, `${typeof value === 'string' ? value : JSON.stringify(value)}\n`);
    tell({ block, code: 0, text: logged.join('\n') });
    await quiet();
  },
  // A page that waits for a host waits for its attempts; on others the state comes at once.
  sleep: async (ms) => {
    if (waiting === '') await pause(Math.min(ms, 50));
    else await run(`sleep ${ms / 1_000}`);
  },
  close: async () => {
    const { text } = await run(commands.at(-1) ?? '');
    if (text !== '') process.stderr.write(text);
    bash.stdin.end();
  },
};
Object.assign(globalThis, { pageShell });
