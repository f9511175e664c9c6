/**
 * Runs the examples of the documentation against a fresh start: every command, in order, and reads every mail that they
 * send.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sendEmailsExamples, sendExamples } from '../../src/api/examples.js';
import {
  equip,
  followPages,
  isRefusal,
  lackingPrograms,
  registerAda,
  runPage,
  serve,
  shell,
  shownOf,
  type Reader,
} from '../support/documented-pages.js';
import { freePort } from '../support/free-port.js';
import { holesOf } from '../support/prose.js';
import type { Settings } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

/** Every mail in the mailbox, as HTML. */
const readMailbox = async (
  { base }: Reader,
  headers: Settings,
): Promise<readonly Readonly<{ subject: string; html: string | null }>[]> => {
  const { data } = (await (await fetch(`${base}/mailbox/messages?limit=100`, { headers })).json()) as {
    data: { id: string }[];
  };
  return Promise.all(
    data.map(
      async ({ id }) =>
        (await (await fetch(`${base}/mailbox/messages/${id}`, { headers })).json()) as {
          subject: string;
          html: string;
        },
    ),
  );
};

const lacking = lackingPrograms(t);
await t.test(
  'a reader follows the pages',
  { skip: lacking.length > 0 && `${lacking.join(', ')} is missing` },
  async (t) => {
    const { server, reader } = await followPages(t);
    const { directory, settings } = reader;
    const firstMail = shownOf('docs/first-mail.md');
    const refused = firstMail.findIndex(isRefusal);
    t.ok(refused > 5);

    await t.test('to a mail in the mailbox', async (t) => {
      const [, pasted = ''] = await server.printed(/^(curl .*)$/m);
      t.match(await shell(pasted, directory, equip(reader)), { code: 0, stdout: /"status":"queued"/ });
      await runPage(t, firstMail.slice(0, refused), reader);
      const heard = readFileSync(join(directory, 'listen.log'), 'utf8');
      for (const kind of ['email.queued', 'email.sent', 'email.delivered'])
        t.match(heard, new RegExp(`${kind} +ben@example.com +Ben, welcome aboard +evt_`));
      await runPage(t, shownOf('docs/attachments.md'), reader);
      await registerAda(t, reader.base);
      for (const page of ['docs/api.md', 'docs/templates.md', 'docs/blocks.md'])
        await runPage(t, shownOf(page), reader);
    });

    await t.test('and sends each example of the API description', async (t) => {
      const headers = { authorization: `Bearer ${reader.key}`, 'content-type': 'application/json' };
      for (const [name, { value }] of Object.entries(sendExamples)) {
        const answer = await fetch(`${reader.base}/api/emails/send`, {
          method: 'POST',
          headers,
          body: JSON.stringify(value),
        });
        t.equal(answer.status, 201, name);
      }
      for (const [name, { value }] of Object.entries(sendEmailsExamples)) {
        const answer = await fetch(`${reader.base}/api/emails/batch`, {
          method: 'POST',
          headers,
          body: JSON.stringify(value),
        });
        t.equal(answer.status, 201, name);
        t.match(await answer.json(), { accepted: 2, refused: 0 }, name);
      }
      const cookie = await server.mailboxCookie();
      const mails = await eventually('all mails have arrived', async () => {
        const arrived = await readMailbox(reader, cookie);
        // The copy of the one that the pages delete is deleted with it.
        const several = 2 * Object.keys(sendEmailsExamples).length;
        return arrived.length >= 3 + several + Object.keys(sendExamples).length && arrived;
      });
      for (const { subject, html } of mails) t.same(holesOf(html ?? ''), [], subject);
      t.ok(mails.some(({ subject }) => subject === 'Your order NW-10482 is confirmed'));
    });
    t.match(await server.end('SIGTERM'), { code: 0 });

    await t.test('to a host that refuses', async (t) => {
      const host = {
        ...settings,
        SEALPOST_SMTP_URL: `smtp://127.0.0.1:${await freePort()}`,
        SEALPOST_RETRY_DELAYS: '1,1',
      };
      const again = serve(t, host);
      await runPage(t, firstMail.slice(refused), { ...reader, base: await again.listening, settings: host }, 'yes');
    });
  },
);
