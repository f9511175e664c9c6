/**
 * Transactional email as one writes it in an afternoon: Fastify takes the call, BullMQ keeps it in Redis, a worker
 * renders it with Eta and sends it by the pool of nodemailer. Call and worker share a process, which costs less than
 * two.
 */
import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import nodemailer from 'nodemailer';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Type, type Static } from '@sinclair/typebox';
import { loadBullMQ } from './bullmq.js';
import { renderOrder, type OrderVariables } from './render.js';

const [redisPort = '', smtpPort = '', key = '', smtpConnections = '', messagesPerConnection = ''] =
  process.argv.slice(2);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const keys = new Map([[hashOf(key), 'bench']]);

const MailSchema = Type.Object({
  template: Type.Literal('order-confirmation'),
  to: Type.Object({ email: Type.String({ format: 'email' }), name: Type.String() }),
  variables: Type.Object({
    customer: Type.Object({ firstName: Type.String(), email: Type.String() }),
    order: Type.Object({
      number: Type.String(),
      placedAt: Type.String(),
      currency: Type.String(),
      taxRate: Type.Number(),
      items: Type.Array(
        Type.Object({
          name: Type.String(),
          variant: Type.String(),
          quantity: Type.Number(),
          price: Type.Number(),
        }),
      ),
      shipping: Type.Number(),
      discount: Type.Number(),
      shippingAddress: Type.Object({
        name: Type.String(),
        street: Type.String(),
        city: Type.String(),
        country: Type.String(),
      }),
      delivery: Type.Object({ method: Type.String(), from: Type.String(), to: Type.String() }),
      trackingUrl: Type.String(),
    }),
  }),
});
type Mail = Static<typeof MailSchema>;

const { Queue, Worker } = loadBullMQ();
const connection = { host: '127.0.0.1', port: Number(redisPort), maxRetriesPerRequest: null };
const queue = new Queue<Mail>('emails', {
  connection,
  defaultJobOptions: {
    attempts: 8,
    backoff: { type: 'exponential', delay: 10_000 },
    // Redis keeps the last thousand that were sent, and all that failed, for those who ask.
    removeOnComplete: { count: 1_000 },
  },
});

const pool = nodemailer.createTransport({
  pool: true,
  host: '127.0.0.1',
  port: Number(smtpPort),
  secure: false,
  maxConnections: Number(smtpConnections),
  maxMessages: Number(messagesPerConnection),
});
const worker = new Worker<Mail>(
  'emails',
  async ({ id, data: { to, variables } }) => {
    const { subject, html, text } = renderOrder(
      variables satisfies OrderVariables,
      'service.test',
      String(new Date().getUTCFullYear()),
    );
    await pool.sendMail({
      // A second attempt has the id of the first, so that the relay can tell them.
      messageId: `<${id ?? ''}@service.test>`,
      from: { name: 'Bench', address: 'bench@service.test' },
      to: { name: to.name, address: to.email },
      subject,
      html,
      text,
    });
  },
  { connection, concurrency: Number(smtpConnections) },
);
worker.on('error', (error) => console.error(error));

const app = Fastify().withTypeProvider<TypeBoxTypeProvider>();
app.post(
  '/emails',
  {
    schema: {
      body: MailSchema,
      response: { 201: Type.Object({ id: Type.String() }), 401: Type.Object({ code: Type.String() }) },
    },
  },
  async (request, reply) => {
    if (!keys.has(hashOf(request.headers.authorization?.slice(7) ?? '')))
      return reply.code(401).send({ code: 'UNAUTHORIZED' });
    const { id = '' } = await queue.add('send', request.body);
    reply.code(201);
    return { id };
  },
);
app.get('/queue', () => queue.getJobCounts('waiting', 'active', 'delayed', 'failed'));
console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`);
