/**
 * Contents of a form, kept in this tab until they are sent or given up, or the person signs out: a session that
 * ends, a reload or a way back loses nothing. Passwords and files are not kept.
 */
import { KEPT_FORMS } from '../api/kept';
import type { Field, Values } from './resource';

export type Draft = Readonly<{ kept: Values | undefined; keep: (values: Values) => void; drop: () => void }>;

/** In: whose form it is, and its address. Another person on the machine does not see it. */
export const draftOf = (userId: string, address: string, fields: readonly Field[]): Draft => {
  const key = `${KEPT_FORMS}${userId}:${address}`;
  const names = fields.filter(({ kind }) => kind !== 'password' && kind !== 'file').map(({ name }) => name);
  return {
    kept: readIn(key, names),
    keep: (values) =>
      sessionStorage.setItem(key, JSON.stringify(Object.fromEntries(names.map((name) => [name, values[name]])))),
    drop: () => sessionStorage.removeItem(key),
  };
};

const readIn = (key: string, names: readonly string[]): Values | undefined => {
  const text = sessionStorage.getItem(key);
  if (text === null) return undefined;
  try {
    const known = JSON.parse(text) as Values;
    return Object.fromEntries(Object.entries(known).filter(([name]) => names.includes(name)));
  } catch {
    return undefined;
  }
};
