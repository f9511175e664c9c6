/**
 * A sink for mail that is faster than anything that sends: smtp-sink of Postfix, which runs from its unpacked package.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { startProgram } from './programs.js';
import { scratchRoot } from './scratch.js';

export type Sink = Readonly<{
  port: number;
  /** How many mails it has taken. */
  mails: () => number;
  /** Resolves when it has taken that many; rejects where it took more, or did not get them within the deadline. */
  took: (mails: number) => Promise<void>;
  kill: () => void;
}>;

const DEADLINE_MS = 300_000;
const SESSIONS_MAX = 256;

/** Starts the sink on a free port, on the core of the load. Rejects where it cannot be had. */
export const startSink = async (): Promise<Sink> => {
  const { file, libraries } = sinkProgram();
  const port = await freePort();
  const program = startProgram({
    command: file,
    // It prints its counters after each mail, and wants another user than root.
    args: [
      '-c',
      '-m',
      String(SESSIONS_MAX),
      ...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []),
      `127.0.0.1:${port}`,
      '1024',
    ],
    env: { LD_LIBRARY_PATH: libraries },
    side: 'load',
  });
  const mails = (): number => Number([...program.output().matchAll(/mesg=(\d+)\r/g)].at(-1)?.[1] ?? 0);
  const sink: Sink = {
    port,
    mails,
    took: async (expected) => {
      for (let waitedMs = 0; mails() < expected; waitedMs += 10) {
        if (waitedMs > DEADLINE_MS) throw new Error(`the sink took ${mails()} mails, ${expected} were accepted`);
        await wait(10);
      }
      if (mails() > expected) throw new Error(`the sink took ${mails()} mails, only ${expected} were accepted`);
    },
    kill: program.kill,
  };
  await listening(port);
  return sink;
};

/** The installed one, or that of the distribution's package, which is fetched and unpacked once. */
const sinkProgram = (): Readonly<{ file: string; libraries: string }> => {
  const installed = '/usr/sbin/smtp-sink';
  if (existsSync(installed)) return { file: installed, libraries: '' };
  const directory = join(scratchRoot, 'postfix');
  const file = join(directory, 'usr/sbin/smtp-sink');
  if (!existsSync(file)) {
    mkdirSync(directory, { recursive: true });
    try {
      execFileSync('apt-get', ['download', 'postfix'], { cwd: directory, stdio: 'ignore' });
      const archive = readdirSync(directory).find((name) => name.endsWith('.deb'));
      execFileSync('dpkg-deb', ['-x', join(directory, archive ?? ''), directory], { stdio: 'ignore' });
    } catch (cause) {
      throw new Error(
        'smtp-sink is not here and could not be fetched: install the package postfix, or run this on Debian with network',
        {
          cause,
        },
      );
    }
  }
  return { file, libraries: join(directory, 'usr/lib/postfix') };
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

/** The kernel's table of sockets tells it without a session, which the sink would count. */
const listening = async (port: number): Promise<void> => {
  for (let waitedMs = 0; waitedMs < 5_000; waitedMs += 20) {
    if (
      readFileSync('/proc/net/tcp', 'utf8').includes(
        `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`,
      )
    )
      return;
    await wait(20);
  }
  throw new Error('smtp-sink does not listen');
};

/** A relay that takes connections and never says a word. */
export const startMuteRelay = async (): Promise<Readonly<{ port: number; close: () => void }>> => {
  const server = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
};
