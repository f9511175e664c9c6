/** Commands that tell of the past, each as a process of its own beside a running server on the same data directory. */
import t from 'tap';
import { sendBody } from '../support/app.js';
import { eventually } from '../support/wait.js';
import { openCliWorld } from './world.js';

t.setTimeout(900_000);

const { firstKey, run, call } = await openCliWorld(t);

await t.test('show: what a stream adds up to, now and at a moment of the past', async (t) => {
  const { body } = await call(firstKey, 'POST', '/api/emails/send', sendBody({ to: [{ email: 'shown@example.com' }] }));
  const id = String(body['id']);
  await eventually(
    'it is delivered',
    async () => (await call(firstKey, 'GET', `/api/emails/${id}`)).body['status'] === 'delivered',
  );
  const shown = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await run('show', ...args);
    t.equal(code, 0, stderr);
    return JSON.parse(stdout) as {
      upTo: { eventId: string; revision: number; occurredAt: string };
      state: Record<string, unknown>;
    };
  };
  const now = await shown(`email-${id}`);
  t.match(now, { stream: `email-${id}`, upTo: { type: 'EmailDelivered', revision: 3 } });
  t.same(now.state, (await call(firstKey, 'GET', `/api/emails/${id}`)).body);
  const events = (await run('replay', id, '--json')).stdout.trim().split('\n');
  const { metadata } = JSON.parse(events[0]!) as { metadata: { eventId: string } };
  const first = await shown(id, '--as-of', metadata.eventId);
  t.match(first, {
    upTo: { type: 'EmailQueued', revision: 0 },
    state: { status: 'queued', recipients: [{ email: 'shown@example.com' }] },
  });
  t.same((await call(firstKey, 'GET', `/api/emails/${id}?asOf=${metadata.eventId}`)).body, first.state);
  t.same(await shown(id, '--as-of', now.upTo.occurredAt), now);

  const all = (await run('replay', '--all', '--json')).stdout.trim().split('\n');
  const streams = new Set(all.map((line) => (JSON.parse(line) as { stream: string }).stream));
  for (const kind of ['team', 'template', 'templateSlug', 'apiKey', 'instance']) {
    const stream = [...streams].find((name) => name.split('-')[0] === kind)!;
    const { state } = await shown(stream);
    t.ok(state, stream);
    t.notMatch(JSON.stringify(state), /"hash":"[0-9a-f]{8}/);
  }

  for (const [args, sentence] of [
    [['email-nobody'], /there is no stream email-nobody/],
    [['nothing-1'], /there is no stream nothing-1/],
    [[id, '--as-of', 'yesterday'], /--as-of yesterday is neither/],
    [[id, '--as-of', '2001-01-01'], /has no event up to 2001-01-01; it began later/],
    [[id, '--as-of', id], /is the id of no event of email-/],
  ] as const)
    t.match(await run('show', ...args), { code: 1, stderr: sentence }, args.join(' '));

  t.equal((await call(firstKey, 'DELETE', `/api/emails/${id}`)).status, 200);
  const destroyed = await shown(id, '--as-of', metadata.eventId);
  t.match(destroyed, { state: { status: 'queued', recipients: [{ email: null }] } });
  t.notMatch(JSON.stringify(destroyed), /shown@example/);
});

await t.test('timeline: a line for each event, as a table and as JSON', async (t) => {
  const { body } = await call(
    firstKey,
    'POST',
    '/api/emails/send',
    sendBody({ to: [{ email: 'traced@example.com' }] }),
  );
  const id = String(body['id']);
  await eventually(
    'it is delivered',
    async () => (await call(firstKey, 'GET', `/api/emails/${id}`)).body['status'] === 'delivered',
  );
  const { code, stdout } = await run('timeline', id);
  t.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  t.match(lines[0], /^TIME +SINCE +KIND +TOOK +TO +WHAT +BY +CAUSE +ID$/);
  const column = lines[0]!.indexOf('KIND');
  t.same(
    lines.slice(1).map((line) => /^\w+/.exec(line.slice(column))?.[0]),
    ['EmailQueued', 'DeliveryAttempted', 'EmailSent', 'EmailDelivered'],
  );
  t.match(lines[1], /apiKey:key_\S+ +request /);
  t.match(lines[3], / ms +traced@example\.com +accepted 250/);
  const told = (await run('timeline', `email-${id}`, '--json')).stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  t.same(told, (await call(firstKey, 'GET', `/api/emails/${id}/timeline`)).body['data']);
  t.match(await run('timeline', 'nonsense'), { code: 1, stderr: /nonsense is not the id of an email/ });
  t.match(await run('timeline', '99999999-9999-4999-8999-999999999999'), { code: 1, stderr: /no email with this id/ });
});
