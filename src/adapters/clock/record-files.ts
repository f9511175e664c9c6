/** What is kept of the time: two small files in the data directory. Losing them costs a day in which nothing is destroyed by its age. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { ClockMark, ClockRecord } from '../../domain/ports/clock-record.js';

/** In: the file for the mark; the confirmation stands beside it. */
export const openClockRecord = (file: string): ClockRecord => {
  const confirmed = `${file}.confirmed`;
  return {
    read: () => parse(textOf(file)),
    write: (mark) => put(file, JSON.stringify(mark)),
    confirmation: () => textOf(confirmed) ?? '',
    confirm: (confirmation) => put(confirmed, confirmation),
  };
};

const textOf = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined;
    throw fault;
  }
};

/** Under its name it is whole, whenever the program is killed. */
const put = (file: string, text: string): void => {
  writeFileSync(`${file}.partial`, text, { mode: 0o600 });
  renameSync(`${file}.partial`, file);
};

/** What is no mark of ours is none. */
const parse = (text: string | undefined): ClockMark | undefined => {
  try {
    const { nowMs, uptimeMs, waitMs, confirmation } = JSON.parse(text ?? '') as Partial<Record<keyof ClockMark, unknown>>;
    if (typeof nowMs !== 'number' || typeof uptimeMs !== 'number' || typeof waitMs !== 'number') return undefined;
    return { nowMs, uptimeMs, waitMs, confirmation: typeof confirmation === 'string' ? confirmation : '' };
  } catch (fault) {
    if (fault instanceof SyntaxError) return undefined;
    throw fault;
  }
};
