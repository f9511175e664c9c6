/**
 * Loaded before a program (`--import`): counts what it does in the main thread. On SIGUSR2 it writes the counts since
 * the signal before to the file that COUNT_WORK_FILE names, as JSON, and begins again; when the program ends it writes
 * them too.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { basename } from 'node:path';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';

type Counts = Record<string, number>;

let counts: Counts = {};
const add = (what: string, by = 1): void => {
  counts[what] = (counts[what] ?? 0) + by;
};

/** Replaces a function of an object by one that counts its calls. */
const counting = (owner: object, name: string, note: (self: unknown, args: readonly unknown[]) => void): void => {
  const functions = owner as Record<string, (...args: unknown[]) => unknown>;
  const original = functions[name]!;
  functions[name] = function (this: unknown, ...args: unknown[]) {
    note(this, args);
    return Reflect.apply(original, this, args);
  };
};

const sizeOf = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (value instanceof Uint8Array) return value.byteLength;
  if (typeof value === 'object' && value !== null)
    return Object.values(value).reduce<number>((sum, one) => sum + sizeOf(one), 0);
  return 8;
};

const countStatements = (): void => {
  const database = new Sqlite(':memory:');
  const prototype = Object.getPrototypeOf(database.prepare('select 1')) as object;
  database.close();
  const where = (self: unknown): string => {
    const name = basename((self as Sqlite.Statement).database.name, '.db');
    if (name.startsWith('documents')) return 'read models';
    return name === 'events' ? 'log' : name;
  };
  counting(prototype, 'run', (self, args) => {
    // Begins and ends of transactions write nothing.
    if (!/^\s*(insert|update|delete|replace|with)/i.test((self as Sqlite.Statement).source)) return;
    // Leases are renewed by time, not by work.
    if (where(self) === 'leases') return;
    add(`SQL writes, ${where(self)}`);
    add(`bytes written, ${where(self)}`, sizeOf(args));
  });
  for (const name of ['get', 'all', 'iterate'])
    counting(prototype, name, (self) => where(self) !== 'leases' && add(`SQL reads, ${where(self)}`));
};

const countCrypto = (): void => {
  const crypto = createRequire(import.meta.url)('node:crypto') as object;
  for (const name of ['hash', 'createHash']) counting(crypto, name, () => add('hashes'));
  counting(crypto, 'createHmac', () => add('HMACs'));
  for (const name of ['createCipheriv', 'createDecipheriv']) counting(crypto, name, () => add('ciphers'));
  counting(crypto, 'createSecretKey', () => add('key objects'));
  syncBuiltinESMExports();
};

/** Bytes allocated since the start: garbage that was collected, and what is on the heap. */
const allocated = (): (() => number) => {
  let collected = 0;
  const profile = (): GCProfiler => {
    const profiler = new GCProfiler();
    profiler.start();
    return profiler;
  };
  let profiler = profile();
  return () => {
    for (const { beforeGC, afterGC } of profiler.stop().statistics)
      collected += beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize;
    profiler = profile();
    return collected + getHeapStatistics().used_heap_size;
  };
};

const file = process.env['COUNT_WORK_FILE'];
if (isMainThread && file !== undefined) {
  countStatements();
  countCrypto();
  counting(JSON, 'stringify', () => add('JSON texts written'));
  counting(JSON, 'parse', () => add('JSON texts read'));
  counting(Socket.prototype, 'write', function (self) {
    if ((self as Socket).remotePort === Number(process.env['COUNT_WORK_SMTP_PORT'])) add('SMTP writes');
  });
  const bytes = allocated();
  let before = { bytes: bytes(), turns: performance.nodeTiming.uvMetricsInfo.loopCount };
  const tell = (): void => {
    const now = { bytes: bytes(), turns: performance.nodeTiming.uvMetricsInfo.loopCount };
    const told = {
      ...counts,
      'bytes allocated': now.bytes - before.bytes,
      'event loop turns': now.turns - before.turns,
    };
    writeFileSync(`${file}.new`, JSON.stringify(told));
    renameSync(`${file}.new`, file);
    counts = {};
    before = { bytes: bytes(), turns: now.turns };
  };
  process.on('SIGUSR2', tell);
  process.once('exit', tell);
}
