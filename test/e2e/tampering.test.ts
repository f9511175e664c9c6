/** Changes by somebody with write access to the file of the log: `verify` names the first event that was changed. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import t, { type Test } from 'tap';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import { deriveFrom } from '../../src/adapters/keys/key-wrap.js';
import { loadMasterKey, openSealKeys } from '../../src/adapters/keys/key-files.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import { verifyLog, type Finding, type NotedRoot, type Verification } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { advanceUntil, startTestApp, storedEvents } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { countingIds, memoryFiles, memoryKeys, memoryLog } from '../support/memory-ports.js';
import { runCommand } from '../support/server-process.js';
import { sealCases } from './seal-cases.js';
import { casesOn, type Case } from './tamper-cases.js';
import { at, insert, rowsOf, type Database } from './tamper-tools.js';

t.setTimeout(900_000);

/** Lies elsewhere: who tampers has all of the data directory with its master key, and not this one. */
const SEAL_KEY = '5e'.repeat(32);
const settings = { SEALPOST_SEAL_KEY: SEAL_KEY };

const original = temporaryDirectory(t);
const emails: string[] = [];

/** A log with two seals over most of it, and a few events after the second. */
const build = async (): Promise<NotedRoot> => {
  const clock = fakeClock();
  const app = await startTestApp({
    dataDir: original,
    clock,
    settings: { ...settings, SEALPOST_LIMIT_LEDGER_SEAL_EVERY_MS: '60000' },
  });
  const seals = async (): Promise<number> =>
    (await storedEvents(app.engine)).filter(({ stream }) => stream === 'ledger').length;
  for (let seal = 1; seal <= 2; seal += 1) {
    for (let count = 0; count < 3; count += 1) {
      const { id } = await app.send();
      await app.whenStatus(id, 'delivered');
      emails.push(`email-${id}`);
    }
    const before = await seals();
    await advanceUntil(clock, 60_000, `seal ${seal}`, async () => (await seals()) > before);
  }
  const last = await app.send();
  await app.whenStatus(last.id, 'delivered');
  emails.push(`email-${last.id}`);
  await app.whenCaughtUp();
  const { seal } = await verifyLog(app.engine.store, undefined);
  await app.stop();
  return { position: seal!.position, root: seal!.root };
};

const noted = await build();

/** A copy of the data directory, tampered with. */
const tampered = (t: Test, tamper: (database: Database) => void): string => {
  const dataDir = temporaryDirectory(t);
  for (const entry of readdirSync(original, { withFileTypes: true })) {
    if (entry.isFile()) copyFileSync(join(original, entry.name), join(dataDir, entry.name));
    else mkdirSync(join(dataDir, entry.name));
  }
  const database = new Sqlite(join(dataDir, 'events.db'));
  database.transaction(tamper)(database);
  database.close();
  return dataDir;
};

const findingIn = async (dataDir: string, root?: NotedRoot): Promise<Finding | undefined> => {
  const store = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  try {
    return (await verifyLog(store, root)).finding;
  } finally {
    await store.close();
  }
};

await t.test('the log as it was written is sound, with the noted root too', async (t) => {
  const dataDir = tampered(t, () => undefined);
  t.equal(await findingIn(dataDir, noted), undefined);
  const { code, stdout } = await runCommand(['verify', '--root', `${noted.position}:${noted.root}`], {
    ...settings,
    SEALPOST_DATA_DIR: dataDir,
  });
  t.equal(code, 0);
  t.match(stdout, /under 2 seals|under 3 seals|under 4 seals/);
  t.match(stdout, `${noted.position}:${noted.root}`);
});

for (const { name, tamper, root } of casesOn(emails, noted)) {
  await t.test(name, async (t) => {
    let expected: ReturnType<Case['tamper']> | undefined;
    const dataDir = tampered(t, (database) => void (expected = tamper(database)));
    t.match(await findingIn(dataDir, root), expected!);
  });
}

const { fingerprint } = deriveFrom(
  loadMasterKey({ value: undefined, file: join(original, 'master.key'), mayCreate: false }),
);
const sealing = {
  keys: openSealKeys({ texts: [SEAL_KEY], command: undefined }, { fingerprint }),
  lost: [],
  isSet: true,
};
const [sealKey, derived] = await sealing.keys();
const [own] = await openSealKeys({ texts: ['6b'.repeat(32)], command: undefined }, { fingerprint })();
const attacker = { derived: derived!, own: own!, sealKeyId: sealKey!.id, fingerprint };
const kept = new Map([[noted.position, noted.root]]);

const verifiedWithKey = async (
  dataDir: string,
  options: Readonly<{ kept?: typeof kept; sealsFirst?: boolean }> = {},
): Promise<Verification> => {
  const store = openSqliteEventStore({ file: join(dataDir, 'events.db') });
  try {
    if (options.sealsFirst === true) {
      const limits = defaultLimits;
      const clock = fakeClock();
      const eventLog = openEventLog({
        store,
        keys: memoryKeys(),
        files: memoryFiles(),
        ids: countingIds(),
        clock,
        limits,
        sealKey: async () => sealKey,
      });
      await sealOnce({ eventLog, store, limits, clock, sealKey: async () => sealKey }, new AbortController().signal);
    }
    return await verifyLog(store, options.kept, { seals: sealing });
  } finally {
    await store.close();
  }
};

const isFound = ({ finding, proof }: Verification): boolean => finding !== undefined || proof?.isAsSet !== true;

await t.test(
  'with the seal key the log as it was written is proved, and what follows the newest seal is counted',
  async (t) => {
    const { proof, events, unsealed } = await verifiedWithKey(original);
    t.match(proof, { key: sealKey!.id, unproved: unsealed.length - 1, untagged: undefined, isAsSet: true });
    t.equal(proof?.missing.size, 0);
    t.ok(unsealed.length > 1 && unsealed.length < events);
  },
);

for (const { name, tamper, root } of casesOn(emails, noted)) {
  if (root !== undefined && !name.includes('rewritten')) continue;
  await t.test(`with the seal key and no noted root: ${name}`, async (t) => {
    t.ok(isFound(await verifiedWithKey(tampered(t, (database) => void tamper(database)))));
  });
}

const promises = readFileSync('docs/promises.md', 'utf8').replace(/\s+/g, ' ');

for (const { name, tamper, found } of sealCases(emails)) {
  await t.test(`with the master key and without the seal key: ${name}`, async (t) => {
    const dataDir = tampered(t, (database) => tamper(database, attacker));
    const verification = await verifiedWithKey(dataDir);
    t.equal(isFound(verification), found === 'log', verification.finding?.message ?? 'no finding');
    if (found === 'kept') t.match((await verifiedWithKey(dataDir, { kept })).finding, { kind: 'cut-off' });
    else if (found !== 'log')
      t.ok(promises.includes(found.beyond), `docs/promises.md says that it is not found: ${found.beyond}`);
    else if (name.includes('after the newest seal') || name.includes('behind the newest seal'))
      t.ok(isFound(await verifiedWithKey(dataDir, { sealsFirst: true })), 'nor does the next seal hide it');
  });
}

await t.test(
  'an API key that was slipped in below position 1 opens nothing, and the start says that it is there',
  async (t) => {
    const elsewhere = tampered(t, () => undefined);
    const app = await startTestApp({ dataDir: elsewhere, settings });
    await app.stop();
    const source = new Sqlite(join(elsewhere, 'events.db'));
    const row = rowsOf(source).findLast(({ type }) => type === 'ApiKeyCreated.v1')!;
    source.close();

    for (const position of [0, -1]) {
      const dataDir = tampered(t, (database) => insert(database, { ...row, position }));
      const logger = memoryLog();
      const forged = await startTestApp({ dataDir, logger, settings });
      t.teardown(forged.stop);
      const { status } = await forged.call('GET', '/api/emails', undefined, { authorization: `Bearer ${app.key}` });
      t.equal(status, 401);
      t.match(
        logger.lines.find(({ fields }) => fields['position'] === position),
        { level: 'error', fields: { position, stream: row.stream, type: 'ApiKeyCreated.v1' } },
      );
      t.match(await findingIn(dataDir), { kind: 'inserted', position, stream: row.stream });
    }
  },
);

await t.test('an event that repeats a revision, in a store that does not refuse it', async (t) => {
  const store = openSqliteEventStore({
    file: join(
      tampered(t, () => undefined),
      'events.db',
    ),
  });
  t.teardown(() => store.close());
  const events: StoredEvent[] = [];
  for await (const batch of store.readAll(0)) events.push(...batch.events);
  const repeated = { ...events[1]!, position: events.length + 1 };
  const lax = {
    positions: 'dense' as const,
    head: async () => repeated.position,
    readAll: async function* () {
      yield { events: [...events, repeated], position: repeated.position };
    },
  };
  t.match((await verifyLog(lax, undefined)).finding, {
    kind: 'inserted',
    position: repeated.position,
    stream: repeated.stream,
  });
});

await t.test(
  'the command line says it, and its exit code says whether the log was tampered with, something is damaged, or it could not finish',
  async (t) => {
    let position = 0;
    const changed = tampered(t, (database) => {
      position = at(database, emails[1]!, 1).position;
      database.prepare("UPDATE events SET data = '{}' WHERE position = ?").run(position);
    });
    const result = await runCommand(['verify'], { ...settings, SEALPOST_DATA_DIR: changed });
    t.equal(result.code, 3);
    t.match(result.stderr, `log: BROKEN at position ${position} (changed)`);

    const cut = tampered(
      t,
      (database) => void database.prepare('DELETE FROM events WHERE position > ?').run(noted.position),
    );
    const without = await runCommand(['verify'], { ...settings, SEALPOST_DATA_DIR: cut });
    t.equal(without.code, 2, 'the read models know more than the log');
    t.match(without.stderr, /lies beyond the log/);
    const withRoot = await runCommand(['verify', '--root', `${noted.position}:${noted.root}`], {
      ...settings,
      SEALPOST_DATA_DIR: cut,
    });
    t.equal(withRoot.code, 3);
    t.match(withRoot.stderr, /cut-off/);
    const nonsense = await runCommand(['verify', '--root', 'nonsense'], { ...settings, SEALPOST_DATA_DIR: cut });
    t.equal(nonsense.code, 1);
    t.match(nonsense.stderr, /POSITION:ROOT/);
  },
);

await t.test(
  'with a wrong seal key, and with none, the command line says so, and the service does not start',
  async (t) => {
    const dataDir = tampered(t, () => undefined);
    const { code, stderr, stdout } = await runCommand(['verify'], {
      SEALPOST_DATA_DIR: dataDir,
      SEALPOST_SEAL_KEY: '6b'.repeat(32),
    });
    t.equal(code, 3);
    t.match(
      stderr,
      new RegExp(`sealed under the seal key ${sealKey!.id}, and that is not the key given \\(${own!.id}\\)`),
    );
    t.match(stdout, /unproved: \d+ events that no given key has sealed/);
    t.notMatch(`${stdout}${stderr}`, /5e5e|6b6b/);
    await t.rejects(startTestApp({ dataDir }), {
      name: 'SealKeyMissing',
      message: `SEALPOST_SEAL_KEYS_LOST=${sealKey!.id}`,
    });
  },
);

await t.test('a read model that was changed is found, and a rebuild mends it', async (t) => {
  const dataDir = tampered(t, () => undefined);
  const file = readdirSync(dataDir).find((name) =>
    /^documents\.db\.emails\.\d+\.db$|^documents\.emails\.\d+\.db$/.test(name),
  );
  const database = new Sqlite(join(dataDir, file ?? ''), { fileMustExist: true });
  const tables = database
    .prepare<[], string>(
      "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'doc'",
    )
    .pluck()
    .all();
  const changes = tables.map(
    (name) => database.prepare(`UPDATE "${name}" SET doc = replace(doc, 'delivered', 'failed')`).run().changes,
  );
  database.close();
  t.ok(
    changes.some((count) => count > 0),
    'documents were changed',
  );
  const broken = await runCommand(['verify'], { ...settings, SEALPOST_DATA_DIR: dataDir });
  t.equal(broken.code, 2);
  t.match(broken.stderr, /emails: BROKEN: .* run sealpost rebuild emails/);
  t.match(await runCommand(['rebuild', 'emails'], { ...settings, SEALPOST_DATA_DIR: dataDir }), { code: 0 });
  t.match(await runCommand(['verify'], { ...settings, SEALPOST_DATA_DIR: dataDir }), { code: 0 });
});
