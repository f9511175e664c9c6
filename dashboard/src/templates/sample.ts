/** Sample data of templates, kept in this browser for its person until they sign out. */
import { keptName } from '../api/values';
import type { SampleData } from './draft';

/** A sign-out takes away what begins like this. */
const PREFIX = keptName('kept:sample:');

const keyOf = (userId: string, id: string): string => `${PREFIX}${userId}:${id}`;

export const keptSample = (userId: string, id: string): SampleData => {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOf(userId, id)) ?? '{}');
    return typeof kept === 'object' && kept !== null && !Array.isArray(kept) ? (kept as SampleData) : {};
  } catch {
    return {};
  }
};

/** A browser that keeps nothing, or no more, shows the data until the page is left. */
export const keepSample = (userId: string, id: string, data: SampleData): void => {
  try {
    if (Object.keys(data).length === 0) localStorage.removeItem(keyOf(userId, id));
    else localStorage.setItem(keyOf(userId, id), JSON.stringify(data));
  } catch {
    return;
  }
};
