/**
 * The world of `founding.ts`, made once for each build and read by every test of the HTTP server, which works on copies
 * of it.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize } from 'node:v8';
import type { founded as made } from './founding.js';
import { memoryEventStore, memoryFiles, memoryKeys } from '../support/memory-ports.js';

type Founded = typeof made;

/** Written by each build that changes anything. */
const buildFile = fileURLToPath(new URL('../../.tsbuildinfo', import.meta.url));
const folder = fileURLToPath(new URL('../founded-http', import.meta.url));

const theNewest = async (): Promise<Founded> => {
  const file = join(folder, `${statSync(buildFile).mtimeMs}`);
  if (existsSync(file)) return deserialize(readFileSync(file)) as Founded;
  const { founded } = await import('./founding.js');
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}-${process.pid}`, serialize(founded));
  renameSync(`${file}-${process.pid}`, file);
  return founded;
};

const { events, keyIds, files, tokens, ...named } = await theNewest();
export const { KEY_ID, UNLIMITED_KEY_ID, BOUND_KEY_ID, OTHERS_KEY_ID } = named;
export const { OWNER, USER, OTHERS_USER, OAUTH_GRANT, sessions } = named;
export const { own, others, AUDIT_ENTRY, INVITATION_TOKEN, INVITATION_MESSAGE_ID, DELETED_TEAM } = named;

/** Stores in memory with all of it. */
export const copyOfFounded = async () => {
  const copy = { store: memoryEventStore(), keys: memoryKeys(), files: memoryFiles() };
  copy.store.events.push(...events);
  for (const [hash, bytes] of files) copy.files.stored.set(hash, Buffer.from(bytes));
  // The keys in memory follow from their ids, which are counted.
  const isKept = new Set(keyIds);
  const last = Math.max(...keyIds.map(Number));
  for (let count = 0; count < last; count += 1) await copy.keys.create();
  await copy.keys.destroy(copy.keys.ids().filter((id) => !isKept.has(id)));
  return copy;
};

/** In: the name of a credential, or what is none. */
export const bearer = (name: string): Readonly<{ authorization: string }> => ({
  authorization: `Bearer ${tokens.get(name) ?? name}`,
});
