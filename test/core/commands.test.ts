/** How a command runs: repetition after a conflict, idempotency keys. */
import { createHash } from 'node:crypto';
import t from 'tap';
import type { SendEmailRequest } from '../../src/api/email.js';
import type { CreateAttachmentTemplateRequest } from '../../src/api/templates/templates.js';
import { handle, loadState } from '../../src/commands/core/handle.js';
import { isSameBody } from '../../src/commands/core/idempotency.js';
import { loadAttachments } from '../../src/commands/documents/attachments.js';
import { DomainError, WrongExpectedRevision } from '../../src/domain/core/errors.js';
import { type StreamName, emailStream, assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import type { DomainEvent } from '../../src/domain/events.js';
import type { LedgerEvent } from '../../src/domain/teams/events.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import {
  openWorld,
  caller,
  simple,
  stranger,
  welcome,
  withTemplate,
  commandsOfTest,
} from '../support/command-world.js';
import { T0, TEAM_ID } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator } from '../support/recording-generator.js';
import { eventually } from '../support/wait.js';

// Load, fold, decide, append: what happens when two decide at once.

/** A counter that may not go beyond 20: the smallest decider that can be wrong. */
const counter = {
  decide: (by: number, count: number): readonly LedgerEvent[] => {
    if (count + by > 20) throw new DomainError('CONFLICT', 'full');
    return by === 0 ? [] : [{ type: 'LedgerSealed', data: { at: T0, position: by, count: 0, root: '' } }];
  },
  evolve: (count: number, event: LedgerEvent) => (event.type === 'LedgerSealed' ? count + event.data.position : count),
  initialState: 0,
};
const stream = 'counter-1' as StreamName;
const cause = { teamId: TEAM_ID, actor: 'test', correlationId: 'c', causationId: 'c', at: T0 };

void t.test('whoever loses decides again on what the other wrote', async (t) => {
  const { deps } = await openWorld();
  const results = await Promise.allSettled(
    Array.from({ length: 7 }, () => handle(deps.eventLog, stream, counter, 3, cause)),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 6);
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { code: 'CONFLICT' } },
    'the seventh would be too much',
  );
  t.equal((await loadState(deps.eventLog, stream, counter)).state, 18);
});

void t.test('the answer is the state after, with its end, its team and its events', async (t) => {
  const { deps } = await openWorld();
  const first = await handle(deps.eventLog, stream, counter, 5, cause);
  t.match(first, { state: 5, version: { revision: 0 }, teamId: TEAM_ID, events: [{ data: { position: 5 } }] });
  t.match(await handle(deps.eventLog, stream, counter, 0, { ...cause, teamId: 'other' }), {
    state: 5,
    version: { revision: first.version.revision, hash: first.version.hash },
    teamId: TEAM_ID,
    events: [],
  });
  t.match(
    await handle(deps.eventLog, stream, counter, 2, { ...cause, teamId: 'other' }),
    { state: 7, version: { revision: 1 }, teamId: TEAM_ID },
    'a stream belongs to the team of its first event',
  );
});

void t.test('the guard looks before each decision', async (t) => {
  const { deps, store } = await openWorld();
  await handle(deps.eventLog, stream, counter, 1, cause);
  const seen: number[] = [];
  store.beforeAppend(async () => {
    store.beforeAppend(undefined);
    await handle(deps.eventLog, stream, counter, 1, cause);
  });
  await handle(deps.eventLog, stream, counter, 1, cause, ({ state }) => void seen.push(state));
  t.same(seen, [1, 2]);
  await t.rejects(
    handle(deps.eventLog, stream, counter, 1, cause, () => {
      throw new DomainError('FORBIDDEN', 'no');
    }),
    { code: 'FORBIDDEN' },
  );
  t.equal((await loadState(deps.eventLog, stream, counter)).state, 3);
});

void t.test('it gives up where others are faster every time, and passes on what is no conflict', async (t) => {
  const { deps } = await openWorld();
  let appends = 0;
  const losing = (fault: Error): EventLog => ({
    ...deps.eventLog,
    append: () => {
      appends += 1;
      return Promise.reject(fault);
    },
  });
  await t.rejects(handle(losing(new WrongExpectedRevision(stream, -1, 0)), stream, counter, 1, cause), {
    code: 'CONFLICT',
  });
  t.equal(appends, 9);
  appends = 0;
  await t.rejects(handle(losing(new Error('disk full')), stream, counter, 1, cause), { message: 'disk full' });
  t.equal(appends, 1);
});

// The promise of an Idempotency-Key on a send call: one email, and one answer for ever.

const idOf = (id: string) => assertDefined(parseEmailId(id), 'email id');
const attachment = {
  filename: 'a.bin',
  content: Buffer.alloc(10).toString('base64'),
  contentType: 'application/octet-stream',
};

const keyed = (body: SendEmailRequest, key = 'key-1') => ({ key, body });
const queuedEvents = (events: readonly { type: string }[]) =>
  events.filter(({ type }) => type.startsWith('EmailQueued') || type.startsWith('EmailScheduled')).length;

void t.test(
  'the same key and body is answered with the same bytes, however often and whatever became of the email',
  async (t) => {
    const world = await withTemplate();
    const { commands, clock } = world;
    const request = simple();
    const first = await commands.sendEmail(caller, request, keyed(request));
    t.equal(first.replayed, false);
    const bytes = JSON.stringify(first.body);
    const again = async (what: string): Promise<void> => {
      const answer = await commands.sendEmail(caller, request, keyed({ ...request }));
      t.equal(answer.replayed, true, what);
      t.equal(JSON.stringify(answer.body), bytes, what);
    };
    await again('at once');
    await clock.advance(3_600_000);
    await again('an hour later');
    await commands.deleteTemplate(caller, 'welcome');
    await again('after the template is deleted');
    await commands.deleteEmail(caller, idOf(first.body.id));
    t.same(world.keys.ids(), []);
    await again('after the email is deleted and its key destroyed');
    const later = await commandsOfTest(world.elsewhere()).sendEmail(caller, request, keyed(request));
    t.same(later, { body: first.body, replayed: true }, 'by another process');
    t.equal(queuedEvents(world.store.events), 1);
  },
);

void t.test('the same key with another body is refused; other keys, teams and no key make other emails', async (t) => {
  const world = await withTemplate();
  const { commands } = world;
  await commands.createTemplate(stranger, welcome);
  const request = simple();
  const { body } = await commands.sendEmail(caller, request, keyed(request));
  await refusedWith(
    t,
    commands.sendEmail(caller, simple({ tags: ['other'] }), keyed(simple({ tags: ['other'] }))),
    'IDEMPOTENCY_KEY_REUSED',
  );
  await refusedWith(
    t,
    commands.sendEmail(caller, simple({ to: [] }), keyed(simple({ to: [] }))),
    'IDEMPOTENCY_KEY_REUSED',
  );
  const others = [
    await commands.sendEmail(caller, request, keyed(request, 'key-2')),
    await commands.sendEmail(stranger, request, keyed(request)),
    await commands.sendEmail(caller, request),
    await commands.sendEmail(caller, request),
  ];
  t.ok(others.every(({ replayed }) => !replayed));
  t.equal(new Set([body.id, ...others.map((answer) => answer.body.id)]).size, 5);
});

void t.test(
  'the fingerprint is no plain hash: nothing of the body or the key can be guessed from the log',
  async (t) => {
    const world = await withTemplate();
    const request = simple();
    await world.commands.sendEmail(caller, request, keyed(request));
    const event = world.store.events.at(-1)!;
    for (const text of ['key-1', JSON.stringify(request)])
      t.notOk(event.data.includes(createHash('sha256').update(text).digest('hex')));
  },
);

void t.test('a request that was refused leaves its key free', async (t) => {
  const { commands } = await withTemplate();
  await refusedWith(
    t,
    commands.sendEmail(caller, simple({ variables: {} }), keyed(simple({ variables: {} }))),
    'VALIDATION_ERROR',
  );
  t.equal((await commands.sendEmail(caller, simple(), keyed(simple()))).replayed, false);
});

void t.test('of many at once with one key one wins, and the others replay its answer', async (t) => {
  const world = await withTemplate();
  const request = simple({ attachments: [attachment] });
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => world.commands.sendEmail(caller, request, keyed(request))),
  );
  t.equal(answers.filter(({ replayed }) => !replayed).length, 1);
  t.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1);
  t.equal(queuedEvents(world.store.events), 1);
  t.equal(world.files.stored.size, 1, 'the files of those who lost are gone');
  const key = await world.deps.eventLog.existingKey(emailStream(idOf(answers[0]!.body.id)));
  const [event] = (await world.events(emailStream(idOf(answers[0]!.body.id)))) as [
    Extract<DomainEvent, { type: 'EmailQueued' }>,
  ];
  t.equal((await loadAttachments(world.files, key!, event.sealed!.attachments))![0]!.bytes.length, 10);
});

void t.test('of two at once with one key and different bodies one is refused', async (t) => {
  const world = await withTemplate();
  const [a, b] = [simple(), simple({ tags: ['b'] })];
  const results = await Promise.allSettled([
    world.commands.sendEmail(caller, a, keyed(a)),
    world.commands.sendEmail(caller, b, keyed(b)),
  ]);
  t.same(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  t.match(
    results.find(({ status }) => status === 'rejected'),
    { reason: { code: 'IDEMPOTENCY_KEY_REUSED' } },
  );
});

const invoice: CreateAttachmentTemplateRequest = {
  slug: 'invoice',
  name: 'Invoice',
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'p',
        pageName: 'Page',
        sections: [{ id: 's', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Due</p>' }] }],
      },
    ],
  },
  publish: true,
};

const openGate = () => {
  let resolve: () => void = () => undefined;
  let reject: (fault: Error) => void = () => undefined;
  const promise = new Promise<void>((done, failed) => ([resolve, reject] = [done, failed]));
  return { promise, resolve: () => resolve(), reject: (fault: Error) => reject(fault) };
};

/** A world whose documents are made only when the test says so. */
const withHeldDocuments = async () => {
  const world = await withTemplate();
  const generator = recordingGenerator();
  const gate = openGate();
  const deps = {
    ...world.deps,
    generator: {
      ...generator,
      make: async (...args: Parameters<typeof generator.make>) => {
        const document = await generator.make(...args);
        await gate.promise;
        return document;
      },
    },
  };
  const commands = commandsOfTest(deps);
  await commands.createAttachmentTemplate(caller, invoice);
  return { ...world, commands, made: generator.made, gate };
};

void t.test('of 50 identical calls with a document at once one makes it, and all get its answer', async (t) => {
  const { commands, store, files, made, gate } = await withHeldDocuments();
  const request = simple({ attachments: [{ attachmentTemplateId: 'invoice' }] });
  const sending = Promise.all(Array.from({ length: 50 }, () => commands.sendEmail(caller, request, keyed(request))));
  await eventually('the document is asked for', () => made.length > 0);
  gate.resolve();
  const answers = await sending;
  t.equal(made.length, 1, 'documents made');
  t.equal(answers.filter(({ replayed }) => !replayed).length, 1);
  t.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1);
  t.equal(queuedEvents(store.events), 1);
  t.equal(files.stored.size, 1);
});

void t.test(
  'what the call under way is refused with, the joined ones are refused with; another body then has its turn',
  async (t) => {
    const { commands, made, gate } = await withHeldDocuments();
    const request = simple({ attachments: [{ attachmentTemplateId: 'invoice' }] });
    const other = simple();
    const sending = Promise.allSettled([
      commands.sendEmail(caller, request, keyed(request)),
      commands.sendEmail(caller, request, keyed(request)),
      commands.sendEmail(caller, other, keyed(other)),
    ]);
    await eventually('the document is asked for', () => made.length > 0);
    gate.reject(new DomainError('GENERATOR_BUSY', 'busy'));
    const [first, second, third] = await sending;
    t.match(first, { status: 'rejected', reason: { code: 'GENERATOR_BUSY' } });
    t.match(second, { status: 'rejected', reason: { code: 'GENERATOR_BUSY' } });
    t.match(third, { status: 'fulfilled', value: { replayed: false } });
    t.equal(made.length, 1);
  },
);

void t.test('the same body is the same value: its members may come in another order', async (t) => {
  const { commands } = await withTemplate();
  const request = simple({ metadata: { a: 1, b: [{ c: null, d: 1e2 }] } });
  const reordered = JSON.parse(
    '{"metadata":{"b":[{"d":100,"c":null}],"\\u0061":1.0},"variables":{"name":"Ann"},"to":[{"email":"ann@example.org"}],"templateId":"welcome"}',
  ) as SendEmailRequest;
  const first = await commands.sendEmail(caller, request, keyed(request));
  t.same(await commands.sendEmail(caller, reordered, keyed(reordered)), { body: first.body, replayed: true });
});

void t.test('an event that holds the fingerprint of the members as they came is replayed for that order', async (t) => {
  const world = await withTemplate();
  const body = simple();
  const deps = {
    ...world.deps,
    keys: { fingerprint: (purpose: string, text: string | Uint8Array) => `${purpose}: ${text}` },
  };
  t.ok(isSameBody(deps.keys, `idempotency: ${JSON.stringify(body)}`, keyed(body)));
  t.notOk(isSameBody(deps.keys, `idempotency: ${JSON.stringify(simple({ tags: ['a'] }))}`, keyed(body)));
  t.notOk(isSameBody(deps.keys, undefined, keyed(body)));
});
