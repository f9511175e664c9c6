/** `sealpost retention --dry-run` lists what the workers remove when they run. */
import t from 'tap';
import { assertDefined, parseAssetId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { readRetentionLines, retentionTable } from '../../src/projections/retention/retention.js';
import { sweepWorker } from '../../src/processors/retention/removal.js';
import { caller } from '../support/command-world.js';
import { at, DAY_MS, T0 } from '../support/email-facts.js';
import { signedIn } from '../support/people.js';
import { png } from '../support/pictures.js';
import { deliverEmailWorker, openProcessorWorld, timersAndTheirWork, until } from '../support/processor-world.js';

void t.test('what has outlived its time is counted line by line, and what was counted goes', async (t) => {
  let isBelieved = false;
  const world = await openProcessorWorld(t, { mayDestroy: () => isBelieved });
  const told = async () => {
    await world.settled();
    const lines = await readRetentionLines({ ...world.deps, readModels: world.readModels }, world.clock.now());
    return Object.fromEntries(lines.map(({ name, due, oldest, next }) => [name, [due, oldest, next]]));
  };
  const nothing = [0, null, null];
  t.match(await told(), { emails: nothing, files: nothing, 'deleted.asset': nothing, webhookRecords: nothing });

  const id = await world.send();
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');
  const asset = await world.commands.uploadAsset(
    caller,
    { filename: 'logo.png', bytes: png },
    { count: 0, sizeBytes: 0 },
  );
  await world.commands.deleteAsset(caller, assertDefined(parseAssetId(asset.id), 'asset id'));
  await signedIn(world.deps);
  await world.commands.addDomain(caller, { domain: 'example.com' });
  await world.files.put(Buffer.from('a document'), { expiresAt: at((7 * DAY_MS) / 1_000) });
  const monthLater = at((30 * DAY_MS) / 1_000);
  const removedAt = new Date(Date.parse(T0) + 30 * DAY_MS + 60_001).toISOString();
  t.match(await told(), {
    emails: [0, null, monthLater],
    files: nothing,
    'deleted.asset': [0, null, removedAt],
    'deleted.senderDomains': nothing,
    sessions: [0, null, at((30 * DAY_MS) / 1_000 + 60)],
  });

  await world.clock.set(Date.parse(T0) + 31 * DAY_MS);
  t.match(await told(), {
    emails: [1, monthLater, null],
    files: [1, null, null],
    'deleted.asset': [1, removedAt, null],
    sessions: [1, at((30 * DAY_MS) / 1_000 + 60), null],
  });
  const stored = world.files.stored.size;
  t.equal(world.files.stored.size, stored, 'telling changes nothing');

  isBelieved = true;
  world.run(timersAndTheirWork(world.processing));
  world.run(sweepWorker({ ...world.processing, mailbox: undefined }));
  await until(async () => {
    await world.clock.advance(500);
    const { emails, files, 'deleted.asset': assets } = await told();
    return [emails, files, assets].every((line) => line?.[0] === 0);
  }, 'all has gone');
  t.match(await told(), { emails: nothing, files: nothing, 'deleted.asset': nothing });
});

void t.test('each line says its period and the setting for it', async (t) => {
  const lines = retentionTable({ ...defaultLimits, retentionDays: 1, restoreDays: 14, temporaryFileHours: 1 });
  t.match(Object.fromEntries(lines.map(({ name, period, setting }) => [name, [period, setting]])), {
    emails: ['1 day', 'SEALPOST_RETENTION_DAYS'],
    webhookRecords: ['30 days', 'SEALPOST_RETENTION_WEBHOOK_DAYS'],
    'deleted.webhook': ['14 days', 'SEALPOST_RETENTION_DELETED_DAYS'],
    requestLog: ['7 days', 'SEALPOST_RETENTION_REQUEST_LOG_DAYS'],
    temporaryFiles: ['1 hour', 'SEALPOST_RETENTION_TEMPORARY_FILE_HOURS'],
    summaries: ['for ever', null],
  });
  t.match(
    retentionTable({ ...defaultLimits, requestLogDays: 0 }).find(({ name }) => name === 'requestLog'),
    {
      period: 'none',
    },
  );
  for (const { what, then } of lines) t.match(then, /^\w/, what);
});
