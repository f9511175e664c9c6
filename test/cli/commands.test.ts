/**
 * Commands that change something, beside a running server on the same data directory; one of them as a process of its
 * own.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';
import { sendBody } from '../support/app.js';
import { runCommand, runProcess } from '../support/server-process.js';
import { eventually } from '../support/wait.js';
import { openCliWorld, type KeyRecord } from './world.js';

t.setTimeout(900_000);

const { dataDir, settings, firstKey, run, call, createKey } = await openCliWorld(t);

const LEAD_MS_MAX = 60_000;

/** A key that expires soon, but not before the command that makes it has started, however busy the machine is. */
const expiringKey = async (leadMs = 2_000): Promise<KeyRecord> => {
  try {
    return await createKey('--name', 'expiring', '--expires', new Date(Date.now() + leadMs).toISOString());
  } catch (fault) {
    if (leadMs > LEAD_MS_MAX || !/expired from the start/.test(String(fault))) throw fault;
    return expiringKey(2 * leadMs);
  }
};

await t.test('clock confirm: the running service goes by the clock of the machine', async (t) => {
  const { code, stdout } = await run('clock', 'confirm');
  t.match({ code, stdout }, { code: 0, stdout: /^\d{4}-\d\d-\d\dT.*Z is confirmed as the time of day/ });
  const confirmation = readFileSync(join(dataDir, 'clock.json.confirmed'), 'utf8');
  await eventually('it is heeded', () => readFileSync(join(dataDir, 'clock.json'), 'utf8').includes(confirmation));
  t.match(await runCommand(['clock', 'confirm'], { SEALPOST_DATA_DIR: join(dataDir, 'nowhere') }), {
    code: 1,
    stderr: /there is no data directory/,
  });
});

await t.test('key create: every option holds in the server at once', async (t) => {
  const all = await createKey('--name', 'all');
  t.match(all, { name: 'all', rateLimit: null, expiresAt: null });
  t.equal((await call(all.key, 'GET', '/api/emails')).status, 200);

  const narrow = await createKey(
    '--name',
    'narrow',
    '--permissions',
    'emails:read, templates:read',
    '--rate-limit',
    '3',
  );
  t.same(narrow.permissions, ['emails:read', 'templates:read']);
  t.match((await createKey('--name', 'staging', '--test')).key, /^sealpost_test_sk_/);
  t.match(await call(narrow.key, 'POST', '/api/emails/send', sendBody()), { status: 403, body: { code: 'FORBIDDEN' } });
  const second = await call(narrow.key, 'GET', '/api/emails');
  t.equal(second.headers.get('x-ratelimit-limit'), '3');
  // How many calls are answered before the first refusal depends on the minute in which each of them falls.
  const refused = await eventually('the fourth call within a minute is refused', async () => {
    const answer = await call(narrow.key, 'GET', '/api/templates');
    return answer.status !== 200 && answer;
  });
  t.match(refused, { status: 429, body: { code: 'RATE_LIMIT_EXCEEDED', retryAfter: Number } });
  t.ok(Number(refused.headers.get('retry-after')) > 0);

  const expiring = await expiringKey();
  t.type(expiring.expiresAt, 'string');
  t.match(
    await eventually(
      'the key expires',
      async () => {
        const answer = await call(expiring.key, 'GET', '/api/emails');
        return answer.status !== 200 && answer;
      },
      2 * LEAD_MS_MAX,
    ),
    { status: 401, body: { code: 'API_KEY_EXPIRED' } },
  );

  const shown = await runProcess(['key', 'create', '--name', 'in words'], settings);
  t.equal((await run('key', 'create', '--name', '🔑'.repeat(255))).code, 0, 'characters are code points');
  t.equal(shown.code, 0);
  t.match(shown.stdout, /^Key key_\S+ \(in words\), shown this once:\n\n {2}\S+\n/);
});

await t.test('key change: what is given is changed, in the server too', async (t) => {
  const made = await createKey('--name', 'elsewhere', '--networks', '192.0.2.0/24, 2001:db8::/32');
  t.same(made.networks, ['192.0.2.0/24', '2001:db8::/32']);
  t.match(await call(made.key, 'GET', '/api/emails'), { status: 403, body: { code: 'API_KEY_NETWORK_NOT_ALLOWED' } });
  t.match(await run('key', 'change', made.id, '--networks', '127.0.0.0/8', '--name', 'here', '--rate-limit', '50'), {
    code: 0,
    stdout: /^Key key_\S+ \(here\) is changed\.\nFrom: 127\.0\.0\.0\/8\nRate limit: 50 a minute\n$/,
  });
  await eventually('the key works from here', async () => (await call(made.key, 'GET', '/api/emails')).status === 200);
  const { code, stdout } = await run(
    'key',
    'change',
    made.id,
    '--networks',
    'none',
    '--rate-limit',
    'none',
    '--description',
    'x',
    '--json',
  );
  t.equal(code, 0);
  t.match(JSON.parse(stdout), { id: made.id, name: 'here', description: 'x', networks: null, rateLimit: null });
  t.match(await run('key', 'change', made.id), { code: 1, stderr: /give at least one of --name/ });
  t.match(await run('key', 'change', made.id, '--rate-limit', '0'), {
    code: 1,
    stderr: /--rate-limit 0 is not a whole number/,
  });
});

await t.test('key create: what is wrong is said in a sentence', async (t) => {
  for (const [args, sentence] of [
    [[], /required option '--name <name>'/],
    [['--name', 'x', '--permissions', 'emails:fly'], /emails:fly is not a permission; there are emails:send/],
    [['--name', 'x', '--rate-limit', '0'], /--rate-limit 0 is not a whole number from 1 to/],
    [['--name', 'x', '--rate-limit', 'many'], /--rate-limit many/],
    [['--name', 'x', '--rate-limit', '0x10'], /--rate-limit 0x10 is not a whole number/],
    [['--name', 'x', '--rate-limit', '99999999999'], /--rate-limit 99999999999 is not a whole number from 1 to/],
    [
      ['--name', 'x', '--networks', '10.0.0.1/8'],
      /--networks: 10\.0\.0\.1\/8 names an address inside its network; the network is 10\.0\.0\.0\/8/,
    ],
    [['--name', 'x', '--networks', '10.0.0.0/8,'], /--networks: {2}is no network/],
    [['--name', 'x', '--networks', Array(51).fill('10.0.0.0/8').join(',')], /--networks has 51 networks; at most 50/],
    [['--name', 'x', '--expires', 'soon'], /--expires soon is not an ISO 8601 time/],
    [['--name', 'x', '--expires', '2090'], /--expires 2090 is not an ISO 8601 time/],
    [['--name', 'x', '--expires', '2090-01-01T00:00:00'], /is not an ISO 8601 time/],
    [['--name', 'x', '--expires', '2001-01-01T00:00:00Z'], /expired from the start/],
    [['--name', ''], /--name has 0 characters/],
    [['--name', '🔑'.repeat(256)], /--name has 256 characters/],
    [['--name', 'two\nlines'], /--name must not hold control characters/],
    [['--name', '\u200b'], /--name must have a visible character/],
  ] as const) {
    const { code, stdout, stderr } = await run('key', 'create', ...args);
    t.equal(code, 1, args.join(' '));
    t.match(stderr, sentence, args.join(' '));
    t.equal(stdout, '');
    t.notMatch(stderr, /\n\s+at /, 'no stack');
  }
});

await t.test('key revoke holds in the server when it answers', async (t) => {
  const { id, key } = await createKey('--name', 'short-lived');
  t.equal((await call(key, 'GET', '/api/emails')).status, 200);
  const revoked = await run('key', 'revoke', id);
  t.match(revoked, { code: 0, stdout: `Key ${id} (short-lived) is revoked.\n` });
  t.match(await call(key, 'GET', '/api/emails'), { status: 401, body: { code: 'API_KEY_REVOKED' } });
  t.match(await run('key', 'revoke', 'key_AAAAAAAAAAAAAAAAAAAAAA'), { code: 1, stderr: /no API key|There is no/ });
  t.match(await run('key', 'revoke', 'nonsense'), { code: 1, stderr: /nonsense is not the id of a key/ });
});

await t.test('template import: creates, updates, and names the path of each fault', async (t) => {
  const file = join(dataDir, 'welcome.json');
  const template = (text: string) => ({
    slug: 'welcome',
    name: 'Welcome',
    subject: 'Hello {{name}}',
    variables: [{ name: 'name', type: 'string', required: true }],
    schema: {
      sections: [{ id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: text }] }],
    },
  });
  writeFileSync(file, JSON.stringify(template('<p>First {{name}}</p>')));
  t.match(await run('template', 'import', file), {
    code: 0,
    stdout: /Template welcome \(.*\) is created and published as version 1\./,
  });
  const preview = async () =>
    String(
      (await call(firstKey, 'POST', '/api/templates/welcome/preview', { variables: { name: 'Ada' } })).body['html'],
    );
  t.match(await preview(), 'First Ada');
  writeFileSync(file, JSON.stringify(template('<p>Second {{name}}</p>')));
  t.match(await run('template', 'import', file), { code: 0, stdout: /is published as version 2\./ });
  await eventually('the server renders the new version', async () => (await preview()).includes('Second Ada'));

  const broken = template('<p>{{name</p>');
  broken.schema.sections[0]!.components.push({ id: 'text', type: 'no-such-type', content: '' });
  writeFileSync(file, JSON.stringify(broken));
  const faults = await run('template', 'import', file);
  t.equal(faults.code, 1);
  t.match(faults.stderr, /components\[0\]/);
  t.match(faults.stderr, /components\[1\]/);
  t.match(await preview(), 'Second Ada', 'nothing was saved');
  writeFileSync(file, JSON.stringify({ slug: 'welcome', colour: 1 }));
  t.match(await run('template', 'import', file), { code: 1, stderr: /is not a template:\n.*\/(name|colour|schema)/ });
  writeFileSync(file, '{');
  t.match(await run('template', 'import', file), { code: 1, stderr: /cannot be read as JSON/ });
  t.match(await run('template', 'import', join(dataDir, 'absent.json')), {
    code: 1,
    stderr: /absent\.json: it is not there/,
  });
});

await t.test('template list, pull and preview: what is pulled can be imported again', async (t) => {
  const listed = await run('template', 'list');
  t.match(listed, { code: 0, stdout: /^order-confirmation {2}email {2}published {2}[0-9a-f-]{36} {2}\S/m });
  t.match(listed.stdout, /^\S+ {2}attachment {2}published {2}\S+ {2}\S/m);
  const rows = (await run('template', 'list', '--json')).stdout.trim().split('\n');
  const [attachment] = rows
    .map((row) => JSON.parse(row) as { slug: string; type: string })
    .filter(({ type }) => type === 'attachment');
  const place = temporaryDirectory(t);
  for (const [slug, ...kind] of [['order-confirmation'], [attachment!.slug, '--attachment']] as const) {
    const pulled = await run('template', 'pull', slug, ...kind);
    t.match(JSON.parse(pulled.stdout), { slug, type: kind.length === 0 ? 'email' : 'attachment', status: 'published' });
    const file = join(place, `${slug}.json`);
    t.match(await run('template', 'pull', slug, file, ...kind), { code: 0, stdout: '' });
    t.equal(readFileSync(file, 'utf8'), pulled.stdout);
    t.match(await run('template', 'pull', slug, file, ...kind), {
      code: 1,
      stderr: `sealpost: ${file}: it is there already\n`,
    });
    t.match(await run('template', 'pull', slug, file, '--force', ...kind), { code: 0 });
    t.match(await run('template', 'import', file), { code: 0, stdout: /is published as version \d+\.\n$/ });
  }
  const block = join(place, 'block.json');
  const components = [{ id: 'city', type: 'rich-text', content: 'Lisbon' }];
  writeFileSync(block, JSON.stringify({ slug: 'foot', name: 'Foot', schema: { components } }));
  t.match(await run('template', 'import', block), {
    stdout: /^Block foot \(.*\) is created and published as version 1/,
  });
  t.match((await run('template', 'list')).stdout, /^foot {2}block {2}published/m);
  t.match(await run('template', 'pull', 'foot', block, '--block', '--force'), { code: 0 });
  t.match(await run('template', 'import', block), { stdout: /^Block foot \(.*\) is published as version 1/ });
  const variables = join(place, 'variables.json');
  writeFileSync(variables, JSON.stringify({ code: '424242' }));
  t.match(
    (await run('template', 'preview', 'sign-in-code', '--variables', variables)).stdout,
    /^<!doctype html>[^]*424242/i,
  );
  t.match(
    (await run('template', 'preview', 'sign-in-code', '--format', 'text', '--variables', variables)).stdout,
    /^[^<]*424242/,
  );
  const document = join(place, 'document.pdf');
  t.match(await run('template', 'preview', attachment!.slug, document, '--format', 'pdf', '--attachment'), {
    code: 0,
    stdout: '',
  });
  t.equal(readFileSync(document, 'latin1').slice(0, 5), '%PDF-');
  t.match(await run('template', 'preview', 'sign-in-code', '--format', 'pdf'), {
    code: 1,
    stderr: /--format pdf is not one of html, text/,
  });
  t.match(await run('template', 'pull', 'nothing'), {
    code: 1,
    stderr: /^sealpost: There is no template with this id or slug/,
  });
});

await t.test('template import takes attachment templates too, as files and as exports', async (t) => {
  const file = join(dataDir, 'note.json');
  const template = (text: string) => ({
    slug: 'note',
    name: 'Delivery note',
    schema: {
      outputFormats: ['pdf'],
      pages: [
        {
          pageId: 'p',
          pageName: 'Note',
          sections: [{ id: 's', type: 'main', components: [{ id: 'text', type: 'rich-text', content: text }] }],
        },
      ],
    },
  });
  writeFileSync(file, JSON.stringify({ ...template('<p>First</p>'), publish: true }));
  t.match(await run('template', 'import', file), {
    code: 0,
    stdout: /Attachment template note \(atpl_[0-9a-z]{10}\) is created and published as version 1\./,
  });
  const { body: exported } = await call(firstKey, 'GET', '/api/templates/attachment/note');
  t.match(exported, { type: 'attachment', status: 'published', outputFormats: ['pdf'] });
  writeFileSync(file, JSON.stringify({ ...exported, name: 'Packing slip' }));
  t.match(await run('template', 'import', file), {
    code: 0,
    stdout: /Attachment template note \(atpl_[0-9a-z]{10}\) is published as version 2\./,
  });
  writeFileSync(file, JSON.stringify(template('<p>{{name</p>')));
  t.match(await run('template', 'import', file), {
    code: 1,
    stderr: /schema\.pages\[0\]\.sections\[0\]\.components\[0\]\.content/,
  });
  writeFileSync(file, JSON.stringify({ ...template('x'), subject: 'none' }));
  t.match(await run('template', 'import', file), { code: 1, stderr: /is not a template:\n.*subject/ });
});

await t.test('team show and set', async (t) => {
  const set = await run(
    'team',
    'set',
    '--name',
    'Example',
    '--from',
    'Example <post@example.org>',
    '--company',
    'name=Example Ltd',
    'city=Berlin',
  );
  t.equal(set.code, 0, set.stderr);
  const shown = await run('team', 'show');
  t.match(JSON.parse(shown.stdout), {
    settings: {
      name: 'Example',
      defaultFrom: { email: 'post@example.org', name: 'Example' },
      company: { name: 'Example Ltd', city: 'Berlin' },
    },
  });
  await eventually('the server sends from the new address', async () => {
    const { body } = await call(firstKey, 'POST', '/api/emails/send', sendBody());
    return String(body['messageId']).endsWith('@example.org>');
  });
  t.match(await run('team', 'set', '--company', 'colour=red'), {
    code: 1,
    stderr: /--company colour=red is not of the form field=value/,
  });
  t.match(await run('team', 'set', '--from', 'nobody'), { code: 1, stderr: /address/ });
});

await t.test('rebuild beside the server under load: the lists stay right', async (t) => {
  const { key } = await createKey('--name', 'load', '--rate-limit', '1000000');
  let sending = true;
  let sent = 0;
  const totalBefore = ((await call(key, 'GET', '/api/emails?limit=1')).body['meta'] as { total: number }).total;
  const senders = Array.from({ length: 4 }, async () => {
    while (sending) {
      const { status } = await call(key, 'POST', '/api/emails/send', sendBody());
      if (status !== 201) throw new Error(`a send call was answered ${status}`);
      sent += 1;
    }
  });
  for (let times = 0; times < 2; times += 1) {
    const rebuilt = await run('rebuild');
    t.equal(rebuilt.code, 0, rebuilt.stderr);
    for (const name of ['emails', 'templates', 'attachmentTemplates', 'apiKeys'])
      t.match(rebuilt.stdout, new RegExp(`${name}: \\d+ events in [\\d.]+ s`));
  }
  sending = false;
  await Promise.all(senders);
  t.ok(sent > 20, `${sent} emails were sent meanwhile`);
  await eventually(
    'all are delivered',
    async () =>
      ((await call(key, 'GET', '/api/emails?status=delivered&limit=1')).body['meta'] as { total: number }).total ===
      totalBefore + sent,
  );
  let cursor = '';
  const ids = new Set<string>();
  do {
    const { body } = await call(key, 'GET', `/api/emails?limit=100${cursor}`);
    for (const { id } of body['data'] as { id: string }[]) ids.add(id);
    const { nextCursor } = body['meta'] as { nextCursor: string | null };
    cursor = nextCursor === null ? '' : `&cursor=${encodeURIComponent(nextCursor)}`;
  } while (cursor !== '');
  t.equal(ids.size, totalBefore + sent, 'walking through all pages finds each email once');
  const verified = await run('verify');
  t.equal(verified.code, 0, verified.stderr);
  t.match(verified.stdout, /emails: \d+ documents at position \d+ equal a rebuild/);
  t.match(await run('rebuild', 'nothing'), {
    code: 1,
    stderr: /there is no projection nothing; there are emails, templates, attachmentTemplates, .*apiKeys/,
  });
});
