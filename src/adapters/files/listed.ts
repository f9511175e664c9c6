/** What a directory of files holds, for a copy of it. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { orAbsent, readText } from './durable.js';
import { isHash } from './names.js';

const PREFIX = /^[0-9a-f]{2}$/;

/** Each file by its hash, and when it expires (ISO time), undefined: never. */
export async function* filesIn(directory: string): AsyncGenerator<Readonly<{ hash: string; expiresAt: string | undefined }>> {
  const folders = ((await orAbsent(readdir(directory))) ?? []).filter((name) => PREFIX.test(name)).sort();
  for (const folder of folders) {
    for (const name of (await readdir(join(directory, folder))).sort()) {
      const hash = folder + name;
      if (isHash(hash)) yield { hash, expiresAt: await readText(join(directory, folder, `${name}.until`)) };
    }
  }
}
