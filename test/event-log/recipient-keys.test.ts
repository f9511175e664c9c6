/**
 * An email with several recipients: what belongs to one of them alone is sealed under a key of that recipient, and goes
 * with it.
 */
import t from 'tap';
import { openEventLog, startOf, type Cause, type EventLog } from '../../src/event-log/event-log.js';
import { codec } from '../../src/event-log/codec.js';
import { decodeMetadata, isCertainlyMetadata } from '../../src/event-log/hash-chain.js';
import { openApart, sealApart } from '../../src/event-log/encode.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import type { DomainEvent, Recorded } from '../../src/domain/events.js';
import { assertDefined, emailStream, parseEmailId } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import {
  accepted,
  at,
  attempted,
  content,
  EMAIL_ID,
  queued,
  queuedFor,
  sent,
  T0,
  TEAM_ID,
} from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { goldenEvent } from '../support/golden-events.js';
import { matchesGolden } from '../support/golden.js';
import { countingIds, memoryEventStore, memoryFiles, memoryKeys } from '../support/memory-ports.js';

const stream = emailStream(assertDefined(parseEmailId(EMAIL_ID), 'email id'));
const cause: Cause = {
  teamId: TEAM_ID,
  actor: 'apiKey:key_1',
  correlationId: 'request-1',
  causationId: 'cause-1',
  at: T0,
};
const outcomes = sent(1, at(2), [0, 'accepted'], [1, 'accepted'], [2, 'bounced']);
const opened: EmailEvent = {
  type: 'EmailOpened',
  data: { at: at(9), recipient: 1, machine: false },
  sealed: { userAgent: 'Agent of Bob', ipAddress: '192.0.2.7' },
};
const history: readonly EmailEvent[] = [queued, attempted(1, at(1)), outcomes, opened];

const world = (inlineBytesMax = 4_000) => {
  const ports = {
    store: memoryEventStore(),
    keys: memoryKeys(),
    files: memoryFiles(),
    ids: countingIds(),
    clock: fakeClock(),
    limits: { ...defaultLimits, eventPayloadInlineBytesMax: inlineBytesMax },
  };
  const open = (): EventLog => openEventLog(ports);
  return { ...ports, eventLog: open(), open };
};

const eventsOf = (recorded: readonly Recorded[]): readonly DomainEvent[] => recorded.map(({ event }) => event);
const without = (events: readonly EmailEvent[], erased: readonly number[]): readonly unknown[] =>
  events.map((event) => {
    const isGone = (place: number): boolean => erased.includes(place);
    if (event.type === 'EmailQueued')
      return {
        ...event,
        sealed: {
          ...event.sealed,
          recipients: event.sealed!.recipients.map((one, place) => (isGone(place) ? null : one)),
        },
      };
    if (event.type === 'EmailSent') {
      const { data, sealed } = event;
      return {
        ...event,
        sealed: {
          replies: sealed!.replies.map((reply, index) => (isGone(data.outcomes[index]!.recipient) ? null : reply)),
        },
      };
    }
    return event.type === 'EmailOpened' && isGone(event.data.recipient) ? { ...event, sealed: undefined } : event;
  });

void t.test('with the key of one recipient destroyed the rest is read as before, by envelope and whole', async (t) => {
  const { eventLog, open, keys } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  t.strictSame(keys.ids(), ['1', '2', '3', '4']);
  t.strictSame(eventsOf(await open().load(stream)), history);
  await eventLog.destroyRecipientKeys(stream, [1]);
  await eventLog.destroyRecipientKeys(stream, [1, 7]);
  t.strictSame(keys.ids(), ['1', '2', '4']);
  for (const reader of [eventLog, open()]) {
    t.strictSame(eventsOf(await reader.load(stream)), without(history, [1]));
    const [first] = eventsOf(await reader.load(stream, 0, ['EmailQueued']));
    const { from, recipients, subject, metadata } = content;
    t.strictSame(first, {
      ...queued,
      sealed: { from, subject, metadata, recipients: [recipients[0], null, recipients[2]] },
    });
    t.same(
      (await reader.load(stream, 0, [])).map(({ metadata: { recipientKeys } }) => recipientKeys),
      history.map(() => ['2', '3', '4']),
    );
  }
  await eventLog.destroyRecipientKeys(stream, [0, 2]);
  t.strictSame(eventsOf(await open().load(stream)), without(history, [0, 1, 2]));
  await eventLog.destroyKey(stream);
  t.strictSame(keys.ids(), []);
});

void t.test('with the key of the email all of it goes, whatever keys of recipients are still there', async (t) => {
  const { eventLog, open, keys } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  await keys.destroy(['1']);
  t.strictSame(
    eventsOf(await open().load(stream)),
    history.map((event) => ('sealed' in event ? { ...event, sealed: undefined } : event)),
  );
  await eventLog.destroyKey(stream);
  t.strictSame(keys.ids(), [], 'and all keys of the stream go with it');
});

void t.test(
  'what is appended after a key is destroyed says nothing of its recipient, to the writer neither',
  async (t) => {
    const { eventLog, open, keys } = world();
    const tail = await eventLog.append(stream, startOf(stream), history.slice(0, 2), cause);
    t.strictSame(tail.recipientKeys, ['2', '3', '4']);
    await eventLog.destroyRecipientKeys(stream, [1]);
    const end = await eventLog.append(stream, tail, history.slice(2), cause);
    t.strictSame(end.recipientKeys, ['2', '3', '4']);
    t.strictSame(keys.ids(), ['1', '2', '4'], 'no second key is made');
    for (const reader of [eventLog, open()]) t.strictSame(eventsOf(await reader.load(stream)), without(history, [1]));
  },
);

void t.test('nothing of a recipient can be opened with any other key of the email', async (t) => {
  const { eventLog, store, keys } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  const all = await keys.getMany(['1', '2', '3', '4']);
  const [first] = store.events;
  for (const id of ['1', '2', '4']) {
    const key = assertDefined(all.get(id), 'key');
    const opened = openApart(
      { shared: assertDefined(all.get('1'), 'key'), own: () => undefined },
      first!.sealed!,
      first!,
      'whole',
    );
    t.same([...(typeof opened === 'object' ? opened.own : [])], []);
    t.throws(() =>
      openApart({ shared: key, own: (place) => (place === 1 ? key : undefined) }, first!.sealed!, first!, 'whole'),
    );
  }
  const bytes = Buffer.concat(store.events.map(({ sealed }) => Buffer.from(sealed ?? []))).toString('latin1');
  for (const personal of ['ann@', 'bob@', 'Ann', 'Agent of', 'Order 17']) t.notOk(bytes.includes(personal), personal);
});

void t.test('a piece that was cut out, exchanged or damaged is a fault, not somebody who is erased', async (t) => {
  const { eventLog, store, open } = world();
  await eventLog.append(stream, startOf(stream), history, cause);
  const first = store.events[0]!;
  const sealed = Buffer.from(first.sealed!);
  const lengths: number[] = [];
  for (let from = 1; from < sealed.length; from += lengths.at(-1)!) lengths.push(6 + sealed.readUInt32BE(from + 2));
  t.equal(lengths.length, 4, 'what belongs to all, and three recipients');
  const pieces = lengths.map((length, index) => {
    const from = 1 + lengths.slice(0, index).reduce((sum, one) => sum + one, 0);
    return sealed.subarray(from, from + length);
  });
  const [shared, ann, bob, cyd] = pieces as [Buffer, Buffer, Buffer, Buffer];
  const moved = Buffer.from(ann);
  moved.writeUInt16BE(1, 0);
  const head = Buffer.from([3]);
  const cases: readonly (readonly [string, readonly Buffer[]])[] = [
    ['one is missing', [head, shared, ann, cyd]],
    ['what belongs to all is missing', [head, ann, bob, cyd]],
    ['one stands for another', [head, shared, ann, moved, cyd]],
    ['one is there twice', [head, shared, ann, bob, bob, cyd]],
    ['the end is cut off', [head, shared, ann, bob, cyd.subarray(0, -1)]],
    ['a head is cut off', [head, shared, ann, bob, cyd, Buffer.from([0, 1])]],
    ['all is missing', [head]],
  ];
  for (const [what, parts] of cases) {
    store.events[0] = { ...first, sealed: Buffer.concat(parts) };
    await t.rejects(open().load(stream), { code: 'EVENT_UNREADABLE' }, what);
  }
  store.events[0] = { ...first, sealed: Buffer.concat([head, cyd, shared, bob, ann]) };
  t.strictSame(eventsOf(await open().load(stream)), history, 'the order of pieces says nothing');
});

void t.test('an email to one recipient has one key, and stands in the log as ever', async (t) => {
  const { eventLog, store, keys, open } = world();
  const one: EmailEvent = {
    ...queuedFor('to'),
    sealed: { ...content, recipients: content.recipients.slice(0, 1) },
  } as EmailEvent;
  const tail = await eventLog.append(stream, startOf(stream), [one], cause);
  t.strictSame(keys.ids(), ['1']);
  t.notOk('recipientKeys' in tail);
  t.equal(store.events[0]!.sealed![0], 2);
  t.notMatch(store.events[0]!.metadata, 'recipientKeys');
  t.strictSame(eventsOf(await open().load(stream)), [one]);
});

void t.test('a key that was made before for its files seals what belongs to all', async (t) => {
  const { eventLog, keys, open } = world();
  const { id } = await eventLog.newKey();
  await eventLog.append(stream, startOf(stream, id), history, cause);
  const [first] = await open().load(stream);
  t.match(first!.metadata, { keyId: id, recipientKeys: ['2', '3', '4'] });
  t.equal(keys.ids().length, 4);
});

void t.test('what is too large for an event stands in a file, apart as well', async (t) => {
  const { eventLog, open, store } = world(1_000);
  const large: EmailEvent = { type: 'EmailQueued', data: accepted, sealed: { ...content, subject: 'x'.repeat(5_000) } };
  await eventLog.append(stream, startOf(stream), [large], cause);
  t.equal(store.events[0]!.sealed, undefined);
  await eventLog.destroyRecipientKeys(stream, [0]);
  t.strictSame(eventsOf(await open().load(stream)), without([large], [0]));
});

void t.test('the names of the keys are read without parsing where nothing is odd about them', async (t) => {
  const { eventLog, store } = world();
  await eventLog.append(stream, startOf(stream), history, { ...cause, fence: 7 });
  for (const { metadata } of store.events) t.ok(isCertainlyMetadata(metadata), metadata);
  const { metadata } = store.events[0]!;
  for (const odd of ['["2"', '"2"', '[2]', '[]', '{}', '["2",]', '["a\\\\b"]']) {
    const text = metadata.replace('["2","3","4"]', odd);
    t.notOk(isCertainlyMetadata(text), odd);
  }
  for (const odd of ['"2"', '[2]', '{}', 'null'])
    t.throws(() => decodeMetadata(metadata.replace('["2","3","4"]', odd)), odd);
});

/** The stored form, which never changes: the texts of the parts, and their order in the sealed bytes. */
void t.test('what is sealed apart is, byte for byte, what is in the golden file', async (t) => {
  const types = [
    'EmailQueued',
    'EmailScheduled',
    'CopyAnswered',
    'EmailSent',
    'EmailDeferred',
    'EmailBounced',
    'EmailFailed',
  ];
  const names = [...types, 'EmailBounceReported', 'EmailOpened', 'EmailClicked', 'EmailRescheduled'];
  const plainKey = {
    seal: (text: string | Uint8Array, context: string) => Buffer.from(`(${context})${text}`),
    open: () => Buffer.alloc(0),
  };
  const place = { stream, eventId: '00000000-0000-7000-8000-000000000001' };
  const told: Record<string, unknown> = {};
  for (const name of names) {
    const event = goldenEvent(`${name}.v1`);
    const { data, sealed, apart } = codec.encodeApart(event);
    if (apart === undefined) {
      told[name] = sealed;
      continue;
    }
    t.equal(sealed, undefined);
    t.strictSame(codec.decode(`${name}.v1`, data, apart), event, name);
    told[name] = { shared: apart.shared, own: Object.fromEntries(apart.own) };
    if (name === 'EmailSent')
      told['sealed'] = sealApart({ shared: plainKey, own: () => plainKey }, apart, place).toString('hex');
  }
  matchesGolden(t, 'events-apart/pieces.json', `${JSON.stringify(told, undefined, 2)}\n`);
});

void t.test('what another process has erased is not told from memory', async (t) => {
  const { open } = world();
  const [writer, eraser] = [open(), open()];
  void (async () => {
    for await (const { events } of writer.subscribeAll(0, { signal: new AbortController().signal }))
      if (events.length === 0) throw new Error('an empty batch');
  })();
  const tail = await writer.append(stream, startOf(stream), history, cause);
  t.strictSame(eventsOf(await writer.load(stream)), history);
  const erased: EmailEvent = { type: 'RecipientsErased', data: { at: T0, recipients: [1], priority: 'normal' } };
  await eraser.append(stream, tail, [erased], cause);
  await eraser.destroyRecipientKeys(stream, [1]);
  t.strictSame(eventsOf(await writer.load(stream)), [...without(history, [1]), erased]);
});
