/** Records at an EventStoreDB server, and its URL: the parts that need no server. */
import fc from 'fast-check';
import t from 'tap';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { appendMessages, sizeOf } from '../../../src/adapters/event-store/eventstoredb/appends.js';
import { readMessage, parseEventStoreDbUrl } from '../../../src/adapters/event-store/eventstoredb/connection.js';
import {
  commitFrom,
  commitOf,
  isBeforeEvent,
  positionOf,
  serverIdOf,
  toServerEvent,
  toStoredEvent,
  kindMatcher,
  streamNames,
} from '../../../src/adapters/event-store/eventstoredb/records.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { StoredEvent } from '../../../src/domain/ports/event-store.js';

const place = { stream: 'email-1', revision: 3, commit: 4_711 };
const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
const wellFormed = fc.string({ unit: 'grapheme' });
const anEvent = fc.record({
  eventId: fc.oneof(fc.uuid(), wellFormed),
  type: wellFormed,
  data: fc.oneof(fc.json(), wellFormed),
  metadata: fc.oneof(fc.json(), wellFormed),
  sealed: fc.option(fc.uint8Array(), { nil: undefined }),
  hash: hex,
});
const plain = (event: StoredEvent): unknown => ({ ...event, sealed: event.sealed && [...event.sealed] });

void t.test('an event is read exactly as it was written, whatever its texts are', async (t) => {
  fc.assert(
    fc.property(anEvent, (event) => {
      const read = toStoredEvent({ ...toServerEvent(event), ...place });
      t.strictSame(plain(read), plain({ ...event, stream: 'email-1', revision: 3, position: positionOf(4_711) }));
    }),
  );
});

void t.test('metadata bytes that somebody changed are read as they stand, without a hash', async (t) => {
  const event = toServerEvent({
    eventId: 'one',
    type: 'A.v1',
    data: '{}',
    metadata: '{"a":1}',
    sealed: Buffer.from('sealed'),
    hash: 'ab',
  });
  t.equal(
    Buffer.from(event.metadata).toString(),
    '{"hash":"ab","sealed":"c2VhbGVk","eventId":"one","metadata":{"a":1}}',
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat({ max: event.metadata.length }), (inserted, at) => {
      const metadata = Buffer.concat([event.metadata.slice(0, at), inserted, event.metadata.slice(at)]);
      toStoredEvent({ ...event, metadata, ...place });
    }),
  );
  const cut = toStoredEvent({ ...event, metadata: event.metadata.slice(0, 20), ...place });
  t.match(cut, { hash: '', metadata: '{"hash":"ab","sealed', sealed: undefined, eventId: event.id });
  const other = toStoredEvent({ ...event, id: serverIdOf('another'), ...place });
  t.equal(other.eventId, serverIdOf('another'), 'an id that is not that of the server is not believed');
});

void t.test('positions leave a place before each event, and are refused where a number cannot hold them', async (t) => {
  t.same([positionOf(0), positionOf(7), commitOf(15), commitOf(14)], [1, 15, 7, 7]);
  t.same(
    [isBeforeEvent(positionOf(7) - 1), isBeforeEvent(positionOf(7)), commitOf(positionOf(7) - 1)],
    [true, false, 7],
  );
  t.equal(commitFrom('4503599627370495'), 2 ** 52 - 1);
  for (const none of ['18446744073709551615', '4503599627370496']) t.throws(() => commitFrom(none), /22\.6/);
});

void t.test('the bytes of an append are those of the protocol', async (t) => {
  const correlationId = '0b0c0d0e-1111-4222-8333-000000000001';
  fc.assert(
    fc.property(fc.array(anEvent, { minLength: 1, maxLength: 5 }), fc.nat(), (events, revision) => {
      const toSend = events.map((event) => toServerEvent({ ...event, data: event.data.repeat(50) }));
      const [message, ...more] = appendMessages({
        correlationId,
        stream: 'sealpost.email-ü',
        expectedRevision: revision,
        events: toSend,
      });
      t.same(more, []);
      const read = streams.BatchAppendReq.deserializeBinary(message!);
      t.equal(read.getCorrelationId()?.getString(), correlationId);
      t.equal(
        Buffer.from(read.getOptions()!.getStreamIdentifier()!.getStreamName_asU8()).toString(),
        'sealpost.email-ü',
      );
      t.equal(read.getOptions()!.getStreamPosition(), String(revision));
      t.ok(read.getOptions()!.getDeadline()!.toDate().getTime() > Date.now() + 3_600_000);
      t.equal(read.getIsFinal(), true);
      const proposed = read.getProposedMessagesList().map((one) => ({
        id: one.getId()!.getString(),
        type: one.getMetadataMap().get('type'),
        data: Buffer.from(one.getData_asU8()),
        metadata: Buffer.from(one.getCustomMetadata_asU8()),
      }));
      t.strictSame(proposed, toSend);
      t.equal(read.getProposedMessagesList()[0]!.getMetadataMap().get('content-type'), 'application/json');
    }),
    { numRuns: 50 },
  );
  const of = (expectedRevision: number | undefined, events = [large(10)]) =>
    appendMessages({ correlationId, stream: 's', expectedRevision, events }).map((bytes) =>
      streams.BatchAppendReq.deserializeBinary(bytes),
    );
  t.equal(of(-1)[0]!.getOptions()!.hasNoStream(), true);
  t.equal(of(undefined)[0]!.getOptions()!.hasAny(), true);
  const parts = of(0, [large(700_000), large(700_000), large(2_000_000), large(5)]);
  t.same(
    parts.map((part) => [part.getProposedMessagesList().length, part.hasOptions(), part.getIsFinal()]),
    [
      [1, true, false],
      [1, false, false],
      [1, false, false],
      [1, false, true],
    ],
  );
});

const large = (bytes: number) => {
  const event = {
    id: serverIdOf(`${bytes}`),
    type: 'A.v1',
    data: Buffer.alloc(bytes, 32),
    metadata: Buffer.from('{}'),
  };
  return sizeOf(event) === bytes + 2 ? event : event;
};

void t.test('names of streams carry the prefix, and kinds are told apart', async (t) => {
  const names = streamNames('acme');
  t.equal(names.atServer('email-1'), 'acme.email-1');
  t.equal(names.ours('acme.ledger'), 'ledger');
  for (const other of ['acmes.email-1', 'acme-types', '$stats-1', 'order-1'])
    t.equal(names.ours(other), undefined, other);
  t.same(names.prefixes(undefined), ['acme.']);
  t.same(names.prefixes(['email', 'ledger']), ['acme.email', 'acme.ledger']);
  t.equal(names.prefixes([]).length, 1, 'no prefix at all would let everything through');
  const matches = kindMatcher(['email', 'ledger']);
  t.same(['email-1', 'ledger', 'emails-1', 'email'].map(matches), [true, true, false, true]);
});

void t.test('URLs of EventStoreDB and KurrentDB, with our own option', async (t) => {
  const parsed = (url: string) => {
    const { clientUrl, prefix, shown } = parseEventStoreDbUrl(url);
    return [clientUrl(0), clientUrl(1), prefix, shown];
  };
  t.same(parsed('esdb://host:2113?tls=false&prefix=acme'), [
    'esdb://host:2113?tls=false&keepAliveTimeout=10000',
    'esdb://host:2113?tls=false&keepAliveTimeout=10001',
    'acme',
    'esdb://host:2113',
  ]);
  t.same(parsed('kurrentdb+discover://admin:s%40cret@a,b:2114/?TLSCAFILE=/ca.pem&keepAliveTimeout=-1'), [
    'esdb+discover://admin:s%40cret@a,b:2114?tlsCAFile=/ca.pem&keepAliveTimeout=-1',
    'esdb+discover://admin:s%40cret@a,b:2114?tlsCAFile=/ca.pem&keepAliveTimeout=-1',
    'sealpost',
    'esdb+discover://a,b:2114',
  ]);
  t.match(parseEventStoreDbUrl('kurrentdb://host').clientUrl(0), /^esdb:\/\/host\?/);
  for (const [wrong, says] of [
    ['http://admin:secret@host', /form esdb/],
    ['esdb://', /form esdb/],
    ['esdb://admin@host', /user:password/],
    ['esdb://admin:secret@host?colour=blue', /colour/],
    ['esdb://admin:secret@host?tls', /tls .*no value/],
    ['esdb://admin:secret@host?tlsVerifyCert=false', /tlsVerifyCert/],
    ['esdb://admin:secret@host?prefix=a-b', /prefix .* a-b/],
  ] as const) {
    let told = '';
    try {
      parseEventStoreDbUrl(wrong);
    } catch (fault) {
      told = `${(fault as Error).name} ${(fault as Error).message}`;
    }
    t.match(told, says, wrong);
    t.match(told, /^RangeError/);
    t.notMatch(told, /secret/);
  }
});

const recorded = fc.record({
  id: fc.uuid(),
  type: wellFormed,
  stream: wellFormed,
  data: fc.uint8Array({ maxLength: 300 }),
  metadata: fc.uint8Array({ maxLength: 300 }),
  revision: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  commit: fc.nat({ max: (Number.MAX_SAFE_INTEGER - 1) / 2 }),
});

/** As a server sends it: the library's own encoder, with everything beside the event that a message may hold. */
const responseOf = ({
  id,
  type,
  stream,
  data,
  metadata,
  revision,
  commit,
}: typeof recorded extends fc.Arbitrary<infer R> ? R : never) => {
  const event = new streams.ReadResp.ReadEvent.RecordedEvent();
  const uuid = new shared.UUID();
  uuid.setString(id);
  event.setId(uuid);
  const name = new shared.StreamIdentifier();
  name.setStreamName(Buffer.from(stream));
  event.setStreamIdentifier(name);
  event.setStreamRevision(String(revision));
  event.setPreparePosition(String(commit));
  event.setCommitPosition(String(commit));
  event.getMetadataMap().set('created', '17').set('type', type).set('content-type', 'application/json');
  event.setData(data);
  event.setCustomMetadata(metadata);
  const read = new streams.ReadResp.ReadEvent();
  read.setEvent(event);
  read.setCommitPosition(String(commit));
  const response = new streams.ReadResp();
  response.setEvent(read);
  return response;
};

void t.test('a message of a read is understood as the library encodes it', async (t) => {
  fc.assert(
    fc.property(recorded, (given) => {
      const { event, checkpoint } = readMessage(Buffer.from(responseOf(given).serializeBinary()));
      t.equal(checkpoint, undefined);
      t.strictSame(
        { ...event, data: [...event!.data], metadata: [...event!.metadata] },
        { ...given, data: [...given.data], metadata: [...given.metadata] },
      );
    }),
  );
  const told = new streams.ReadResp.Checkpoint();
  told.setCommitPosition('4711');
  told.setPreparePosition('4711');
  const response = new streams.ReadResp();
  response.setCheckpoint(told);
  t.strictSame(readMessage(Buffer.from(response.serializeBinary())), { event: undefined, checkpoint: 4_711 });
  const caughtUp = new streams.ReadResp();
  caughtUp.setCaughtUp(new streams.ReadResp.CaughtUp());
  t.strictSame(readMessage(Buffer.from(caughtUp.serializeBinary())), { event: undefined, checkpoint: undefined });
  t.strictSame(readMessage(Buffer.alloc(0)), { event: undefined, checkpoint: undefined });
});

void t.test(
  'a message that is cut off, or none, is an error, and so is a commit position beyond what can be told',
  async (t) => {
    const bytes = Buffer.from(
      responseOf({
        id: 'a',
        type: 't',
        stream: 's',
        data: Buffer.from('d'),
        metadata: Buffer.from('m'),
        revision: 1,
        commit: 2,
      }).serializeBinary(),
    );
    t.throws(() => readMessage(bytes.subarray(0, -1)), { message: /a message that is none/ });
    t.throws(() => readMessage(Buffer.of(0x0b)), { message: /a message that is none/ });
    const told = new streams.ReadResp.Checkpoint();
    told.setCommitPosition('18446744073709551615');
    const response = new streams.ReadResp();
    response.setCheckpoint(told);
    t.throws(() => readMessage(Buffer.from(response.serializeBinary())), RangeError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        try {
          readMessage(Buffer.from(noise));
        } catch (fault) {
          t.ok(fault instanceof Error);
        }
      }),
    );
  },
);
