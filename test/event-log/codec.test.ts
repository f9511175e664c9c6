/** Every event version that was ever written is read for ever; what is not one of them is refused. */
import fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OptionalKind } from '@sinclair/typebox';
import t from 'tap';
import {
  current,
  decodeEvent,
  encodeEvent,
  eventVersions,
  makeCodec,
  type EventVersions,
  UnknownEvent,
  UnreadableEvent,
} from '../../src/event-log/codec.js';
import { decodeMetadata, encodeMetadata } from '../../src/event-log/hash-chain.js';
import { eventDefinitions, type DomainEvent } from '../../src/domain/events.js';
import type { EventMetadata } from '../../src/domain/core/event.js';

/** A stored event as an earlier version wrote it, and the event that it is read as. */
type Golden = Readonly<{ stored: Readonly<{ type: string; data: unknown; sealed?: unknown }>; event: DomainEvent }>;

/** The golden files, from the compiled test in build/test/event-log. */
const folder = fileURLToPath(new URL('../../../test/golden/events/', import.meta.url));
const files = readdirSync(folder).sort();
const goldens = new Map(
  files.map((file) => [file.replace(/\.json$/, ''), JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as Golden]),
);

/** An array stands for lines of JSON: the envelope and the rest. */
const sealedText = ({ sealed }: Golden['stored']): string | undefined =>
  Array.isArray(sealed)
    ? sealed.map((part) => JSON.stringify(part)).join('\n')
    : sealed === undefined
      ? undefined
      : JSON.stringify(sealed);

const decode = ({ stored }: Golden): DomainEvent =>
  decodeEvent(stored.type, JSON.stringify(stored.data), sealedText(stored));

void t.test('every name that is written or read has its golden file, and every file its reader', async (t) => {
  t.same(Object.keys(current).sort(), Object.keys(eventDefinitions).sort());
  const names = [...new Set([...Object.values(current), ...Object.keys(eventVersions.earlier)])].sort();
  t.same([...goldens.keys()].sort(), names);
  for (const [name, { stored }] of goldens) t.equal(stored.type, name, 'the file is called as the event is');
});

void t.test('a golden event is decoded to the event that it is today', async (t) => {
  for (const [name, golden] of goldens) t.strictSame(decode(golden), golden.event, name);
});

void t.test('an event of before, without the fields that came since, is read', async (t) => {
  let read = 0;
  for (const [name, { stored, event }] of goldens) {
    const { properties }: { properties: Readonly<Record<string, object>> } = eventDefinitions[event.type].data;
    const required = Object.entries(stored.data as object).filter(([field]) => !(OptionalKind in properties[field]!));
    if (required.length === Object.keys(stored.data as object).length) continue;
    read += 1;
    const data = Object.fromEntries(required);
    t.strictSame(decodeEvent(name, JSON.stringify(data), sealedText(stored)).data, data, name);
  }
  t.ok(read >= 2);
});

void t.test('an email of before, whose metadata stood with the rest of its sealed part, is read', async (t) => {
  for (const name of ['EmailQueued.v1', 'EmailScheduled.v1']) {
    const { stored, event } = goldens.get(name)!;
    const [{ metadata, ...envelope }, rest] = stored.sealed as [Record<string, unknown>, Record<string, unknown>];
    t.ok(metadata);
    const text = `${JSON.stringify(envelope)}\n${JSON.stringify({ ...rest, metadata })}`;
    t.same(decodeEvent(name, JSON.stringify(stored.data), text), event, name);
    t.same(decodeEvent(name, JSON.stringify(stored.data), text, 'envelope'), { ...event, sealed: envelope }, name);
  }
});

void t.test('what is written now is, byte for byte, what is in the golden file', async (t) => {
  for (const [name, golden] of goldens) {
    if (!Object.values(current).includes(name)) continue;
    t.strictSame(
      encodeEvent(golden.event),
      {
        type: name,
        data: JSON.stringify(golden.stored.data),
        sealed: sealedText(golden.stored),
      },
      name,
    );
  }
});

void t.test('the golden events hold every field that the schemas know', async (t) => {
  for (const { stored, event } of goldens.values()) {
    const schemas = eventDefinitions[event.type];
    t.same(Object.keys(stored.data as object).sort(), Object.keys(schemas.data.properties).sort(), stored.type);
    t.equal(stored.sealed !== undefined, schemas.sealed !== undefined, stored.type);
  }
});

void t.test(
  'of a sealed part in two lines the first alone gives the envelope, and never passes for the whole',
  async (t) => {
    let found = 0;
    for (const [name, { stored, event }] of goldens) {
      const data = JSON.stringify(stored.data);
      const whole = sealedText(stored);
      if (!Array.isArray(stored.sealed)) {
        t.strictSame(decodeEvent(name, data, whole, 'envelope'), event, `${name} has no envelope`);
        continue;
      }
      found += 1;
      const first = JSON.stringify(stored.sealed[0]);
      t.strictSame(decodeEvent(name, data, first, 'envelope'), { ...event, sealed: stored.sealed[0] }, name);
      t.strictSame(decodeEvent(name, data, whole, 'envelope'), { ...event, sealed: stored.sealed[0] }, name);
      for (const [text, part] of [
        [first, 'whole'],
        ['{}', 'envelope'],
        ['null\n7', 'whole'],
        [`${first}\n{`, 'whole'],
        ['', 'envelope'],
      ] as const) {
        t.throws(() => decodeEvent(name, data, text, part), UnreadableEvent, `${name}: ${text.slice(-9)}`);
      }
    }
    t.equal(found, 4);
  },
);

void t.test('with its key destroyed an event is read without its sealed part', async (t) => {
  for (const [name, { stored, event }] of goldens) {
    if (stored.sealed === undefined) continue;
    t.strictSame(decodeEvent(name, JSON.stringify(stored.data), undefined), { ...event, sealed: undefined }, name);
    t.throws(
      () => encodeEvent({ ...event, sealed: undefined } as DomainEvent),
      UnreadableEvent,
      'and is never written without it',
    );
  }
});

void t.test('unknown names are refused, those that every object has too', async (t) => {
  for (const name of [
    'EmailQueued.v0',
    'EmailQueued.v2',
    'EmailQueued',
    'emailQueued.v1',
    '',
    'constructor',
    'toString',
    '__proto__',
    'hasOwnProperty',
  ]) {
    t.throws(() => decodeEvent(name, '{}', undefined), UnknownEvent, name);
  }
});

void t.test('wrong shapes are refused, with the place of the fault', async (t) => {
  t.throws(() => decodeEvent('EmailReleased.v1', 'no JSON', undefined), UnreadableEvent);
  t.throws(() => decodeEvent('EmailReleased.v1', '{}', undefined), { message: /^EmailReleased\.v1\/at/ });
  t.throws(() => decodeEvent('EmailReleased.v1', '{"at":5,"priority":"high"}', undefined), { message: /\/at/ });
  t.throws(
    () => decodeEvent('EmailSent.v1', JSON.stringify(goldens.get('EmailSent.v1')!.stored.data), '{"replies":"all"}'),
    {
      message: /\(sealed\)\/replies/,
    },
  );
  t.throws(
    () => decodeEvent('EmailSent.v1', JSON.stringify(goldens.get('EmailSent.v1')!.stored.data), '{'),
    UnreadableEvent,
  );
  t.throws(() => encodeEvent({ type: 'EmailDeleted', data: { at: 7 } } as never), UnreadableEvent);
  t.throws(
    () => encodeEvent({ type: 'EmailRetried', data: { at: 'now', retryCount: 1.5, priority: 'high' } }),
    UnreadableEvent,
  );

  // Taking any one required field away, or giving it another type, never passes.
  for (const [name, { stored, event }] of goldens) {
    const schemas = eventDefinitions[event.type];
    for (const field of schemas.data.required ?? []) {
      const { [field]: _, ...less } = stored.data as Record<string, unknown>;
      t.throws(() => decodeEvent(name, JSON.stringify(less), undefined), UnreadableEvent, `${name} without ${field}`);
      t.throws(
        () => decodeEvent(name, JSON.stringify({ ...less, [field]: { no: {} } }), undefined),
        UnreadableEvent,
        `${name} with another ${field}`,
      );
    }
  }
});

void t.test('whatever JSON a caller puts into variables and metadata comes back as it was', async (t) => {
  const queued = goldens.get('EmailQueued.v1')!.event as Extract<DomainEvent, { type: 'EmailQueued' }>;
  const json = fc.dictionary(
    fc.string({ unit: 'binary' }),
    fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
  );
  fc.assert(
    fc.property(json, json, (variables, metadata) => {
      const event: DomainEvent = { ...queued, sealed: { ...queued.sealed!, variables, metadata } };
      const { type, data, sealed } = encodeEvent(event);
      const read = decodeEvent(type, data, sealed);
      if (JSON.stringify(read) !== JSON.stringify(event)) throw new Error('the event changed on its way');
      t.strictSame(encodeEvent(read), { type, data, sealed });
    }),
    { numRuns: 100 },
  );
});

void t.test('metadata comes back as it was', async (t) => {
  const metadata: EventMetadata = {
    eventId: 'e',
    teamId: 't',
    occurredAt: '2030-01-01T12:00:00.000Z',
    actor: 'apiKey:key_1',
    correlationId: 'c',
    causationId: 'd',
    dataFile: 'f',
    sealedFile: 's',
  };
  t.strictSame(decodeMetadata(encodeMetadata(metadata)), metadata);
});

void t.test('the newest version is written, and every version is read', async (t) => {
  const versions: EventVersions = {
    current: { ...current, EmailReleased: 'EmailReleased.v3' },
    earlier: {
      'EmailReleased.v1': {
        type: 'EmailReleased',
        upcast: ({ data, sealed }) => ({ data: (data as { was: unknown }).was, sealed }),
      },
      'EmailReleased.v2': { type: 'EmailReleased', upcast: (payload) => payload },
    },
  };
  const event = { type: 'EmailReleased', data: { at: '2030-01-01T00:00:00.000Z', priority: 'high' } } as const;
  const { encode, decode, knows, namesOf } = makeCodec(versions);
  const { type, data, sealed } = encode(event);
  t.equal(type, 'EmailReleased.v3');
  t.strictSame(decode(type, data, sealed), event);
  t.strictSame(decode('EmailReleased.v2', data, sealed), event);
  t.strictSame(decode('EmailReleased.v1', JSON.stringify({ was: event.data }), sealed), event);
  t.ok(knows('EmailReleased.v2'));
  t.notOk(knows('EmailReleased.v4'));
  t.same([...namesOf(['EmailReleased'])].sort(), ['EmailReleased.v1', 'EmailReleased.v2', 'EmailReleased.v3']);
});
