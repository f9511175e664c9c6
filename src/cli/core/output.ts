/** What the command line writes: lines to standard output, progress and faults to standard error. */
import { Presets, SingleBar } from 'cli-progress';
import type { Unreadable } from '../../event-log/decoding.js';

export const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

export const printFault = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** One event that cannot be read, as a line. */
export const unreadableLine = ({ position, stream, revision, storedType, unreadable }: Unreadable): string =>
  `${position}  ${stream}@${revision}  ${storedType}  cannot be read: ${unreadable.message}`;

/** A reader that has seen enough, such as `head`, ends a command quietly. Not for a server, which lives on without a terminal. */
export const endWhenNobodyReads = (): void => {
  process.stdout.on('error', (fault) => {
    if ('code' in fault && fault.code === 'EPIPE') process.exit(0);
    throw fault;
  });
};

export type Progress = Readonly<{ update: (events: number) => void; stop: () => void }>;

/** A bar with events a second and the time left, on standard error; nothing where that is no terminal. */
export const progressBar = (title: string, total: number, unit = 'events'): Progress => {
  if (!process.stderr.isTTY || total === 0) return { update: () => {}, stop: () => {} };
  const format = `${title} {bar} {percentage}% | {value}/{total} ${unit} | {rate} ${unit}/s | {eta_formatted} left`;
  const bar = new SingleBar({ format, stream: process.stderr, hideCursor: true }, Presets.shades_classic);
  const started = performance.now();
  bar.start(total, 0, { rate: '0' });
  return {
    update: (events) => {
      const seconds = (performance.now() - started) / 1_000;
      bar.update(Math.min(events, total), { rate: Math.round(events / Math.max(seconds, 0.001)).toLocaleString('en-US') });
    },
    stop: () => bar.stop(),
  };
};
