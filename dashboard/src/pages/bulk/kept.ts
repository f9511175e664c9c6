/**
 * A bulk send that is prepared, kept in the browser until it is sent or given up: a reload, a sign-in or a broken
 * connection loses nothing. Nothing of it leaves the browser; signing out removes it.
 */
import { KEPT_FILES } from '../../api/kept';
import type { Reading } from './csv.js';
import type { Mapping, Writing } from './rows.js';

/** Files with recipients do not stay longer. */
const KEPT_MS = 2 * 24 * 60 * 60_000;
const STORE = 'drafts';

/** A send under way. `skipped`: lines that are left out; `done`: the bulk sends of the first calls. */
export type Run = Readonly<{
  id: string;
  scheduledAt?: string;
  skipped: readonly number[];
  done: readonly Readonly<{ batchId: string; totalEmails: number }>[];
}>;

export type Attachment = Readonly<{ id: string; isRequired: boolean }>;

/** `columns`: columns that fill variables of their own names. `run`: it is being sent. */
export type Draft = Readonly<{
  id: string;
  keptAt: number;
  file?: Readonly<{ name: string; bytes: Uint8Array }>;
  reading: Reading;
  template?: Readonly<{ id: string; version: number }>;
  mapping: Mapping;
  columns: readonly number[];
  writing?: Writing;
  batchName: string;
  tags: string;
  attachments: readonly Attachment[];
  when: 'now' | 'later';
  at: string;
  run?: Run;
}>;

export const newDraft = (): Draft => ({
  id: randomId(),
  keptAt: Date.now(),
  reading: {},
  mapping: {},
  columns: [],
  batchName: '',
  tags: '',
  attachments: [],
  when: 'now',
  at: '',
});

export const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** Rejects where the browser keeps nothing, as some do in private windows. */
const opened = (): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(KEPT_FILES, 1);
    request.onupgradeneeded = () => void request.result.createObjectStore(STORE);
    request.onsuccess = () => {
      // Another tab signs out.
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
    request.onerror = () => reject(request.error ?? new Error('the browser keeps nothing'));
    request.onblocked = () => reject(new Error('another tab removes what is kept'));
  });

type Work<Result> = (store: IDBObjectStore, settle: (result: Result) => void) => void;

/** Does the work in one transaction. Out: undefined where the browser keeps nothing. */
const inStore = async <Result>(mode: IDBTransactionMode, work: Work<Result>): Promise<Result | undefined> => {
  try {
    const database = await opened();
    return await new Promise<Result | undefined>((resolve, reject) => {
      let result: Result | undefined;
      const transaction = database.transaction(STORE, mode, { durability: 'strict' });
      transaction.oncomplete = () => resolve(result);
      transaction.onabort = () => reject(transaction.error ?? new Error('the browser did not keep it'));
      work(transaction.objectStore(STORE), (settled) => {
        result = settled;
      });
    }).finally(() => database.close());
  } catch {
    return undefined;
  }
};

type Kept = Readonly<{
  read: () => Promise<Draft | undefined>;
  keep: (draft: Draft) => Promise<void>;
  /**
   * Keeps the draft that begins to be sent. False: another tab has sent it, sends it, or gave it up, so it must not be
   * sent here.
   */
  begin: (draft: Draft) => Promise<boolean>;
  drop: () => Promise<void>;
}>;

/** The draft of a person in a team. */
export const keptOf = (userId: string, teamId: string): Kept => {
  const key = `${userId}:${teamId}`;
  return {
    read: async () => {
      const draft = await inStore<Draft>('readonly', (store, settle) => {
        const request = store.get(key) as IDBRequest<Draft | undefined>;
        request.onsuccess = () => {
          if (request.result !== undefined) settle(request.result);
        };
      });
      if (draft === undefined || Date.now() - draft.keptAt < KEPT_MS) return draft;
      await keptOf(userId, teamId).drop();
      return undefined;
    },
    keep: async (draft) => void (await inStore('readwrite', (store) => void store.put(draft, key))),
    begin: async (draft) =>
      (await inStore<boolean>('readwrite', (store, settle) => {
        const request = store.get(key) as IDBRequest<Draft | undefined>;
        request.onsuccess = () => {
          const known = request.result;
          const isOwn = known?.id === draft.id && (known.run === undefined || known.run.id === draft.run?.id);
          if (isOwn) store.put(draft, key);
          settle(isOwn);
        };
      })) ?? true,
    drop: async () => void (await inStore('readwrite', (store) => void store.delete(key))),
  };
};
