/**
 * `sealpost verify` beyond the chain of the log: every file that it names, every row of keys; and no false alarm where
 * erasing was interrupted.
 */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import t, { type Test } from 'tap';
import { verifyFiles } from '../../src/commands/ops/repair.js';
import { readConfig } from '../../src/service/settings/config.js';
import { isoTime } from '../../src/domain/core/time.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import { openEngine } from '../../src/service/engine.js';
import { versionOf } from '../../src/event-log/event-log.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { png } from '../support/pictures.js';
import { runCommand } from '../support/server-process.js';

t.setTimeout(900_000);

const original = temporaryDirectory(t);
const build = async (): Promise<string> => {
  const app = await startTestApp({ dataDir: original });
  const content = Buffer.from('an attachment '.repeat(30)).toString('base64');
  // The sealed part is so large that it is stored in a file.
  const { id } = await app.send({
    variables: { code: '1', firstName: 'Ada', minutesValid: 10, unused: 'x'.repeat(300_000) },
    attachments: [{ filename: 'a.txt', contentType: 'text/plain', content }],
  });
  await app.whenStatus(id, 'delivered');
  const uploaded = await app.call('POST', '/api/assets', { filename: 'a.png', content: png.toString('base64') });
  if (uploaded.status !== 201) throw new Error(uploaded.text);
  await app.whenCaughtUp();
  await app.stop();
  return `email-${id}`;
};
const stream = (await build()) as StreamName;

const copy = (t: Test): string => {
  const dataDir = temporaryDirectory(t);
  cpSync(original, dataDir, { recursive: true });
  return dataDir;
};

/** The path of each file of bytes, by its hash: the first letters name the folder. */
const filesOf = (dataDir: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.parentPath.includes('expiring'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path): [string, string] => [createHash('sha256').update(readFileSync(path)).digest('hex'), path])
      .filter(([hash, path]) => path.endsWith(hash.slice(4))),
  );
/** The largest of them, in which the sealed part of the email lies. */
const sealedFile = [...filesOf(original)].sort(([, a], [, b]) => statSync(b).size - statSync(a).size)[0]![0];
/** Overwrites a page in the middle of a database. */
const damageMiddle = (file: string): void => {
  const pages = Math.floor(statSync(file).size / PAGE_BYTES);
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xa5, Math.floor(pages / 2) * PAGE_BYTES, (Math.floor(pages / 2) + 1) * PAGE_BYTES));
};
const PAGE_BYTES = 4_096;
const auditFile = readdirSync(original).find((name) => /^documents\.audit\.\d+\.db$/.test(name))!;
const verified = (dataDir: string) => runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir });

await t.test('all files that the log names are opened', async (t) => {
  const { code, stdout, stderr } = await verified(copy(t));
  t.equal(code, 0, stderr);
  t.equal(filesOf(original).size, 3, 'a sealed part, an attachment, an asset');
  t.match(stdout, new RegExp(`files: ${filesOf(original).size} that the log names are there and whole`));
  t.match(stdout, /keys: every row is as it was written/);
});

await t.test('each that is missing, changed or cut short is named, with the event that names it', async (t) => {
  const changes: readonly ((file: string) => void)[] = [
    (file) => rmSync(file),
    (file) => writeFileSync(file, readFileSync(file).subarray(1)),
    (file) => writeFileSync(file, Buffer.alloc(readFileSync(file).byteLength)),
  ];
  for (const [index, change] of changes.entries()) {
    const dataDir = copy(t);
    const paths = [...filesOf(dataDir)].filter(([hash]) => hash !== sealedFile);
    for (const [, path] of paths) change(path);
    const { code, stderr } = await verified(dataDir);
    t.equal(code, 2, `change ${index}`);
    for (const [hash] of paths) t.match(stderr, hash, `change ${index}`);
    t.match(stderr, stream);
    t.match(stderr, /asset-[0-9a-f-]+/);
  }
});

await t.test('an event whose sealed part lies in a file that is missing is named with it', async (t) => {
  const dataDir = copy(t);
  rmSync(filesOf(dataDir).get(sealedFile)!);
  const { code, stderr } = await verified(dataDir);
  t.equal(code, 2);
  t.match(
    stderr,
    new RegExp(
      `events: BROKEN: \\d+ {2}${stream}@0 {2}EmailQueued\\.v1 {2}cannot be read: its file ${sealedFile} is missing`,
    ),
  );
});

await t.test('a row of keys that was changed is named, with its file', async (t) => {
  const dataDir = copy(t);
  const database = new Sqlite(join(dataDir, 'keys.db'));
  database.prepare('UPDATE keys SET row = row + 1').run();
  database.close();
  const { code, stderr } = await verified(dataDir);
  t.equal(code, 2);
  t.match(stderr, /keys: BROKEN: .*keys\.db: row \d+ is not what was written there/);
});

await t.test(
  'a value by which an email is found and that was changed is named, with collection and document',
  async (t) => {
    const id = stream.slice('email-'.length);
    const changes = [
      {
        sql: "UPDATE c_emails SET f_status = 'failed'",
        said: `emails ${id} is not what a rebuild gives`,
      },
      {
        sql: 'UPDATE c_emails SET f_test = 7',
        said: `emails ${id}: the indexed value of test is not that of the document`,
      },
      {
        sql: "INSERT INTO s_emails (rowid, grams) SELECT seq, '4711' FROM c_emails",
        said: `emails ${id}: the search index has something else of text than the document`,
      },
    ];
    for (const { sql, said } of changes) {
      const dataDir = copy(t);
      const [file] = readdirSync(dataDir).filter((name) => /\.emails\.\d+\.db$/.test(name));
      const database = new Sqlite(join(dataDir, file!));
      database.exec(sql);
      database.close();
      const { code, stderr } = await verified(dataDir);
      t.equal(code, 2, sql);
      t.match(stderr, `emails: BROKEN: ${said}; run sealpost rebuild emails`);
    }
  },
);

const readModelFile = (dataDir: string): string =>
  join(
    dataDir,
    readdirSync(dataDir).find((name) => /^documents\.emails\.\d+\.db$/.test(name))!,
  );

/** Contents of the files of read models, without lock files, which are empty. */
const readModelsIn = (dataDir: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(dataDir)
      .filter((name) => name.startsWith('documents.') && /\.db(\.damaged)?$/.test(name))
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(dataDir, name)))
          .digest('hex'),
      ]),
  );

await t.test(
  'read models that are damaged, wherever, are named with their file, and are left as they are',
  async (t) => {
    const { size } = statSync(readModelFile(original));
    const pageSize = 4_096;
    const zeroed = (page: number) => (file: string) => {
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0xa5, page * pageSize, (page + 1) * pageSize));
    };
    const damages: Readonly<Record<string, (file: string) => void>> = {
      'no database': (file) => writeFileSync(file, 'no database at all '.repeat(400)),
      'cut off': (file) => writeFileSync(file, readFileSync(file).subarray(0, 3 * pageSize)),
      gone: (file) => rmSync(file),
      ...Object.fromEntries([1, 2, 3, 5].map((page) => [`page ${page} of ${size / pageSize}`, zeroed(page)])),
    };
    for (const [title, damage] of Object.entries(damages)) {
      const dataDir = copy(t);
      damage(readModelFile(original).replace(original, dataDir));
      const before = readModelsIn(dataDir);
      const { code, stdout, stderr } = await verified(dataDir);
      t.equal(code, 2, title);
      t.match(
        stderr,
        /emails: BROKEN: .*documents\.emails\.\d+\.db is damaged|emails: BROKEN: .* is not what a rebuild gives|emails: BROKEN: .* an index/,
        title,
      );
      t.notMatch(stdout, /^emails: \d+ documents/m, title);
      t.match(stdout, /templates: \d+ documents at position \d+ equal a rebuild/, 'the others are compared');
      t.same(readModelsIn(dataDir), before, title);
      const again = await verified(dataDir);
      t.same([again.code, again.stderr], [code, stderr], `${title}: the same is said again`);
    }
  },
);

await t.test(
  'a catalog that is damaged is named and left, and what is not there yet is told and not made',
  async (t) => {
    const dataDir = copy(t);
    writeFileSync(join(dataDir, 'documents.db'), 'no database at all '.repeat(400));
    const before = readModelsIn(dataDir);
    const { code, stderr } = await verified(dataDir);
    t.equal(code, 2);
    t.match(stderr, /emails: BROKEN: .*documents\.db is damaged/);
    t.same(readModelsIn(dataDir), before);
    for (const name of readdirSync(dataDir)) if (name.startsWith('documents.')) rmSync(join(dataDir, name));
    const without = await verified(dataDir);
    t.equal(without.code, 0, without.stderr);
    t.match(without.stdout, /emails: not there yet in the form of this version, so nothing was compared/);
    t.same(readModelsIn(dataDir), {});
  },
);

await t.test(
  'a damaged page of any database is named with its file and what goes on, and the rest is checked',
  async (t) => {
    for (const names of [['events.db'], ['keys.db'], ['leases.db', 'mailbox.db', 'documents.db', auditFile]]) {
      const dataDir = copy(t);
      for (const name of names) damageMiddle(join(dataDir, name));
      const { code, stdout, stderr } = await verified(dataDir);
      // By the page that is hit, the log can be read and is not what was written.
      t.ok(code === 2 || (code === 3 && names.includes('events.db')), `${names.join()}: ${code} ${stderr}`);
      for (const name of names) t.match(stderr, new RegExp(`databases: BROKEN: .*/${name} is damaged .*`), name);
      t.notMatch(`${stdout}${stderr}`, /^sealpost: /m);
      if (!names.includes('events.db')) t.match(stdout, /log: \d+ events in \d+ streams are unchanged/);
      const doctor = await runCommand(['doctor'], { SEALPOST_DATA_DIR: dataDir });
      for (const name of names)
        t.match(doctor.stdout, new RegExp(`(FAULT|WARNING) +file: .*/${name} is damaged`), name);
      t.equal(doctor.stderr, '');
    }
  },
);

await t.test('a read model with fewer documents than the log has streams is a difference', async (t) => {
  const dataDir = copy(t);
  const database = new Sqlite(readModelFile(dataDir));
  database.exec('UPDATE checkpoint SET position = 0; DELETE FROM c_emails;');
  database.close();
  const { code, stderr } = await verified(dataDir);
  t.equal(code, 2);
  t.match(stderr, /emails: BROKEN: 1 streams? of the log (have|has) no document/);
});

await t.test('a command that cannot finish exits with 1', async (t) => {
  t.match(await runCommand(['verify', '--root', 'nonsense'], { SEALPOST_DATA_DIR: copy(t) }), {
    code: 1,
    stderr: /POSITION:ROOT/,
  });
});

await t.test('an email whose erasing was interrupted, after whichever step, is no fault', async (t) => {
  const dataDir = copy(t);
  const config = readConfig({ SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent' });
  const engine = await openEngine(config);
  t.teardown(() => engine.close());
  const sound = async (step: string): Promise<void> => {
    const { findings, unreadable } = await verifyFiles(engine);
    t.same([findings, unreadable], [[], []], step);
  };
  const { eventLog } = engine;
  const recorded = await eventLog.load(stream);
  const at = isoTime(engine.clock.now());
  const cause = { teamId: recorded[0]!.metadata.teamId, actor: 'test', correlationId: 'test', causationId: 'test', at };
  await eventLog.append(stream, versionOf(recorded.at(-1)!), [{ type: 'EmailArchived', data: { at } }], cause);
  await sound('the fact is recorded');
  const [first] = recorded;
  if (first?.event.type !== 'EmailQueued') throw new Error('no email');
  for (const file of [...first.event.sealed!.attachments.map(({ file }) => file), first.metadata.sealedFile!]) {
    await engine.files.delete(file);
    await sound(`${file} is deleted`);
  }
  await eventLog.destroyKey(stream);
  await sound('the key is destroyed');
});
