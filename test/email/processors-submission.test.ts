/** Mails handed over by SMTP, and the headers that mail providers repeat in their events. */
import t, { type Test } from 'tap';
import { assertDefined, parseEmailId } from '../../src/domain/core/ids.js';
import { caller } from '../support/command-world.js';
import { deliverEmailWorker, openProcessorWorld, type ProcessorWorld } from '../support/processor-world.js';

const providers = { postmark: { token: 'p'.repeat(40) }, mailgun: { signingKey: 'm'.repeat(40) } };

const TEXT = `From: Shop <shop@example.com>
To: Ann <ann@x.example>, Bob <bob@x.example>
Subject: Your order
Message-ID: <1@shop.example.com>

Hello Ann
`;
const BOTH = ['ann@x.example', 'bob@x.example'];

type Left = Readonly<{ id: string; raws: readonly string[] }>;

/** Hands the message over and delivers it. Out: what left, one mail or a copy for each recipient. */
const leaves = async (world: ProcessorWorld, text: string): Promise<Left> => {
  const raw = Buffer.from(text.replaceAll('\n', '\r\n'));
  const { body } = await world.commands.submitEmail(
    caller,
    { sender: 'shop@example.com', to: BOTH, raw, by: 'mail.example.com', with: 'ESMTPSA' },
    async () => ({ bytes: 0, position: 0 }),
  );
  const id = assertDefined(parseEmailId(body.id), 'email id');
  world.run(deliverEmailWorker(world.processing));
  await world.publish(id);
  await world.reaches(id, 'sent');
  return { id, raws: world.mailer.sent.map((message) => message.raw.toString()) };
};

const open = (t: Test, allowed: readonly string[] = []) =>
  openProcessorWorld(t, { providers, allowsHeader: (name) => allowed.includes(name.toLowerCase()) });

const unfolded = (raw: string): string => raw.replaceAll(/\r\n[ \t]/g, ' ');

void t.test('a mail for all has them above the message, which stays as it came', async (t) => {
  const world = await open(t);
  const { id, raws } = await leaves(world, TEXT);
  t.equal(raws.length, 1);
  const [own = '', ...rest] = unfolded(raws[0]!).split('Received: ');
  t.equal(own, `X-PM-Metadata-sealpost: ${id}\r\nX-Mailgun-Variables: { "sealpost": "${id}" }\r\n`);
  t.match(
    rest.join(''),
    /\r\nSubject: Your order\r\nMessage-ID: <1@shop\.example\.com>\r\nDate: [^\r]*\r\n\r\nHello Ann\r\n$/,
  );
});

void t.test('each copy has them, and its own link', async (t) => {
  const world = await open(t);
  const { id, raws } = await leaves(world, `X-Sealpost-Unsubscribe-List: news\n${TEXT}`);
  t.equal(raws.length, 2);
  for (const raw of raws) {
    t.equal(raw.split(`X-PM-Metadata-sealpost: ${id}\r\n`).length, 2);
    t.match(raw, /^List-Unsubscribe: </m);
    t.ok(raw.endsWith('\r\n\r\nHello Ann\r\n'));
  }
});

void t.test('a large body, and a message without a body', async (t) => {
  const large = await open(t);
  const text = `${TEXT}${`${'x'.repeat(76)}\n`.repeat(2_000)}`;
  const [raw = ''] = (await leaves(large, text)).raws;
  t.ok(raw.startsWith('X-PM-Metadata-sealpost: '));
  t.ok(raw.endsWith(text.slice(text.indexOf('\n\n')).replaceAll('\n', '\r\n')));
  const [bare = ''] = (await leaves(await open(t), TEXT.slice(0, TEXT.indexOf('\nHello')))).raws;
  t.ok(bare.startsWith('X-PM-Metadata-sealpost: '));
  t.ok(bare.endsWith('\r\n\r\n'));
});

void t.test('a header of the sender that is allowed is replaced, and keeps its other members', async (t) => {
  const world = await open(t, ['x-pm-metadata-sealpost', 'x-mailgun-variables']);
  const fields = `x-pm-metadata-SEALPOST: forged\nX-Mailgun-Variables: {"order": 7,\n "name": "Jürgen", "sealpost": "forged"}\n`;
  const { id, raws } = await leaves(world, fields + TEXT);
  const raw = unfolded(raws[0]!);
  t.notMatch(raw, 'forged');
  t.equal(raw.match(/^x-pm-metadata-sealpost:/gim)?.length, 1);
  t.equal(raw.match(/^x-mailgun-variables:/gim)?.length, 1);
  const value = /^X-Mailgun-Variables: (.*)\r$/m.exec(raw)![1]!;
  t.strictSame(JSON.parse(value), { order: 7, name: 'Jürgen', sealpost: id });
  t.ok(raw.endsWith('\r\n\r\nHello Ann\r\n'));
});

void t.test('a header of a relay that is not allowed is refused at once', async (t) => {
  const world = await open(t);
  await t.rejects(leaves(world, `X-PM-Metadata-sealpost: forged\n${TEXT}`), { code: 'VALIDATION_ERROR' });
  t.equal(world.mailer.sent.length, 0);
});
