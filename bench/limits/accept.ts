/**
 * The least that any program must do to accept an email durably: check the body against the same schema, look up the
 * key, and answer when the body survives a power loss. Requests of one turn of the event loop share one commit.
 */
import { createHash } from 'node:crypto';
import Sqlite from 'better-sqlite3';
import Fastify from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { v7 } from 'uuid';
import { SendEmailRequestSchema } from '../../src/api/email.js';

const [file = '', key = ''] = process.argv.slice(2);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const database = new Sqlite(file);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = FULL');
database.exec(
  'CREATE TABLE keys (hash TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID; CREATE TABLE emails (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID',
);
database.prepare('INSERT INTO keys VALUES (?, ?)').run(hashOf(key), 'bench');
const findKey = database.prepare<[string], string>('SELECT name FROM keys WHERE hash = ?').pluck();
const insert = database.prepare('INSERT INTO emails VALUES (?, ?)');
const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')];

let waiting: { id: string; body: string; durable: () => void }[] = [];
const flush = (): void => {
  const group = waiting;
  waiting = [];
  begin.run();
  for (const { id, body } of group) insert.run(id, body);
  commit.run();
  for (const { durable } of group) durable();
};
const store = (id: string, body: string): Promise<void> =>
  new Promise((durable) => {
    if (waiting.push({ id, body, durable }) === 1) setImmediate(flush);
  });

const app = Fastify({ bodyLimit: 10 * 1024 * 1024 }).withTypeProvider<TypeBoxTypeProvider>();
app.post(
  '/api/emails/send',
  {
    schema: {
      body: SendEmailRequestSchema,
      response: {
        201: Type.Object({ id: Type.String(), status: Type.String() }),
        401: Type.Object({ code: Type.String() }),
      },
    },
  },
  async (request, reply) => {
    if (findKey.get(hashOf(request.headers.authorization?.slice(7) ?? '')) === undefined)
      return reply.code(401).send({ code: 'UNAUTHORIZED' });
    const id = v7();
    await store(id, JSON.stringify(request.body));
    reply.code(201);
    return { id, status: 'queued' };
  },
);
console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
process.on('SIGTERM', () => {
  app.server.closeAllConnections();
  void app.close().then(() => database.close());
});
