/** The audit log and its export. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { checkExport } from '../../src/cli/audit.js';
import { forgetAllOrigins, forgetOrigins } from '../../src/commands/access/origins.js';
import type { CheckedExport, ExportFinding } from '../../src/commands/audit/export-check.js';
import { openAuditExport, type Exported, chainAfter, CHAIN_START } from '../../src/commands/audit/export.js';
import { openAuditRecorder, type AuditedCall } from '../../src/commands/audit/record.js';
import { type Caller, auditedPersonOf, causeOf } from '../../src/commands/core/caller.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { verifyAddress } from '../../src/commands/people/links.js';
import { makeUser, makeVerifyLink } from '../../src/commands/people/registration.js';
import { login, personalCause } from '../../src/commands/people/sessions.js';
import { callOrigin } from '../../src/domain/access/origins.js';
import type { AuditEntry } from '../../src/domain/audit/entry.js';
import { AppendUnknown, StoreAway, DomainError } from '../../src/domain/core/errors.js';
import {
  apiKeyStream,
  assertDefined,
  auditOriginsStream,
  auditStream,
  NO_TEAM,
  parseApiKeyId,
  parseSessionId,
  parseUserId,
  sessionStream,
  userStream,
  type StreamName,
} from '../../src/domain/core/ids.js';
import { auditEntryOf, type Recorded } from '../../src/domain/events.js';
import type { LogFields, Logger } from '../../src/domain/ports/logger.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import {
  caller,
  OTHER_TEAM,
  openWorld,
  simple,
  TEAM,
  withTemplate,
  type World,
  stranger,
  welcome,
} from '../support/command-world.js';
import { from, PASSWORD, signedIn } from '../support/people.js';
import { eventually } from '../support/wait.js';

// From where audited calls came, and the recorder of reads and refusals: what is kept, what it costs, and what is
// forgotten.

const USER = assertDefined(parseUserId('0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21'), 'user id');

const by = (actor: string, ipAddress = '192.0.2.7', userAgent = 'curl/8.5.0', teamId: string = TEAM): Caller => ({
  ...caller,
  teamId: teamId as Caller['teamId'],
  actor,
  calledFrom: () => callOrigin(ipAddress, userAgent),
});

const recordedIn = async (deps: CommandNeeds, stream: StreamName): Promise<readonly Recorded[]> =>
  deps.eventLog.load(stream);
const monthOf = (world: World): string => new Date(world.clock.now()).toISOString().slice(0, 7);
const scopeStream = (world: World, scope: string): StreamName => auditOriginsStream(scope, monthOf(world));
const keyOf = async (world: World, who: Caller) => {
  const { id } = await world.commands.createApiKey(who, { name: 'a key', permissions: ['emails:send'] });
  return apiKeyStream(assertDefined(parseApiKeyId(id), 'key id'));
};
const originOf = async (world: World, stream: StreamName): Promise<string | undefined> =>
  (await recordedIn(world.deps, stream)).at(-1)?.metadata.origin;

void t.test(
  'an event that an auditor is told of names from where it was called, once kept for each network and agent',
  async (t) => {
    const world = await openWorld();
    const first = await originOf(world, await keyOf(world, by(`user:${USER}`)));
    const same = await originOf(world, await keyOf(world, by(`user:${USER}`)));
    const other = await originOf(world, await keyOf(world, by(`user:${USER}`, '198.51.100.1')));
    t.equal(first, `${USER}.${monthOf(world)}#0`);
    t.equal(same, first);
    t.equal(other, `${USER}.${monthOf(world)}#1`);
    t.equal((await recordedIn(world.deps, scopeStream(world, USER))).length, 2);
    t.strictSame(
      await world.deps.origins.read([first!, other!, 'nonsense', `${USER}.2001-01#0`]),
      new Map([
        [first, { ipAddress: '192.0.2.7', userAgent: 'curl/8.5.0' }],
        [other, { ipAddress: '198.51.100.1', userAgent: 'curl/8.5.0' }],
      ]),
    );
    t.equal(
      await originOf(world, await keyOf(world, by('apiKey:key_1'))),
      `${TEAM}.${monthOf(world)}#0`,
      'keys have that of their team',
    );
    t.equal(await originOf(world, await keyOf(world, caller)), undefined, 'the operator calls from nowhere');
  },
);

void t.test('another process goes on where this one is', async (t) => {
  const world = await openWorld();
  await keyOf(world, by(`user:${USER}`));
  const there = world.elsewhere();
  const cause = causeOf(there, by(`user:${USER}`, '203.0.113.9'));
  t.equal(await there.origins.keep(cause, callOrigin('203.0.113.9', 'a')), `${USER}.${monthOf(world)}#1`);
  t.equal(
    await world.deps.origins.keep(cause, callOrigin('203.0.113.10', 'a')),
    `${USER}.${monthOf(world)}#2`,
    'it is told by the conflict',
  );
  t.equal(await world.deps.origins.keep(cause, callOrigin('203.0.113.9', 'a')), `${USER}.${monthOf(world)}#1`);
});

void t.test('a mail that a key sends keeps nothing, and appends no more than without it', async (t) => {
  const world = await withTemplate();
  const request = simple({ templateId: world.template.id });
  let asked = 0;
  const who: Caller = { ...caller, calledFrom: () => ((asked += 1), callOrigin('192.0.2.7', 'x')) };
  const before = await world.store.head();
  await world.commands.sendEmail(who, request);
  t.equal((await world.store.head()) - before, 1, 'the one event of the mail');
  t.equal(asked, 0, 'from where it comes is not even looked at');
});

void t.test('agents without end are kept by their network alone, and then not at all', async (t) => {
  const world = await openWorld();
  const cause = causeOf(world.deps, by(`user:${USER}`));
  const { keep, read } = world.deps.origins;
  for (let n = 0; n < 520; n += 1) await keep(cause, callOrigin('192.0.2.7', `agent ${n}`));
  const names = await Promise.all([
    keep(cause, callOrigin('192.0.2.7', 'agent 700')),
    keep(cause, callOrigin('192.0.2.7', 'agent 3')),
  ]);
  t.equal((await recordedIn(world.deps, scopeStream(world, USER))).length, 501);
  t.strictSame(
    [...(await read(names.map(String))).values()],
    [
      { ipAddress: '192.0.2.7', userAgent: '' },
      { ipAddress: '192.0.2.7', userAgent: 'agent 3' },
    ],
  );
});

void t.test('what is forgotten is read by nobody, is in no key, and is not kept again', async (t) => {
  const world = await openWorld();
  const stream = await keyOf(world, by(`user:${USER}`));
  const origin = (await originOf(world, stream))!;
  const cause = causeOf(world.deps, caller);
  await forgetAllOrigins(world.deps.eventLog, USER, 731, cause);
  t.equal((await world.deps.origins.read([origin])).size, 0);
  const kept = scopeStream(world, USER);
  t.equal(await world.deps.eventLog.existingKey(kept), undefined, 'the key is destroyed');
  t.match(
    (await recordedIn(world.elsewhere(), kept)).map(({ event }) => event),
    [{ type: 'CallOriginSeen', sealed: undefined }, { type: 'CallOriginsForgotten' }],
  );
  t.equal(
    await world.elsewhere().origins.keep(causeOf(world.deps, by(`user:${USER}`)), callOrigin('192.0.2.8', 'b')),
    undefined,
  );
  t.equal(await originOf(world, await keyOf(world, by(`user:${USER}`, '192.0.2.9'))), undefined);
  await forgetOrigins(world.deps.eventLog, kept, cause);
  t.equal((await recordedIn(world.deps, kept)).length, 2, 'safe to repeat');
  t.equal((await recordedIn(world.deps, stream)).length, 1, 'the event itself is as it was');
});

void t.test('a sign-in says from where, and one that fails whom it concerns', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps, { teamId: TEAM });
  const session = sessionStream(assertDefined(parseSessionId(ada.sessionId), 'session id'));
  const origin = await originOf(world, session);
  t.strictSame(
    [...(await world.deps.origins.read([origin!])).values()],
    [{ ipAddress: from.ipAddress, userAgent: from.userAgent }],
  );
  const fault = async (email: string, password: string) =>
    login(world.deps, { email, password }, from).then(
      () => undefined,
      (refused: unknown) => refused,
    );
  t.equal(auditedPersonOf(await fault('ada@example.com', 'wrong password')), ada.userId);
  t.equal(auditedPersonOf(await fault('nobody@example.com', PASSWORD)), undefined);
});

void t.test('so do registering and what a link of a mail does', async (t) => {
  const world = await openWorld();
  const { deps } = world;
  const seenIn = async (stream: StreamName, type: string): Promise<unknown> => {
    const origin = (await recordedIn(deps, stream)).findLast(({ event }) => event.type === type)?.metadata.origin;
    return origin === undefined ? undefined : [...(await deps.origins.read([origin])).values()][0];
  };
  const called = { ipAddress: from.ipAddress, userAgent: from.userAgent };
  const userId = await makeUser(
    deps,
    { email: 'eve@example.com', password: PASSWORD, name: 'Eve' },
    { isVerified: false, from },
  );
  const stream = userStream(userId);
  t.strictSame(await seenIn(stream, 'UserRegistered'), called);
  const other = { ...from, ipAddress: '203.0.113.9' };
  const token = await makeVerifyLink(deps, userId, personalCause(deps, userId, other));
  await verifyAddress(deps, token, PASSWORD, other);
  t.strictSame(await seenIn(stream, 'UserAddressVerified'), { ...called, ipAddress: other.ipAddress });
});

type Recording = Readonly<{
  recorder: ReturnType<typeof openAuditRecorder>;
  logged: LogFields[];
  entries: (scope: string) => Promise<readonly AuditEntry[]>;
  /** Runs the worker until it is told to stop. */
  stop: () => Promise<void>;
}>;

const record = (world: World, deps: Pick<CommandNeeds, 'eventLog' | 'origins'> = world.deps): Recording => {
  const logged: LogFields[] = [];
  const log = (fields: LogFields): void => void logged.push(fields);
  const logger = { error: log, warn: log, info: log, debug: log } as unknown as Logger;
  const recorder = openAuditRecorder({ eventLog: deps.eventLog, origins: deps.origins, clock: world.clock, logger });
  const stopping = new AbortController();
  const running = recorder.worker.run(stopping.signal);
  return {
    recorder,
    logged,
    entries: async (scope) =>
      (await recordedIn(world.deps, auditStream(scope, monthOf(world)))).flatMap(
        (recorded) => auditEntryOf(recorded) ?? [],
      ),
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
};

const call = (actor: string, teamId: string = TEAM): AuditedCall => ({
  teamId,
  actor,
  requestId: 'request-9',
  calledFrom: () => callOrigin('192.0.2.7', 'curl/8.5.0'),
});

const recordedOnce = async (
  t: Test,
  recording: Recording,
  scope: string,
  count: number,
): Promise<readonly AuditEntry[]> => {
  await eventually('all is recorded', async () => (await recording.entries(scope)).length >= count);
  const entries = await recording.entries(scope);
  t.equal(entries.length, count);
  return entries;
};

void t.test('what people read, and where they are refused, is recorded each by itself', async (t) => {
  const world = await openWorld();
  const recording = record(world);
  t.teardown(recording.stop);
  recording.recorder.read(call(`user:${USER}`), 'email.read', 'email:1');
  recording.recorder.denied(call(`user:${USER}`), 'POST /api/api-keys', 'FORBIDDEN', null);
  recording.recorder.denied(call(`user:${USER}`, NO_TEAM), 'POST /api/auth/login', 'INVALID_CREDENTIALS', null);
  const [read, denied] = await recordedOnce(t, recording, TEAM, 2);
  t.match(read, {
    action: 'email.read',
    actor: { type: 'user', id: USER },
    target: { type: 'email', id: '1' },
    requestId: 'request-9',
  });
  t.match(denied, { result: 'denied', code: 'FORBIDDEN', detail: 'POST /api/api-keys' });
  t.equal((await world.deps.origins.read([read!.origin!])).size, 1);
  t.match(await recordedOnce(t, recording, USER, 1), [{ category: 'authentication', code: 'INVALID_CREDENTIALS' }]);
});

void t.test('what keys do is counted by the minute, and what is left is written at the stop', async (t) => {
  const world = await openWorld();
  const recording = record(world);
  for (let n = 0; n < 5; n += 1) recording.recorder.read(call('apiKey:key_1'), 'email.read', 'email:1');
  for (let n = 0; n < 3; n += 1)
    recording.recorder.denied(call('apiKey:key_1'), 'POST /api/api-keys', 'FORBIDDEN', null);
  recording.recorder.read(call('apiKey:key_2'), 'email.read', 'email:1');
  t.equal((await recording.entries(TEAM)).length, 0, 'the minute is not over');
  t.equal(recording.recorder.waiting(), 3);
  await world.clock.whenWaiting(1);
  await world.clock.advance(60_000);
  const entries = await recordedOnce(t, recording, TEAM, 3);
  t.strictSame(
    entries.map(({ actor, action, count, code }) => [actor.id, action, count, code]),
    [
      ['key_1', 'email.read', 5, null],
      ['key_1', 'calls.denied', 3, 'FORBIDDEN'],
      ['key_2', 'email.read', 1, null],
    ],
  );
  recording.recorder.read(call('apiKey:key_1'), 'email.read', 'email:1');
  await recording.stop();
  t.equal((await recording.entries(TEAM)).length, 4);
  t.equal(recording.recorder.waiting(), 0);
});

void t.test('one person has so many lines a minute, and the rest of them counted', async (t) => {
  const world = await openWorld();
  const recording = record(world);
  for (let n = 0; n < 100; n += 1)
    recording.recorder.denied(call(`user:${USER}`), 'GET /api/audit-logs', 'FORBIDDEN', null);
  await recording.stop();
  const entries = await recording.entries(TEAM);
  t.equal(entries.length, 61);
  t.match(entries.at(-1), { action: 'calls.denied', count: 40 });
});

void t.test('a person who looks through a hundred mails in a minute has an entry for each read', async (t) => {
  const world = await openWorld();
  const recording = record(world);
  const actions = ['email.read', 'email.timeline_read', 'email.content_read'];
  const open = (n: number): void => {
    for (const action of actions) recording.recorder.read(call(`user:${USER}`), action, `email:${n}`, true);
  };
  for (let n = 0; n < 100; n += 1) open(n);
  for (let n = 0; n < 60; n += 1)
    recording.recorder.denied(call(`user:${USER}`), 'GET /api/audit-logs', 'FORBIDDEN', null);
  await recordedOnce(t, recording, TEAM, 360);
  const entries = await recording.entries(TEAM);
  for (const action of actions)
    t.equal(new Set(entries.filter((entry) => entry.action === action).map(({ target }) => target?.id)).size, 100);
  t.ok(entries.every(({ count }) => count === 1));

  for (let n = 100; n < 450; n += 1) open(n);
  await recording.stop();
  const all = await recording.entries(TEAM);
  t.equal(all.length, 1_260 + actions.length, 'and beyond 1,200 in a quarter of an hour the reads are counted');
  t.match(
    all.slice(-3).map(({ action, count }) => [action, count]),
    actions.map((action) => [action, 50]),
  );
});

void t.test('looking at one thing again makes no entry within a quarter of an hour', async (t) => {
  const world = await openWorld();
  const recording = record(world);
  const read = (target: string, action = 'email.read', actor = `user:${USER}`) =>
    recording.recorder.read(call(actor), action, target, true);
  for (let n = 0; n < 70; n += 1) read('email:1');
  read('email:2');
  read('email:1', 'email.content_read');
  read('email:1', 'email.read', 'user:1c9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b22');
  await recordedOnce(t, recording, TEAM, 4);
  await world.clock.advance(14 * 60_000 + 59_000);
  read('email:1');
  read('email:3');
  await recordedOnce(t, recording, TEAM, 5);
  await world.clock.advance(1_000);
  read('email:1');
  await recording.stop();
  t.strictSame(
    (await recording.entries(TEAM)).map(({ target, count }) => [target?.id, count]),
    [
      ['1', 1],
      ['2', 1],
      ['1', 1],
      ['1', 1],
      ['3', 1],
      ['1', 1],
    ],
  );
});

void t.test('a restart, and another process, know which reads have an entry', async (t) => {
  const world = await openWorld();
  const first = record(world);
  // More than the first piece that a process reads from the end.
  for (let n = 0; n < 130; n += 1) first.recorder.denied(call(`user:${n}`), 'POST /api/api-keys', 'FORBIDDEN', null);
  first.recorder.read(call(`user:${USER}`), 'email.read', 'email:1', true);
  for (let n = 0; n < 130; n += 1) first.recorder.denied(call(`user:${n}`), 'POST /api/api-keys', 'FORBIDDEN', null);
  await recordedOnce(t, first, TEAM, 261);
  const second = record(world);
  t.teardown(second.stop);
  second.recorder.read(call(`user:${USER}`), 'email.read', 'email:1', true);
  second.recorder.read(call(`user:${USER}`), 'email.read', 'email:2', true);
  await recordedOnce(t, second, TEAM, 262);
  // The first process learns of the second one's entry when its append is refused.
  first.recorder.read(call(`user:${USER}`), 'email.read', 'email:2', true);
  first.recorder.read(call(`user:${USER}`), 'email.read', 'email:3', true);
  await first.stop();
  t.strictSame(
    (await first.entries(TEAM)).flatMap(({ action, target }) => (action === 'email.read' ? [target?.id] : [])),
    ['1', '2', '3'],
  );
});

void t.test('a month that begins knows the last reads of the month before', async (t) => {
  const world = await openWorld();
  const lastMinute = Date.parse('2030-01-31T23:59:30Z') - world.clock.now();
  await world.clock.advance(lastMinute);
  const first = record(world);
  first.recorder.read(call(`user:${USER}`), 'email.read', 'email:1', true);
  await first.stop();
  await world.clock.advance(60_000);
  const second = record(world);
  second.recorder.read(call(`user:${USER}`), 'email.read', 'email:1', true);
  second.recorder.read(call(`user:${USER}`), 'email.read', 'email:2', true);
  await second.stop();
  const inMonth = async (month: string) =>
    (await recordedIn(world.deps, auditStream(TEAM, month))).flatMap((one) => auditEntryOf(one)?.target?.id ?? []);
  t.strictSame([await inMonth('2030-01'), await inMonth('2030-02')], [['1'], ['2']]);
});

void t.test('in the next minute a person has lines of their own again', async (t) => {
  const world = await openWorld();
  const recording = record(world);
  for (let n = 0; n < 61; n += 1) recording.recorder.read(call(`user:${USER}`), 'email.read', 'email:1');
  await world.clock.whenWaiting(1);
  await world.clock.advance(60_000);
  await recordedOnce(t, recording, TEAM, 61);
  recording.recorder.read(call(`user:${USER}`), 'email.read', 'email:2');
  await recording.stop();
  t.match((await recording.entries(TEAM)).at(-1), { action: 'email.read', count: 1, target: { id: '2' } });
});

void t.test('a store that is away loses nothing that there is room for, and memory stays bounded', async (t) => {
  const world = await openWorld();
  let isAway = true;
  const eventLog: CommandNeeds['eventLog'] = {
    ...world.deps.eventLog,
    append: (...args) => (isAway ? Promise.reject(new StoreAway('away')) : world.deps.eventLog.append(...args)),
  };
  const recording = record(world, { eventLog, origins: { ...world.deps.origins, keep: async () => undefined } });
  for (let n = 0; n < 12_000; n += 1)
    recording.recorder.read(
      call(`user:0b9c2f5e-6d1a-4c0e-9f3b-${String(n).padStart(12, '0')}`, OTHER_TEAM),
      'email.read',
      `email:${n}`,
    );
  t.equal(recording.recorder.waiting(), 10_000);
  t.equal(recording.logged.length, 1, 'said once');
  await world.clock.whenWaiting(1);
  isAway = false;
  await world.clock.advance(1_000);
  await recording.stop();
  t.equal((await recording.entries(OTHER_TEAM)).length, 10_000);
});

void t.test(
  'a line whose answer was lost is written once, whether it had been written, is written later, or never',
  async (t) => {
    for (const fate of ['written', 'later', 'never'] as const) {
      const world = await openWorld();
      const { append } = world.deps.eventLog;
      const late: (() => Promise<unknown>)[] = [];
      let isFirst = true;
      const losing: typeof append = async (stream, version, events, cause) => {
        if (!isFirst) {
          await Promise.all(late.splice(0).map((write) => write()));
          return append(stream, version, events, cause);
        }
        isFirst = false;
        const eventIds = events.map((_, index) => `0b9c2f5e-6d1a-4c0e-9f3b-00000000000${index}`);
        const ids = eventIds.values();
        const write = () =>
          openEventLog({
            ...world.deps,
            store: world.store,
            keys: world.keys,
            ids: { ...world.deps.ids, uuid: () => ids.next().value! },
          }).append(stream, version, events, cause);
        if (fate === 'written') await write();
        if (fate === 'later') late.push(write);
        throw new AppendUnknown(stream, new Error('lost'), { after: version.revision, eventIds });
      };
      const eventLog = { ...world.deps.eventLog, append: losing };
      const recording = record(world, { eventLog, origins: { ...world.deps.origins, keep: async () => undefined } });
      for (const id of [1, 2]) recording.recorder.read(call(`user:${USER}`), 'email.read', `email:${id}`);
      await world.clock.whenWaiting(1);
      recording.recorder.read(call(`user:${USER}`), 'email.read', 'email:3');
      await world.clock.advance(1_000);
      await recording.stop();
      const read = (await recording.entries(TEAM)).map(({ target }) => target?.id);
      t.strictSame(read.toSorted(), ['1', '2', '3'], fate);
      t.equal(recording.recorder.waiting(), 0);
    }
  },
);

// An exported audit log is checked by itself: whole it is sound in both forms, and whatever is done to it is found.

const evil = '=HYPERLINK("http://evil.example")';
const calledFrom = (ipAddress: string, userAgent: string): Caller => ({
  ...caller,
  calledFrom: () => callOrigin(ipAddress, userAgent),
});
const never = new AbortController().signal;

const seal = (world: World, everyEvents = 7): Promise<number> =>
  sealOnce(
    { ...world.deps, store: world.store, limits: { ...world.deps.limits, ledgerSealEveryEvents: everyEvents } },
    never,
  );

/** Two teams at work, people, reads, and mails between; sealed in small segments, of which some have no entry. */
const story = async (): Promise<World> => {
  const world = await openWorld();
  await world.commands.createTemplate(caller, welcome);
  await signedIn(world.deps, { teamId: TEAM });
  for (let n = 0; n < 4; n += 1) {
    await world.commands.createApiKey(calledFrom(`192.0.2.${n}`, n === 1 ? evil : `curl "${n}", more`), {
      name: `key ${n}`,
      permissions: ['emails:send'],
    });
    await world.commands.createApiKey(stranger, { name: 'theirs', permissions: ['emails:send'] });
    await seal(world);
  }
  for (let n = 0; n < 12; n += 1) await world.commands.sendEmail(caller, simple());
  await seal(world);
  const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  const recorder = openAuditRecorder({ ...world.deps, logger: quiet as never });
  recorder.read(
    {
      teamId: TEAM,
      actor: 'user:0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21',
      requestId: 'r',
      calledFrom: () => callOrigin('::1', ''),
    },
    'email.read',
    'email:1',
  );
  const stop = new AbortController();
  stop.abort();
  await recorder.worker.run(stop.signal);
  await seal(world);
  return world;
};

type Made = Readonly<{ text: string; exported: Exported }>;

const exportOf = async (world: World, format: 'jsonl' | 'csv', period = {}, teamId = TEAM): Promise<Made> => {
  let exported: Exported | undefined;
  const pieces: string[] = [];
  const deps = { ...world.deps, store: world.store };
  for await (const piece of await openAuditExport(
    deps,
    { teamId, format },
    period,
    async (made) => void (exported = made),
  ))
    pieces.push(piece);
  return { text: pieces.join(''), exported: exported! };
};

const check = (text: string, cut = 1_000): Promise<CheckedExport | ExportFinding> =>
  checkExport(
    (async function* () {
      for (let at = 0; at < text.length; at += cut) yield text.slice(at, at + cut);
    })(),
  );

const sound = async (t: Test, { text, exported }: Made): Promise<CheckedExport> => {
  const result = await check(text);
  if ('line' in result) throw new Error(`line ${result.line} ${result.message}`);
  t.equal(result.entries, exported.entries);
  t.equal(result.root, exported.root);
  return result;
};

void t.test('both forms are sound, have the same entries, and the seals of the ledger', async (t) => {
  const world = await story();
  const json = await exportOf(world, 'jsonl');
  const csv = await exportOf(world, 'csv');
  const checked = await sound(t, json);
  t.strictSame((await sound(t, csv)).seals, checked.seals);
  const entries = json.text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const parsed = JSON.parse(line) as {
        kind: string;
        entry?: { action: string; network: string | null; agent: string | null };
      };
      return parsed.kind === 'entry' ? [parsed.entry!] : [];
    });
  t.strictSame(
    entries.map(({ action }) => action),
    [
      'team.created',
      'template.created',
      'template.published',
      'user.registered',
      'member.added',
      'session.started',
      ...Array<string>(4).fill('api_key.created'),
      'email.read',
    ],
  );
  t.match(entries[7], { network: '192.0.2.1', agent: evil });
  t.ok(csv.text.includes(`"'=HYPERLINK(""http://evil.example"")"`), 'a cell that begins like a formula is none');
  t.notOk(json.text.includes('theirs'), 'nothing of another team');
  let head = 0;
  for await (const { events } of world.store.readAll(0))
    for (const event of events)
      if (event.type === 'LedgerSealed.v1') head = (JSON.parse(event.data) as { position: number }).position;
  t.equal(json.exported.upTo, head);
  t.equal([...checked.seals.keys()].at(-1), head);
});

void t.test('a period has its own entries and no more, and an empty log is a sound export too', async (t) => {
  const world = await story();
  await world.clock.advance(10 * 86_400_000);
  await world.commands.createApiKey(caller, { name: 'late', permissions: ['emails:send'] });
  await seal(world);
  const now = world.clock.now();
  const late = await exportOf(world, 'jsonl', { from: new Date(now - 60_000).toISOString() });
  t.equal((await sound(t, late)).entries, 1);
  t.ok(late.text.includes('late'));
  const early = await exportOf(world, 'jsonl', { to: new Date(now - 60_000).toISOString() });
  t.equal((await sound(t, early)).entries, 11);
  const none = await exportOf(await openWorld(), 'csv');
  t.equal((await sound(t, none)).entries, 0);
  t.equal((await sound(t, await exportOf(world, 'jsonl', {}, OTHER_TEAM))).entries, 5);
});

void t.test('more than one export takes is refused before anything is read', async (t) => {
  const world = await story();
  const deps = { ...world.deps, store: world.store, limits: { ...world.deps.limits, auditExportEventsMax: 20 } };
  const refused = await openAuditExport(deps, { teamId: TEAM, format: 'jsonl' }, {}, async () => {}).catch(
    (fault: unknown) => fault,
  );
  t.ok(refused instanceof DomainError && refused.code === 'AUDIT_EXPORT_TOO_LARGE');
});

void t.test('what is not sealed yet waits for the next export', async (t) => {
  const world = await story();
  await world.commands.createApiKey(caller, { name: 'unsealed', permissions: ['emails:send'] });
  t.equal((await sound(t, await exportOf(world, 'jsonl'))).entries, 11);
  await seal(world);
  t.equal((await sound(t, await exportOf(world, 'jsonl'))).entries, 12);
});

void t.test('seals of a copied log name other positions: then events are counted', async (t) => {
  const world = await story();
  await world.clock.advance(10 * 86_400_000);
  await world.commands.createApiKey(caller, { name: 'late', permissions: ['emails:send'] });
  await seal(world);
  const from = new Date(world.clock.now() - 60_000).toISOString();
  const expected = await exportOf(world, 'jsonl', { from });
  const moved: World['store'] = {
    ...world.store,
    readAll: async function* (after: number, options: Parameters<World['store']['readAll']>[1]) {
      for await (const { events, position } of world.store.readAll(
        Math.max(0, Math.ceil((after - 1_000) / 3)),
        options,
      ))
        yield {
          events: events.map((event) => ({ ...event, position: 1_000 + 3 * event.position })),
          position: 1_000 + 3 * position,
        };
    },
  } as World['store'];
  t.equal((await exportOf({ ...world, store: moved }, 'jsonl', { from })).text, expected.text);
});

const isFound = (result: CheckedExport | ExportFinding): result is ExportFinding => 'line' in result;

void t.test('a line that is changed, taken out, moved or added is found, and named', async (t) => {
  const world = await story();
  for (const format of ['jsonl', 'csv'] as const) {
    const { text } = await exportOf(world, format);
    const end = format === 'csv' ? '\r\n' : '\n';
    const lines = text.split(end).slice(0, -1);
    const first = format === 'csv' ? 1 : 0;
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: first, max: lines.length - 1 }),
        fc.integer({ min: first, max: lines.length - 1 }),
        fc.constantFrom('change', 'drop', 'swap', 'repeat'),
        fc.nat(),
        async (at, other, how, pick) => {
          const changed = [...lines];
          let expected = at;
          switch (how) {
            case 'change': {
              const place = pick % changed[at]!.length;
              const letter = changed[at]![place] === '7' ? '8' : '7';
              changed[at] = `${changed[at]!.slice(0, place)}${letter}${changed[at]!.slice(place + 1)}`;
              break;
            }
            case 'drop':
              changed.splice(at, 1);
              break;
            case 'swap':
              if (at === other) return;
              [changed[at], changed[other]] = [changed[other]!, changed[at]!];
              expected = Math.min(at, other);
              break;
            case 'repeat':
              changed.splice(at, 0, changed[at]!);
              expected = at + 1;
              break;
          }
          const result = await check(changed.join(end) + end, 333);
          if (!isFound(result)) throw new Error('not found');
          if (result.line !== expected + 1)
            throw new Error(`line ${result.line}, not ${expected + 1}: ${result.message}`);
        },
      ),
      { numRuns: 120 },
    );
    t.pass(format);
  }
});

/** As somebody does it who knows how the chain is made: all links are made anew. */
const relinked = (lines: readonly Readonly<Record<string, unknown>>[]): string => {
  let chain = CHAIN_START;
  return lines
    .map((line) => {
      const { chain: _chain, ...rest } = line;
      const body = JSON.stringify(rest);
      chain = chainAfter(chain, body);
      return `${body.slice(0, -1)},"chain":"${chain}"}\n`;
    })
    .join('');
};

type Line = Record<string, unknown> & {
  kind: string;
  entry: Record<string, unknown>;
  event: Record<string, string>;
  entries: number;
};

void t.test(
  'who makes the chain of the file anew is found by what the events say, by the proof, or by the noted roots',
  async (t) => {
    const world = await story();
    const { text, exported } = await exportOf(world, 'jsonl');
    const parse = (): Line[] =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line);
    const entryAt = parse().findIndex(({ kind, entry }) => kind === 'entry' && entry['action'] === 'api_key.created');
    const tampered = async (change: (lines: Line[]) => void): Promise<CheckedExport | ExportFinding> => {
      const lines = parse();
      change(lines);
      return check(relinked(lines));
    };
    t.strictSame(await tampered(() => {}), await check(text), 'untouched it is sound');
    t.match(await tampered((lines) => (lines[entryAt]!.entry['action'] = 'email.read')), {
      line: entryAt + 1,
      message: /another `action`/,
    });
    t.match(await tampered((lines) => (lines[entryAt]!.entry['actor'] = { type: 'system', id: null })), {
      line: entryAt + 1,
      message: /`actor`/,
    });
    const inEvent = await tampered((lines) => {
      lines[entryAt]!.event['metadata'] = lines[entryAt]!.event['metadata']!.replace('apiKey:key_1', 'apiKey:key_2');
      lines[entryAt]!.entry['actor'] = { type: 'api_key', id: 'key_2' };
    });
    t.match(inEvent, { message: /proves another entry than the \d+\. of those before it/ });
    const dropped = await tampered((lines) => {
      lines.splice(entryAt, 1);
      lines.at(-1)!.entries -= 1;
    });
    t.match(dropped, { message: /proves/ });
    const truncated = await tampered((lines) => lines.splice(-1));
    t.match(truncated, { message: /has no end/ });
    // The network of a caller is covered by the chain of the file only: the root of the export shows the change.
    const network = await tampered((lines) => (lines[entryAt]!.entry['network'] = '10.0.0.1'));
    t.notOk(isFound(network));
    t.not((network as CheckedExport).root, exported.root);
  },
);

void t.test('the log names the export by its root', async (t) => {
  const world = await story();
  const { exported } = await exportOf(world, 'csv');
  await world.commands.recordAuditExport(caller, { format: 'csv' }, exported);
  const month = new Date(world.clock.now()).toISOString().slice(0, 7);
  t.match((await world.events(auditStream(TEAM, month))).at(-1), {
    type: 'AuditLogExported',
    data: { ...exported, format: 'csv', from: null },
  });
});
