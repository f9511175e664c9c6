/** `sealpost verify` beyond the chain of the log: every file that it names, every row of keys; and no false alarm where erasing was interrupted. */
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
  // So much that the sealed part lies in a file.
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
    new RegExp(`events: BROKEN: \\d+ {2}${stream}@0 {2}EmailQueued\\.v1 {2}cannot be read: its file ${sealedFile} is missing`),
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

await t.test('a value by which an email is found and that was changed is named, with collection, document and field', async (t) => {
  const id = stream.slice('email-'.length);
  const changes = [
    { sql: "UPDATE c_emails SET f_status = 'failed'", said: `emails ${id}: the indexed value of status is not that of the document` },
    {
      sql: "INSERT INTO s_emails (rowid, text, marks) SELECT (number << 32) + seq, 'slipped in', '' FROM t_emails, c_emails",
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
});

await t.test('a command that cannot finish exits with 1', async (t) => {
  t.match(await runCommand(['verify', '--root', 'nonsense'], { SEALPOST_DATA_DIR: copy(t) }), { code: 1, stderr: /POSITION:ROOT/ });
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
