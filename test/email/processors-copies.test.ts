/**
 * Mails that leave as one copy for each recipient: what the copies share, what becomes of each, and what a crash
 * between two of them loses.
 */
import t, { type Test } from 'tap';
import { readUnsubscribeToken } from '../../src/commands/recipients/unsubscribe.js';
import { suppressionIdOf } from '../../src/commands/recipients/suppression-check.js';
import { emailIdInBatch, emailStream, type EmailId } from '../../src/domain/core/ids.js';
import type { OutgoingMessage } from '../../src/domain/ports/mailer.js';
import { makeProcessors } from '../../src/processors/index.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, schemaSaying, TEAM, welcome } from '../support/command-world.js';
import {
  answers,
  deliverEmailWorker,
  openProcessorWorld,
  relayAndTimers,
  until,
  workersOf,
  type ProcessorWorld,
} from '../support/processor-world.js';

const NEWS = {
  ...welcome,
  slug: 'news',
  unsubscribeList: 'newsletter',
  schema: schemaSaying('News. <a href="{{__UNSUBSCRIBE_URL__}}">Unsubscribe</a>'),
  publish: true,
};
const THREE = {
  templateId: 'news',
  to: [{ email: 'ann@example.org', name: 'Ann' }],
  cc: [{ email: 'cyd@example.org' }],
  bcc: [{ email: 'bob@example.org' }],
};

const openNews = async (t: Test, options: Parameters<typeof openProcessorWorld>[1] = {}): Promise<ProcessorWorld> => {
  const world = await openProcessorWorld(t, options);
  await world.commands.createTemplate(caller, NEWS);
  return world;
};

const recipientsOf = (messages: readonly OutgoingMessage[]) => messages.map(({ envelope }) => envelope.to);
const typesOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.events(emailStream(id))).map(({ type }) => type);
const statusesOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.commands.getEmail(caller, id)).recipients.map(({ status }) => status);

const unfolded = ({ raw }: OutgoingMessage): string => raw.toString().replace(/\r\n[ \t]/g, ' ');
const field = (message: OutgoingMessage, name: string): string | undefined =>
  new RegExp(`^${name}: ?(.*)\\r$`, 'm').exec(unfolded(message))?.[1];
const bodyOf = ({ raw }: OutgoingMessage): string => raw.toString().replace(/=\r\n/g, '').replaceAll('=3D', '=');

void t.test('each recipient gets a copy with a link of its own; all else is the same', async (t) => {
  const world = await openNews(t);
  const id = await world.send(THREE);
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');

  const { sent } = world.mailer;
  t.same(recipientsOf(sent), [['ann@example.org'], ['cyd@example.org'], ['bob@example.org']]);
  const links = sent.map((message) =>
    /^<(https:\/\/mail\.example\.com\/u\/([\w-]+))>$/.exec(field(message, 'List-Unsubscribe') ?? ''),
  );
  for (const [index, message] of sent.entries()) {
    for (const name of ['Message-ID', 'To', 'Cc', 'Subject', 'Date', 'From'])
      t.equal(field(message, name), field(sent[0]!, name), name);
    t.equal(field(message, 'List-Unsubscribe-Post'), 'List-Unsubscribe=One-Click');
    t.notOk(bodyOf(message).includes('bob@example.org'), 'a blind copy is blind');
    const [, url = '', token = ''] = links[index] ?? [];
    t.equal(bodyOf(message).split(url).length - 1, 3, 'the header, the text and the HTML have the same link');
    const [address] = message.envelope.to;
    t.match(readUnsubscribeToken(world.deps, token), {
      teamId: TEAM,
      list: 'newsletter',
      emailId: id,
      recipient: index,
      id: suppressionIdOf(world.deps, TEAM, address!, 'newsletter'),
    });
    t.notOk(Buffer.from(token, 'base64url').includes(address!), 'it holds no address');
  }
  t.equal(new Set(links.map((link) => link?.[2])).size, 3);
  t.same(await typesOf(world, id), ['EmailQueued', 'DeliveryAttempted', 'CopyAnswered', 'CopyAnswered', 'EmailSent']);
  t.match(await world.commands.getEmail(caller, id), { attempts: [{ attempt: 1, outcome: 'sent', durationMs: 360 }] });
  t.match(
    world.logger.lines.filter(({ message: what }) => what === 'delivery attempt'),
    [{ fields: { attempt: 1, recipients: 3, accepted: 3 } }],
  );
});

void t.test('a mail of no list leaves once for all', async (t) => {
  const world = await openNews(t);
  const id = await world.send({ to: THREE.to, cc: THREE.cc });
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');
  t.same(recipientsOf(world.mailer.sent), [['ann@example.org', 'cyd@example.org']]);
  t.equal(field(world.mailer.sent[0]!, 'List-Unsubscribe'), undefined);
  t.same(await typesOf(world, id), ['EmailQueued', 'DeliveryAttempted', 'EmailSent']);
});

void t.test('each copy has its own outcome, and only who still waits is attempted again', async (t) => {
  const world = await openNews(t, { delaysMs: [60_000] });
  const id = await world.send(THREE);
  world.mailer.next.push(answers('bounced'), answers('deferred'), answers('accepted'));
  world.run(deliverEmailWorker(world.processing));
  world.run(relayAndTimers(world.processing));
  await until(() => world.mailer.sent.length === 3, 'each is tried');
  await world.reaches(id, 'queued');
  t.same(await statusesOf(world, id), ['bounced', 'queued', 'sent']);
  await until(async () => {
    await world.clock.advance(60_000);
    return (await world.commands.getEmail(caller, id)).status === 'sent';
  }, 'the deferred one is tried again');
  t.same(recipientsOf(world.mailer.sent).slice(3), [['cyd@example.org']]);
  t.same(await statusesOf(world, id), ['bounced', 'sent', 'sent']);
  t.same(await typesOf(world, id), [
    'EmailQueued',
    'DeliveryAttempted',
    'CopyAnswered',
    'EmailDeferred',
    'DeliveryAttempted',
    'EmailSent',
  ]);
});

void t.test('at a final host every copy that was accepted is delivered', async (t) => {
  const world = await openNews(t, { final: true });
  const id = await world.send(THREE);
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'delivered');
  t.same(await statusesOf(world, id), ['delivered', 'delivered', 'delivered']);
});

/** A worker that is killed while it sends the copy at that place. */
const killedAt = async (t: Test, copy: number, options: Parameters<typeof openProcessorWorld>[1] = {}) => {
  const world = await openNews(t, options);
  const id = await world.send(THREE);
  for (let before = 0; before < copy; before += 1) world.mailer.next.push(answers('accepted'));
  world.mailer.next.push(() => new Promise(() => {}));
  void deliverEmailWorker(world.processing).run(new AbortController().signal);
  await world.publish(id);
  await until(() => world.mailer.sent.length === copy + 1, 'the dialogue has begun');
  world.keeper.kill(world.processing.worker);
  const again = async (): Promise<void> => {
    const { bus } = await openProcessorWorld(t);
    world.run(deliverEmailWorker({ ...world.processing, ...world.elsewhere(), bus, worker: 'worker-2' }));
    await bus.publish(DELIVER_EMAIL, [world.point(id)]);
  };
  return { world, id, again };
};

for (const copy of [0, 1, 2])
  void t.test(
    `after a crash in the dialogue of copy ${copy + 1} of 3 that one alone leaves twice, and none is lost`,
    async (t) => {
      const { world, id, again } = await killedAt(t, copy);
      await again();
      await world.reaches(id, 'sent');
      const counts = new Map<string, number>();
      for (const [address] of recipientsOf(world.mailer.sent)) counts.set(address!, (counts.get(address!) ?? 0) + 1);
      t.same(
        [...counts.values()],
        [0, 1, 2].map((index) => (index === copy ? 2 : 1)),
      );
      t.same(await statusesOf(world, id), ['sent', 'sent', 'sent']);
      const last = (await world.events(emailStream(id))).at(-1)!;
      t.match(last, { type: 'EmailSent', data: { outcomes: [{ recipient: 0 }, { recipient: 1 }, { recipient: 2 }] } });
    },
  );

void t.test(
  'where those that a crash has left are suppressed meanwhile, the email ends by what became of the others',
  async (t) => {
    const { world, id, again } = await killedAt(t, 1, { final: true });
    for (const email of ['cyd@example.org', 'bob@example.org']) await world.commands.addSuppression(caller, { email });
    await again();
    await world.reaches(id, 'delivered');
    t.equal(world.mailer.sent.length, 2);
    t.same(await statusesOf(world, id), ['delivered', 'suppressed', 'suppressed']);
    t.same((await typesOf(world, id)).slice(-3), ['RecipientsSuppressed', 'EmailSent', 'EmailDelivered']);
  },
);

void t.test('a fault of ours between two copies sends none again that has its answer', async (t) => {
  const world = await openNews(t);
  const id = await world.send(THREE);
  world.mailer.next.push(answers('accepted'), () => Promise.reject(new Error('a bug')));
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await until(async () => {
    await world.clock.advance(60_000);
    return (await world.commands.getEmail(caller, id)).status === 'sent';
  }, 'it goes on');
  t.same(recipientsOf(world.mailer.sent), [
    ['ann@example.org'],
    ['cyd@example.org'],
    ['cyd@example.org'],
    ['bob@example.org'],
  ]);
  t.equal((await world.commands.getEmail(caller, id)).attempts.length, 1);
});

void t.test('where the host goes away between two copies the others wait with no dialogue', async (t) => {
  const world = await openNews(t, { delaysMs: [60_000] });
  const id = await world.send(THREE);
  const away = {
    result: 'deferred',
    replyCode: null,
    enhancedCode: null,
    rule: 'connection-refused',
    text: 'refused',
  } as const;
  world.mailer.next.push(answers('accepted'), ({ envelope }) => ({
    host: world.mailer.host,
    durationMs: 1,
    recipients: envelope.to.map(() => away),
    hostAway: true,
  }));
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await until(async () => (await typesOf(world, id)).includes('EmailDeferred'), 'the attempt ends');
  t.equal(world.mailer.sent.length, 2);
  t.same(await statusesOf(world, id), ['sent', 'queued', 'queued']);
  const deferred = (await world.events(emailStream(id))).at(-1)!;
  t.match(deferred, {
    type: 'EmailDeferred',
    data: { outcomes: [{ result: 'accepted' }, { rule: 'connection-refused' }, { rule: 'connection-refused' }] },
  });
});

void t.test('copies whose time is over are tried again without those that left', async (t) => {
  const world = await openNews(t, { delaysMs: [60_000], limits: { deliveryDeadlineMs: 5_000 } });
  const id = await world.send(THREE);
  world.mailer.next.push(
    answers('accepted'),
    (message, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve(answers('deferred')(message)), { once: true }),
      ),
  );
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await until(() => world.mailer.sent.length === 2, 'the second dialogue has begun');
  await until(async () => {
    await world.clock.advance(1_000);
    return (await typesOf(world, id)).includes('EmailDeferred');
  }, 'the attempt ends');
  t.equal(world.mailer.sent.length, 2);
  t.same(await statusesOf(world, id), ['sent', 'queued', 'queued']);
});

void t.test('it waits for the address of links where that is not set any more', async (t) => {
  const world = await openNews(t);
  const id = await world.send({ templateId: 'news' });
  const { linkBase: _unset, ...without } = world.processing;
  const { stop } = world.run(deliverEmailWorker(without));
  await world.publish(id);
  await until(() => world.logger.lines.some(({ level }) => level === 'error'), 'it is told');
  await stop();
  t.same([await typesOf(world, id), world.mailer.sent.length], [['EmailQueued'], 0]);
});

void t.test('the emails of a bulk send carry the link of the list, and go to nobody who has left it', async (t) => {
  const world = await openNews(t);
  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  await world.commands.addSuppression(caller, { email: 'r1@example.org', list: 'newsletter' });
  const id = await acceptBulk(world, bulk(3, { templateId: 'news' }));
  await until(async () => {
    await world.clock.advance(500);
    return world.mailer.sent.length === 2;
  }, 'two are sent');
  t.same(recipientsOf(world.mailer.sent).sort(), [['r0@example.org'], ['r2@example.org']]);
  for (const message of world.mailer.sent)
    t.match(field(message, 'List-Unsubscribe'), /^<https:\/\/mail\.example\.com\/u\/[\w-]+>$/);
  t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 1)), {
    status: 'failed',
    failureReason: 'suppressed',
  });
  const { warnings } = await world.commands.dryRunBulk(caller, bulk(3, { templateId: 'news' }));
  t.same(warnings, ['recipients[1] is not sent to, and costs nothing: its address is on the suppression list']);
});
