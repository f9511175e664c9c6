/**
 * The bytes that an email leaves on the disk: the difference of two data directories, one with some emails and one with
 * many, all sent and every write-ahead log copied into its database. Printed by file, and by table.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { machineWithDisk } from './support/machine.js';
import { numbersGiven } from './support/options.js';
import { orderRequest } from './support/orders.js';
import { report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { runService } from './support/send-runs.js';

const TABLES_SHOWN = 16;
const { emails, 'warm-up': warmUp } = numbersGiven({ emails: 10_000, 'warm-up': 2_000 });

/** Bytes by file and by table (or index) of a database, of a data directory that nobody uses. */
type Sizes = Readonly<{ files: ReadonlyMap<string, number>; tables: ReadonlyMap<string, number> }>;

const sizesOf = (directory: string): Sizes => {
  const files = new Map<string, number>();
  const tables = new Map<string, number>();
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const file = join(directory, name);
    if (!statSync(file).isFile()) continue;
    if (name.endsWith('.db')) {
      const database = new Sqlite(file);
      database.pragma('wal_checkpoint(TRUNCATE)');
      const rows = database
        .prepare<[], { name: string; bytes: number }>('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name')
        .all();
      for (const row of rows) tables.set(`${name} ${row.name}`, row.bytes);
      database.close();
    }
    files.set(name, statSync(file).size);
  }
  return { files, tables };
};

const sizesAfter = (count: number): Promise<Sizes> =>
  withDirectory(async (directory) => {
    await runService(directory, { warmUp: count / 2, emails: count / 2 });
    return sizesOf(join(directory, 'data'));
  });

/** Bytes of each email by name, those that grow with the emails first. */
const growth = (few: ReadonlyMap<string, number>, many: ReadonlyMap<string, number>) =>
  [...many]
    .map(([what, bytes]) => ({ what, value: (bytes - (few.get(what) ?? 0)) / emails, unit: 'bytes/email' }))
    .filter(({ value }) => value >= 1)
    .sort((a, b) => b.value - a.value);

const few = await sizesAfter(warmUp);
const many = await sizesAfter(warmUp + emails);
const files = growth(few.files, many.files);
const bytesOf = (pattern: RegExp): number =>
  files.filter(({ what }) => pattern.test(what)).reduce((sum, { value }) => sum + value, 0);
const tables = growth(few.tables, many.tables);
console.log('\nby table and index, bytes of each email:');
for (const { what, value } of tables.slice(0, TABLES_SHOWN)) console.log(`  ${value.toFixed(0).padStart(7)}  ${what}`);
report({
  name: 'storage',
  figures: [
    { what: 'an email in all files', value: bytesOf(/./), unit: 'bytes/email' },
    { what: 'of it the log', value: bytesOf(/^events\.db/), unit: 'bytes/email' },
    { what: 'of it keys', value: bytesOf(/^keys\.db/), unit: 'bytes/email' },
    { what: 'of it read models', value: bytesOf(/^documents\./), unit: 'bytes/email' },
    ...files.filter(({ what }) => /^documents\./.test(what)).map((one) => ({ ...one, what: `  ${one.what}` })),
    { what: 'of it anything else', value: bytesOf(/^(?!events\.db|keys\.db|documents\.)/), unit: 'bytes/email' },
    { what: 'the body of a send call', value: Buffer.byteLength(JSON.stringify(orderRequest(0))), unit: 'bytes' },
  ],
  machine: machineWithDisk(),
  details: { emails, warmUp, tables },
});
