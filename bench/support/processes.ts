/** Reads the figures of a process and its children from Linux: proc(5). */
import { readFileSync } from 'node:fs';

/** The processes that the main thread of this one has started. */
export const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

/** Bytes of a process with all its threads. */
export const statusBytes = (pid: number, name: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;

const TICKS_PER_S = 100;
/** After the name in brackets, which may hold blanks. */
const [UTIME, STIME] = [11, 12];

/** User and system time of a process with all its threads; exact to 10 ms. */
export const cpuMsOf = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return ((Number(fields[UTIME]) + Number(fields[STIME])) * 1_000) / TICKS_PER_S;
};
