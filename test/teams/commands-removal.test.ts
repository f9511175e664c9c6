/**
 * A team that was deleted long ago is removed with all that is sealed of it, whatever the program was killed in; other
 * teams keep everything.
 */
import t, { type Test } from 'tap';
import { removeTeam, closings } from '../../src/commands/teams/removal.js';
import { noteRefusal } from '../../src/commands/recipients/suppressions.js';
import { causeOf, type Caller } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import {
  emailStream,
  parseEmailId,
  assertDefined,
  splitStream,
  teamStream,
  type TeamId,
} from '../../src/domain/core/ids.js';
import { isoTime, DAY_MS, HOUR_MS } from '../../src/domain/core/time.js';
import { teamDecider, type TeamCommand } from '../../src/domain/teams/decider.js';
import { readableMetadata } from '../../src/event-log/hash-chain.js';
import { versionOf } from '../../src/event-log/event-log.js';
import { allKeyIds } from '../../src/event-log/stream-keys.js';
import {
  caller,
  OTHER_TEAM,
  schemaSaying,
  simple,
  stranger,
  TEAM,
  welcome,
  withTemplate,
  type World,
} from '../support/command-world.js';
import { memoryLog } from '../support/memory-ports.js';
import { png } from '../support/pictures.js';

t.setTimeout(900_000);

/** One of each kind that holds something sealed, or lets somebody in. */
const fill = async ({ commands, deps }: World, by: Caller): Promise<void> => {
  const scheduledAt = isoTime(deps.clock.now() + HOUR_MS);
  await commands.sendEmail(by, simple({ to: [{ email: 'ann@example.org' }, { email: 'bob@example.org' }] }));
  await commands.sendEmail(
    by,
    simple({ scheduledAt, attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'YWJj' }] }),
  );
  const recipients = [{ email: 'cy@example.org', variables: { name: 'Cy' } }];
  await commands.sendBulk(by, { templateId: 'welcome', recipients });
  await commands.sendBulk(by, { templateId: 'welcome', recipients, scheduledAt });
  await commands.createAttachmentTemplate(by, {
    slug: 'invoice',
    name: 'Invoice',
    variables: [],
    schema: {
      outputFormats: ['pdf'],
      pages: [{ pageId: 'p', pageName: 'P', sections: schemaSaying('hello').sections }],
    },
  });
  await commands.uploadAsset(by, { filename: 'logo.png', bytes: png }, { count: 0, sizeBytes: 0 });
  const trashed = await commands.uploadAsset(by, { filename: 'old.png', bytes: png }, { count: 1, sizeBytes: 1 });
  await commands.deleteAsset(by, trashed.id as never);
  await commands.createWebhook(by, { url: 'https://example.com/', events: ['email.sent'] }, 0);
  await commands.addDomain(by, { domain: 'example.com' });
  await commands.addSuppression(by, { email: 'dan@example.org' });
  const cause = causeOf(deps, by);
  const refusal = {
    teamId: by.teamId,
    email: 'eve@example.org',
    reason: 'hard-bounce',
    learnedAt: cause.at,
    emailId: 'email-1',
    cause,
  } as const;
  await noteRefusal(deps, refusal);
  await commands.createApiKey(by, { name: 'key', permissions: ['emails:send'] });
  await commands.createOAuthApp(by, { name: 'App', redirectUris: ['https://app.example/'], scopes: ['emails:read'] });
};

const open = async (): Promise<World> => {
  const world = await withTemplate();
  await world.commands.createTemplate(stranger, welcome);
  await fill(world, caller);
  await fill(world, stranger);
  return world;
};

const apply = (world: World, command: TeamCommand) =>
  handle(world.deps.eventLog, teamStream(TEAM), teamDecider, command, causeOf(world.deps, { ...caller, actor: 'cli' }));

const deleted = async (world: World): Promise<void> => {
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await world.clock.advance(30 * DAY_MS + 61_000);
};

const remove = (world: World, signal = new AbortController().signal) =>
  removeTeam(
    { ...world.deps, logger: memoryLog() },
    TEAM,
    causeOf(world.deps, { ...caller, actor: 'processor:test' }),
    signal,
  );

/** The streams of a team of which a key exists. */
const sealedOf = ({ store, keys }: World, team: TeamId): readonly string[] => {
  const living = new Set(keys.ids());
  const found = new Set<string>();
  for (const event of store.events) {
    const metadata = readableMetadata(event);
    if (metadata?.teamId === team && allKeyIds(metadata).some((id) => living.has(id))) found.add(event.stream);
  }
  return [...found].sort();
};

/** How each stream of the team ends. */
const endsOf = ({ store }: World): Readonly<Record<string, string>> => {
  const ends: Record<string, string> = {};
  for (const event of store.events) {
    const metadata = readableMetadata(event);
    if (metadata?.teamId === TEAM) ends[event.stream] = event.type;
  }
  return ends;
};

const kindsOf = (streams: readonly string[]): readonly string[] =>
  [...new Set(streams.map((stream) => splitStream(stream).kind))].sort();

void t.test('nothing sealed of the team is left, and of another team all', async (t) => {
  const world = await open();
  const others = sealedOf(world, OTHER_TEAM);
  const filesBefore = world.files.stored.size;
  t.same(kindsOf(sealedOf(world, TEAM)), kindsOf(others));
  t.ok(kindsOf(others).length >= 6, kindsOf(others).join());
  await deleted(world);
  t.equal(await remove(world), 'removed');
  t.same(sealedOf(world, TEAM), []);
  t.same(sealedOf(world, OTHER_TEAM), others);
  t.equal(world.files.stored.size, filesBefore / 2);
  const ends = endsOf(world);
  const left = Object.keys(closings);
  for (const [stream, end] of Object.entries(ends))
    if (left.includes(splitStream(stream).kind))
      t.match(
        end,
        /(?:Archived|Stopped|Deleted|Removed|Revoked|Destroyed|Erased|Ended|Completed|Closed|Uncounted)\.v/,
        stream,
      );
  t.match(ends[teamStream(TEAM)], 'TeamErased');
  const appended = world.store.events.length;
  t.equal(await remove(world), 'removed');
  t.equal(world.store.events.length, appended, 'nothing is said twice');
  await t.rejects(world.commands.sendEmail(caller, simple()), { code: 'ERR_TMPL_002' });
});

void t.test('a team that lives, or was deleted a day ago, is left alone', async (t) => {
  const world = await open();
  const sealed = sealedOf(world, TEAM);
  t.equal(await remove(world), 'kept');
  await apply(world, { type: 'DeleteTeam', at: isoTime(world.clock.now()), by: 'operator', firstTeam: false });
  await world.clock.advance(30 * DAY_MS);
  t.equal(await remove(world), 'kept', 'an owner with a clock that is behind may restore it still');
  t.same(sealedOf(world, TEAM), sealed);
});

void t.test('killed at any write it goes on, and ends where it ends untouched', async (t) => {
  const untouched = await open();
  await deleted(untouched);
  await remove(untouched);
  const expected = Object.values(endsOf(untouched)).sort();
  for (let kill = 1; ; kill += 1) {
    const world = await open();
    await deleted(world);
    let appends = 0;
    world.store.beforeAppend(() => {
      appends += 1;
      if (appends >= kill) throw new Error('killed');
    });
    const end = await remove(world).catch(() => 'killed');
    world.store.beforeAppend(undefined);
    if (end === 'removed') break;
    await world.clock.advance(HOUR_MS);
    t.equal(await remove(world), 'removed', `killed at write ${kill}`);
    t.same(sealedOf(world, TEAM), [], `killed at write ${kill}`);
    t.same(Object.values(endsOf(world)).sort(), expected, `killed at write ${kill}`);
  }
});

void t.test('an email in a dialogue is waited for', async (t) => {
  const world = await open();
  const { id } = (await world.commands.sendEmail(caller, simple())).body;
  const stream = emailStream(assertDefined(parseEmailId(id), 'email id'));
  await deleted(world);
  const at = isoTime(world.clock.now());
  const attempted = { attempt: 1, at, host: 'h', worker: 'w', deadlineAt: isoTime(world.clock.now() + 60_000) };
  const loaded = await world.deps.eventLog.load(stream);
  const last = loaded.at(-1)!;

  const cause = causeOf(world.deps, caller);
  await world.deps.eventLog.append(stream, versionOf(last), [{ type: 'DeliveryAttempted', data: attempted }], cause);
  t.equal(await remove(world), 'unfinished');
  t.same(sealedOf(world, TEAM), [stream]);
  const early = await world.deps.eventLog.load(stream);
  t.same(
    early.map(({ event }) => event.type),
    ['EmailQueued', 'DeliveryAttempted'],
  );
  const sent = { attempt: 1, at, host: 'h', durationMs: 1, outcomes: [] };
  const [open2] = (await world.deps.eventLog.load(stream)).slice(-1);
  await world.deps.eventLog.append(
    stream,
    versionOf(open2!),
    [{ type: 'EmailSent', data: sent, sealed: { replies: [] } }],
    cause,
  );
  t.equal(await remove(world), 'removed');
  t.same(sealedOf(world, TEAM), []);
});

void t.test('where it is to stop it stops, and goes on later', async (t: Test) => {
  const world = await open();
  await deleted(world);
  const stopping = new AbortController();
  let appends = 0;
  world.store.beforeAppend(() => {
    appends += 1;
    if (appends === 5) stopping.abort();
  });
  t.equal(await remove(world, stopping.signal), 'unfinished');
  t.not(sealedOf(world, TEAM).length, 0);
  t.equal(await remove(world), 'removed');
  t.same(sealedOf(world, TEAM), []);
});

void t.test('an email whose dialogue was broken off has failed', async (t) => {
  const world = await open();
  const { id } = (await world.commands.sendEmail(caller, simple())).body;
  const stream = emailStream(assertDefined(parseEmailId(id), 'email id'));
  const at = isoTime(world.clock.now());
  const attempted = { attempt: 1, at, host: 'h', worker: 'w', deadlineAt: isoTime(world.clock.now() + 60_000) };
  const last = (await world.deps.eventLog.load(stream)).at(-1)!;
  await world.deps.eventLog.append(
    stream,
    versionOf(last),
    [{ type: 'DeliveryAttempted', data: attempted }],
    causeOf(world.deps, caller),
  );
  await deleted(world);
  t.equal(await remove(world), 'removed');
  t.same(
    (await world.events(stream)).map(({ type }) => type),
    ['EmailQueued', 'DeliveryAttempted', 'EmailFailed', 'EmailDeleted', 'EmailArchived'],
  );
});
