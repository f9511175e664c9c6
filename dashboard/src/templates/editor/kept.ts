/**
 * Changes of a template that are not saved, kept in the browser: a reload, a crash or the end of a session loses
 * nothing. Nothing of them leaves the browser; a save or a sign-out removes them.
 */
import { useEffect, useRef } from 'react';
import { KEPT_TEMPLATES } from '../../api/kept';
import { isSignedIn } from '../../api/session';
import { keptName } from '../../api/values';
import type { Content } from '../content';
import type { Draft } from '../draft';

/** `base`: the content of the revision that the changes are made to. */
export type Kept = Readonly<{ content: Content; base: Content; revision: number; at: string }>;

const STORE = 'drafts';

/** Rejects where the browser keeps nothing, as some do in private windows. */
const opened = (): Promise<IDBDatabase> =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(KEPT_TEMPLATES, 1);
    request.onupgradeneeded = () => void request.result.createObjectStore(STORE);
    request.onsuccess = () => {
      // Another tab signs out.
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
    request.onerror = () => reject(request.error ?? new Error('the browser keeps nothing'));
    request.onblocked = () => reject(new Error('another tab removes what is kept'));
  });

/** Acts follow each other, so that a removal comes after what was written before it. */
let last: Promise<unknown> = Promise.resolve();

const inStore = <Result>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result | undefined> => {
  const run = async (): Promise<Result | undefined> => {
    const database = await opened();
    return new Promise<Result | undefined>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error ?? new Error('the browser did not keep it'));
    }).finally(() => database.close());
  };
  const result = last.then(run).catch(() => undefined);
  last = result;
  return result;
};

const keyOf = (userId: string, teamId: string, id: string): string => `${userId} ${teamId} ${id}`;

/** The newest changes of a page that was left before the database had them; a sign-out removes it. */
const noteOf = (key: string): string => keptName(`kept:template ${key}`);

const noted = (key: string): Kept | undefined => {
  const text = localStorage.getItem(noteOf(key));
  return text === null ? undefined : (JSON.parse(text) as Kept);
};

/** In: a person, a team and a template. Out: their unsaved changes; undefined where there are none. */
export const keptDraft = async (userId: string, teamId: string, id: string): Promise<Kept | undefined> => {
  const key = keyOf(userId, teamId, id);
  const note = noted(key);
  const inDatabase = await inStore<Kept | undefined>(
    'readonly',
    (store) => store.get(key) as IDBRequest<Kept | undefined>,
  );
  return note !== undefined && (inDatabase === undefined || inDatabase.at < note.at) ? note : inDatabase;
};

/** Letters that follow each other are written together. */
const LATE_MS = 120;

/** Keeps the changes while they are made, and removes them once nothing is left to save. */
export const useKeeping = (userId: string, teamId: string, draft: Omit<Draft, 'faults'>): void => {
  const { stored, base, content, isChanged } = draft;
  const key = keyOf(userId, teamId, stored.id);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** The changes that the database does not have yet. */
  const unwritten = useRef<Readonly<{ key: string; kept: Kept }>>(undefined);
  const hasKept = useRef(false);
  const flush = useRef(() => {
    clearTimeout(timer.current);
    timer.current = undefined;
    const now = unwritten.current;
    // A person who signed out left nothing here.
    if (now === undefined || !isSignedIn()) return;
    void inStore('readwrite', (store) => store.put(now.kept, now.key)).then(() => {
      if (unwritten.current === now) unwritten.current = undefined;
    });
  });
  useEffect(() => {
    if (isChanged) {
      unwritten.current = { key, kept: { content, base, revision: stored.revision, at: new Date().toISOString() } };
      hasKept.current = true;
      timer.current ??= setTimeout(flush.current, LATE_MS);
    } else if (hasKept.current) {
      clearTimeout(timer.current);
      timer.current = undefined;
      unwritten.current = undefined;
      hasKept.current = false;
      localStorage.removeItem(noteOf(key));
      void inStore('readwrite', (store) => store.delete(key));
    }
  }, [content, base, isChanged, stored, key]);
  useEffect(() => {
    const now = (): void => flush.current();
    // The browser may end the page before the database has written.
    const leave = (): void => {
      const last = unwritten.current;
      if (last === undefined || !isSignedIn()) return;
      try {
        localStorage.setItem(noteOf(last.key), JSON.stringify(last.kept));
      } catch {
        // The storage is full; the database may still write it.
      }
      now();
    };
    window.addEventListener('pagehide', leave);
    document.addEventListener('visibilitychange', now);
    return () => {
      now();
      window.removeEventListener('pagehide', leave);
      document.removeEventListener('visibilitychange', now);
    };
  }, []);
};
