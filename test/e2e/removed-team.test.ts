/**
 * Thirty days after a team was deleted: what was sealed of it is nowhere in the data directory, and the log is whole.
 */
import t from 'tap';
import { advanceUntil, startTestApp, storedEvents, type Answer } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock } from '../support/fake-clock.js';
import { runCommand } from '../support/server-process.js';
import { traces } from '../support/traces.js';
import { DAY_MS } from '../../src/domain/core/time.js';

t.setTimeout(900_000);

const MARK = 'Zanzibarian';
/** A word in names that are never sealed. */
const NAME = 'Ljubljana';
const person = { email: 'ada@example.com', password: 'a pelican in the rain', name: 'Ada Example' };

await t.test('nothing sealed of a removed team is left in any file, and verify holds', async (t) => {
  const [dataDir, clock] = [temporaryDirectory(t), fakeClock()];
  const app = await startTestApp({ isFounded: true, dataDir, clock });
  t.teardown(() => app.stop());
  const made = async (answer: Promise<Answer>): Promise<Readonly<Record<string, unknown>>> => {
    const { status, body, text } = await answer;
    if (status >= 300) throw new Error(`answered ${status} ${text}`);
    return body;
  };
  await made(app.call('POST', '/api/auth/register', person, { authorization: '' }));
  const { accessToken } = await made(
    app.call('POST', '/api/auth/login', { email: person.email, password: person.password }),
  );
  const signedIn = { authorization: `Bearer ${String(accessToken)}` };
  const team = await made(
    app.call('POST', '/api/teams', { name: 'Market', defaultFrom: { email: 'market@example.com' } }, signedIn),
  );
  const id = String(team.id);
  const inTeam = { ...signedIn, 'x-team-id': id };
  const template = {
    slug: 'note',
    name: 'Note',
    subject: `A note of ${NAME}`,
    variables: [{ name: 'text', type: 'string', required: true }],
    schema: {
      sections: [{ id: 'm', type: 'main', components: [{ id: 't', type: 'rich-text', content: '<p>{{text}}</p>' }] }],
    },
    publish: true,
  };
  await made(app.call('POST', '/api/templates', template, inTeam));
  const mail = {
    templateId: 'note',
    to: [{ email: `${MARK}-to@private.example`, name: `${MARK} Name` }],
    variables: { text: `${MARK}-text` },
    attachments: [
      {
        filename: `${MARK}.txt`,
        contentType: 'text/plain',
        content: Buffer.from(`${MARK} `.repeat(50)).toString('base64'),
      },
    ],
  };
  await made(app.call('POST', '/api/emails/send', mail, inTeam));
  const scheduledAt = new Date(clock.now() + 60 * DAY_MS).toISOString();
  await made(app.call('POST', '/api/emails/send', { ...mail, scheduledAt }, inTeam));
  const bulk = {
    templateId: 'note',
    recipients: [{ email: `${MARK}-bulk@private.example`, variables: { text: MARK } }],
    scheduledAt,
  };
  await made(app.call('POST', '/api/emails/send/bulk', bulk, inTeam));
  await made(app.call('POST', '/api/domains', { domain: `${NAME.toLowerCase()}.example` }, inTeam));
  await made(app.call('POST', '/api/suppressions', { email: `${MARK}-not@private.example` }, inTeam));
  const webhook = {
    url: `https://${MARK.toLowerCase()}.private.example/`,
    events: ['email.bounced'],
    description: MARK,
  };
  await made(app.call('POST', '/api/v1/webhook-subscriptions', webhook, inTeam));
  await app.whenCaughtUp();
  t.ok(traces(dataDir, MARK).length > 0, 'before, it is found');
  t.equal((await app.call('DELETE', `/api/teams/${id}`, undefined, signedIn)).status, 200);
  t.match(await runCommand(['retention', '--dry-run', '--json'], { SEALPOST_DATA_DIR: dataDir }), {
    stdout: /"name":"deleted.team"/,
  });

  // The machine slept: what runs under a lease begins anew.
  await clock.advance(30 * DAY_MS + 120_000);
  const isErased = async (): Promise<boolean> =>
    (await storedEvents(app.engine)).some(({ type }) => type === 'TeamErased.v1');
  await advanceUntil(clock, 1_000, 'the team is removed', isErased);
  await app.whenCaughtUp();
  await advanceUntil(clock, 1_000, 'nothing of it is left in any file', () => traces(dataDir, MARK).length === 0).catch(
    () => {},
  );
  t.same(traces(dataDir, MARK), []);
  t.ok(
    traces(dataDir, NAME).some((file) => file.startsWith('/events.db')),
    'what it has called and written is in the log',
  );

  await app.stop();
  t.same(traces(dataDir, MARK), [], 'nor after the stop');
  const replayed = await runCommand(['replay', '--all', '--json'], { SEALPOST_DATA_DIR: dataDir });
  t.notMatch(replayed.stdout, MARK);
  const verified = await runCommand(['verify'], { SEALPOST_DATA_DIR: dataDir });
  t.equal(verified.code, 0, verified.stdout + verified.stderr);
});
