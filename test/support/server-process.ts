/**
 * sealpost as a process of its own: `serve` beside the test, and every other command to its end, in a thread of the
 * test or as a process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runInThread } from './command-runner.js';
import { eventually } from './wait.js';

/** On a machine that does much else beside, a process takes long to start. */
const PRINTED_WITHIN_MS = 60_000;

export const mainFile = fileURLToPath(new URL('../../src/main.js', import.meta.url));

export type Settings = Readonly<Record<string, string>>;

/** The sender of account mails where mails leave by a relay, which needs one. */
export const withSender = (settings: Settings): Settings =>
  (settings['SEALPOST_SMTP_URL'] ?? 'mailbox:') === 'mailbox:'
    ? settings
    : { SEALPOST_ACCOUNT_SENDER: 'Sealpost <hello@service.test>', ...settings };

/** The environment of a child: ours without any setting of sealpost, and the given settings. */
export const environmentOf = (settings: Settings): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('SEALPOST_') && name !== 'PORT' && name !== 'HOST'),
  ),
  ...withSender(settings),
});

/**
 * The test runner's loader would come along into our programs, with signal handlers of its own: a shell takes it out.
 */
const spawnProgram = (args: readonly string[], env: NodeJS.ProcessEnv, preload?: string) =>
  spawn(
    'sh',
    [
      '-c',
      'unset NODE_OPTIONS; exec "$0" "$@"',
      process.execPath,
      ...(preload === undefined ? [] : ['--import', preload]),
      mainFile,
      ...args,
    ],
    {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );

export type Finished = Readonly<{ code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }>;

/**
 * Runs one command of the program to its end, in a thread of this process; `serve`, which ends by signals, as a process
 * of its own.
 */
export const runCommand = async (args: readonly string[], settings: Settings, withinMs = 60_000): Promise<Finished> => {
  if (args[0] === 'serve') return runProcess(args, settings, withinMs);
  const { NODE_OPTIONS: _loader, ...env } = environmentOf(settings);
  return { signal: null, ...(await runInThread({ args, env }, withinMs)) };
};

/** Runs one command as a process of its own; it is killed where it takes longer than `withinMs`. */
export const runProcess = (args: readonly string[], settings: Settings, withinMs = 60_000): Promise<Finished> =>
  finished(spawnProgram(args, environmentOf(settings)), withinMs);

/** Collects what a process says until it ends. */
export const finished = (child: ChildProcess, withinMs = 60_000): Promise<Finished> =>
  new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });

export type ServerProcess = Readonly<{
  pid: number;
  /** Resolves with the address when the server listens; rejects with all that it said where it ends before. */
  listening: Promise<string>;
  /** Resolves when the process is gone. */
  ended: Promise<Finished>;
  /** Its standard output so far: the welcome, then the log as JSON lines. */
  output: () => string;
  /** Resolves with the match when it has printed that. */
  printed: (pattern: RegExp) => Promise<RegExpExecArray>;
  /** The key that a first start prints once. */
  firstKey: () => Promise<string>;
  /** The header of a browser that has opened the printed link of the mailbox. */
  mailboxCookie: () => Promise<Readonly<{ cookie: string }>>;
  /** Sends the signal and waits for the end. */
  end: (signal: NodeJS.Signals) => Promise<Finished>;
}>;

const SERVES_AT_MOST_MS = 10 * 60_000;

/**
 * Starts `serve` on a port of its own choice. In: its settings, `SEALPOST_DATA_DIR` among them, a module to load before
 * the program, and after how long it is killed where nobody has ended it.
 */
export const startServer = (
  settings: Settings,
  preload?: string,
  servesAtMostMs = SERVES_AT_MOST_MS,
): ServerProcess => {
  const env = environmentOf({ PORT: '0', ...settings });
  const child = spawnProgram(['serve'], env, preload);
  let output = '';
  let heard: (base: string) => void = () => undefined;
  let failed: (fault: Error) => void = () => undefined;
  const listening = new Promise<string>((resolve, reject) => {
    heard = resolve;
    failed = reject;
  });
  // A server that is killed before it listens is no fault of whoever does not wait for it.
  listening.catch(() => undefined);
  const ended = finished(child, servesAtMostMs);
  child.stdout.on('data', (text: string) => {
    output += text;
    const base = /sealpost is running on (\S+)\n[^]*API reference/.exec(output)?.[1];
    if (base !== undefined) heard(base);
  });
  void ended.then(({ code, signal, stdout, stderr }) =>
    failed(new Error(`serve ended (${code ?? signal}) before it listened:\n${stdout}\n${stderr}`)),
  );
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    eventually(`serve prints ${pattern}`, () => pattern.exec(output) ?? undefined, PRINTED_WITHIN_MS);
  return {
    pid: child.pid ?? -1,
    listening,
    ended,
    output: () => output,
    printed,
    firstKey: async () => (await printed(/shown this once:\s+(\S+)\s/))[1]!,
    mailboxCookie: async () => {
      const answer = await fetch((await printed(/^ {2}Mailbox +(\S+)$/m))[1]!, { redirect: 'manual' });
      return { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
    },
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
};
