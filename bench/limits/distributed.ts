/**
 * The least that any program must do to take an email and deliver it on the servers of the distributed engine: in one
 * process, through the same drivers, the calls that one email of ours makes. It checks the body, asks the limiter,
 * appends, publishes, consumes, reads the stream and the tag of the row that holds its key, appends around one SMTP
 * dialogue, acknowledges, and writes the read models that follow from the log.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { binaryEvent, END, EventStoreDBClient, NO_STREAM, streamNameFilter } from '@eventstore/db-client';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { MongoClient, type AnyBulkWriteOperation, type Db } from 'mongodb';
import { connect } from 'nats';
import nodemailer from 'nodemailer';
import { v7 } from 'uuid';
import { SendEmailRequestSchema } from '../../src/api/email.js';
import { keysPerRow } from '../../src/adapters/keys/key-wrap.js';
import { gathered } from '../../src/shared/concurrency.js';
import type { Recipe, RecipeEvent } from '../support/recipe.js';
import type { Place } from '../support/servers.js';

export type LimitOptions = Readonly<{
  place: Place;
  recipe: Recipe;
  /** A file with one mail that is ready. */
  mail: string;
  smtpPort: number;
  smtpConnections: number;
  messagesPerConnection: number;
}>;

/** As our own runs have them. */
const LANES = 100;
const FOLD_EVERY_MS = 200;
const PENDING_MAX = 100_000;
/** Bytes of a key as it is kept. */
const KEY_BYTES = 32;
/** Bytes of a row: a tag, and a bit for each of its keys. */
const TAG_BYTES = 16 + keysPerRow / 8;
const WINDOW_MS = 60_000;
const RATE_MAX = 1_000_000;

const options = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as LimitOptions;
const { place, recipe } = options;
const { name } = place;
const [accepted = [], ...delivery] = recipe.appends;

const events = EventStoreDBClient.connectionString(place.urls.eventStore.replace(/[?&]prefix=.*$/, ''));
const mongo = await MongoClient.connect(place.urls.mongodb, { writeConcern: { w: 'majority' }, maxPoolSize: 40 });
const database = mongo.db();
const append = async (
  stream: string,
  revision: bigint | typeof NO_STREAM,
  given: readonly RecipeEvent[],
): Promise<void> => {
  const written = given.map(({ type, data, metadata }) =>
    binaryEvent({ id: randomUUID(), type, data: Buffer.from(data), metadata: Buffer.from(metadata) }),
  );
  const { success } = await events.appendToStream(stream, written, { expectedRevision: revision });
  if (!success) throw new Error('an append was refused');
};

type KeyRow = { _id: string; wrapped: Buffer; tag: Buffer };
/** The row with the key of each email that is not delivered yet. */
const rowOf = new Map<string, string>();
const tagsOf = gathered((rows: ReadonlySet<string>) =>
  database
    .collection<KeyRow>('limit-keys')
    .find({ _id: { $in: [...rows] } }, { projection: { tag: 1 } })
    .toArray(),
);

/** Takes an email in; resolves with its id when the log has it. */
const openAccepting = (redis: Redis, keys: Db): (() => Promise<string>) => {
  redis.defineCommand('hit', {
    numberOfKeys: 1,
    lua: `local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return { n, redis.call('PTTL', KEYS[1]) }`,
  });
  const { hit } = redis as unknown as Readonly<{
    hit: (key: string, windowMs: number) => Promise<readonly [number, number]>;
  }>;
  let taken = 0;
  let row = '';
  return async () => {
    const [count] = await hit.call(redis, `{${name}}:bench`, WINDOW_MS);
    if (count > RATE_MAX) throw new Error('the limiter refuses');
    taken += 1;
    if (taken % keysPerRow === 1) {
      row = v7();
      const bytes = { wrapped: randomBytes(KEY_BYTES * keysPerRow), tag: randomBytes(TAG_BYTES) };
      await keys.collection<KeyRow>('limit-keys').insertOne({ _id: row, ...bytes });
    }
    const id = v7();
    const stream = `${name}.email-${id}`;
    rowOf.set(stream, row);
    await append(stream, NO_STREAM, accepted);
    return id;
  };
};

const openDelivering = () => {
  const raw = readFileSync(options.mail);
  const pool = nodemailer.createTransport({
    pool: true,
    host: '127.0.0.1',
    port: options.smtpPort,
    secure: false,
    maxConnections: options.smtpConnections,
    maxMessages: options.messagesPerConnection,
  });
  const envelope = { from: 'hello@sealpost.example', to: 'ada@example.com' };
  return async (stream: string): Promise<void> => {
    let revision = -1n;
    for await (const { event } of events.readStream(stream)) if (event !== undefined) revision = event.revision;
    await tagsOf([rowOf.get(stream) ?? '']);
    rowOf.delete(stream);
    for (const [index, given] of delivery.entries()) {
      if (index === delivery.length - 1) await pool.sendMail({ envelope, raw });
      await append(stream, revision, given);
      revision += BigInt(given.length);
    }
  };
};

/** Publishes a pointer for each accepted email, and consumes them. */
const startDispatch = async (deliver: (stream: string) => Promise<void>): Promise<void> => {
  const connection = await connect({ servers: place.urls.nats, noAsyncTraces: true });
  const manager = await connection.jetstreamManager();
  const stream = `${name.toUpperCase()}_LIMIT`;
  await manager.streams.add({ name: stream, subjects: [`${name}.limit.>`], retention: 'workqueue' as never });
  await manager.consumers.add(stream, {
    durable_name: 'all',
    ack_policy: 'explicit' as never,
    max_ack_pending: PENDING_MAX,
  });
  const jetStream = connection.jetstream();
  const consumer = await jetStream.consumers.get(stream, 'all');
  const messages = await consumer.consume({ max_messages: LANES });
  void (async () => {
    for await (const message of messages) {
      const pointer = message.json<{ stream: string }>();
      void deliver(pointer.stream).then(() => message.ackAck());
    }
  })();
  const type = accepted[0]!.type;
  void (async () => {
    for await (const { event } of subscribed()) {
      if (event?.type !== type) continue;
      const pointer = { id: event.id, stream: event.streamId };
      void jetStream.publish(`${name}.limit.normal.${event.id}`, JSON.stringify(pointer));
    }
  })();
};

const subscribed = () =>
  events.subscribeToAll({ fromPosition: END, filter: streamNameFilter({ prefixes: [`${name}.email`] }) });

/** Writes the documents of the emails that the log has had something of, every so often, then the checkpoint. */
const startFolding = (): void => {
  const ends = recipe.appends.at(-1)!.at(-1)!.type;
  let touched = new Map<string, bigint>();
  let [ended, folded] = [0, 0];
  void (async () => {
    for await (const { event } of subscribed()) {
      if (event === undefined) continue;
      touched.set(event.streamId, event.revision);
      if (event.type === ends) ended += 1;
    }
  })();
  const fold = async (): Promise<void> => {
    if (touched.size === 0) return;
    const [batch, upTo] = [touched, ended];
    touched = new Map();
    for (const { collection, document } of recipe.documents) {
      const changes = [...batch].map(([_id, revision]): AnyBulkWriteOperation<{ _id: string; position: number }> => {
        const position = Number(revision);
        return {
          replaceOne: {
            filter: { _id, position: { $lt: position } },
            replacement: { ...document, position },
            upsert: true,
          },
        };
      });
      await database
        .collection<{ _id: string; position: number }>(`limit.${collection}`)
        .bulkWrite(changes, { ordered: true });
    }
    await database
      .collection<{ _id: string }>('limit-checkpoints')
      .updateOne({ _id: 'emails' }, { $inc: { position: 1 } }, { upsert: true });
    folded = upTo;
    console.log(`folded ${folded}`);
  };
  void (async () => {
    for (;;) {
      await wait(FOLD_EVERY_MS);
      await fold();
    }
  })();
};

for (const { collection } of recipe.documents) {
  const made = await database.createCollection<{ seq: number }>(`limit.${collection}`);
  await made.createIndexes([{ key: { seq: 1 } }]);
}
await startDispatch(openDelivering());
startFolding();
const accept = openAccepting(new Redis(place.urls.redis), database);
const app = Fastify({ bodyLimit: 10 * 1024 * 1024 }).withTypeProvider<TypeBoxTypeProvider>();
app.post(
  '/api/emails/send',
  {
    schema: {
      body: SendEmailRequestSchema,
      response: { 201: Type.Object({ id: Type.String(), status: Type.String() }) },
    },
  },
  async (_request, reply) => {
    const id = await accept();
    reply.code(201);
    return { id, status: 'queued' };
  },
);
console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
