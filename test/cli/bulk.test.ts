/** `sealpost bulk` beside a running server: what a file asks for is sent once, told, and cancelled. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openCliWorld } from './world.js';

t.setTimeout(900_000);

void t.test('a file of more than one call is tried, sent once, followed and told', async (t) => {
  const { run, dataDir } = await openCliWorld(t);
  const file = join(dataDir, 'people.csv');
  const rows = Array.from({ length: 1_003 }, (_, at) => `r${at}@example.com;${at}`);
  writeFileSync(file, ['E-Mail;Code', ...rows, 'no address;1'].join('\n'));
  const send = (...more: readonly string[]) =>
    run('bulk', 'send', file, '--template', 'sign-in-code', '--map', 'email=E-Mail', 'code=Code', ...more);
  const dry = await send('--dry-run');
  const would =
    '1003 emails would be made, 0 of them would fail; they cost 1003. 1 row is left out. Nothing was sent.\n';
  t.match(dry, { code: 1, stdout: would }, 'a row that is left out is not sent to');
  t.match(dry.stderr, /\(line 1005\) is left out/);
  t.equal((await run('bulk', 'list')).stdout, '');
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const sent = await send('--schedule', tomorrow, '--name', 'People');
  t.equal(sent.code, 0, sent.stderr);
  const lines = sent.stdout.trim().split('\n');
  t.match(lines, [/^\S+ {2}1000 emails are scheduled\.$/, /^\S+ {2}3 emails are scheduled\.$/]);
  const ids = lines.map((line) => line.split(' ')[0]!);
  const again = await send('--schedule', tomorrow, '--name', 'People');
  t.same(
    again.stdout.trim().split('\n'),
    ids.map((id) => `${id}  was accepted before`),
    'nothing is made twice',
  );
  t.match(JSON.parse((await run('bulk', 'status', ids[0]!, '--json')).stdout), {
    status: 'scheduled',
    totalEmails: 1_000,
    batchName: 'People',
  });
  t.equal((await run('bulk', 'cancel', ids[0]!)).stdout, '1000 emails will not leave.\n');
  t.match((await run('bulk', 'cancel', ids[0]!)).stderr, /this one is cancelled/);
  t.match((await run('bulk', 'status', 'x')).stderr, /x is not the id of a bulk send/);

  writeFileSync(file, 'email,code\na@example.com,1\nb@example.com,2\n');
  const now = await run('bulk', 'send', file, '--template', 'sign-in-code', '--follow');
  t.match(now, {
    code: 0,
    stdout: /2 emails are queued\.\n\S+ {2}completed {2}2 sent, 0 failed, 0 cancelled, 0 open of 2\n$/,
  });
  const id = now.stdout.split(' ')[0]!;
  t.match(
    (await run('bulk', 'results', id)).stdout,
    /^place,email,.*\r\n0,a@example\.com,delivered,.*\r\n1,b@example\.com,delivered,.*\r\n$/,
  );
  t.match(JSON.parse((await run('bulk', 'results', id, '--format', 'jsonl')).stdout.split('\n')[1]!), {
    place: 1,
    email: 'b@example.com',
  });
  t.match((await run('bulk', 'list')).stdout, new RegExp(`^${id}  completed`));
  t.match(
    (await run('bulk', 'send', file, '--template', 'sign-in-code', '--map', 'x')).stderr,
    /--map x is not written field=column/,
  );
  t.match(
    (await run('bulk', 'send', file, '--template', 'sign-in-code', '--priority', 'now')).stderr,
    /--priority now is not one of/,
  );
});
