/** The commands from afar, against one running service that all cases share: in threads, and as processes where signals count. */
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { createClient, verify } from '../../../packages/sdk/src/index.js';
import { sendBody } from '../../support/app.js';
import { temporaryDirectory } from '../../support/data-directory.js';
import { runPage, shownOf } from '../../support/documented-pages.js';
import { freePort } from '../../support/free-port.js';
import { PASSWORD } from '../../support/people.js';
import { environmentOf, finished, mainFile, runCommand, type Settings } from '../../support/server-process.js';
import { eventually } from '../../support/wait.js';
import { openReceiver } from '../../support/webhook-receiver.js';
import { openCliWorld } from '../world.js';

t.setTimeout(600_000);

type Fields = Readonly<Record<string, unknown>>;

// The address of the service is that of its tokens.
const world = await openCliWorld(t, { PORT: String(await freePort()) });
const { base, createKey } = world;
const { key } = await createKey('--name', 'afar', '--rate-limit', '1000000');
const client = createClient({ url: base, key });
const home = temporaryDirectory(t);
const settings: Settings = { SEALPOST_API_URL: base, SEALPOST_API_KEY: key, XDG_CONFIG_HOME: home };

const run = (...args: readonly string[]) => runCommand(args, settings);
/** Without an address and a key. */
const runBare = (...args: readonly string[]) => runCommand(args, { XDG_CONFIG_HOME: home });

const folder = temporaryDirectory(t);
const fileOf = (name: string, of = folder): string => join(of, name);
const read = (name: string, of = folder): Fields => JSON.parse(readFileSync(fileOf(name, of), 'utf8')) as Fields;
const edit = (name: string, change: Fields, of = folder): void =>
  writeFileSync(fileOf(name, of), JSON.stringify({ ...read(name, of), ...change }));

/** A host between the command and the service. In: what it does to a request; true: it has answered. */
const openBetween = async (take: (method: string, path: string, reply: ServerResponse) => Promise<boolean>) => {
  const server = createServer((request, reply) => {
    const { method = '', url = '', headers } = request;
    void take(method, url, reply).then((isDone) => {
      if (isDone) return;
      const onward = httpRequest(new URL(url, base), { method, headers }, (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(reply);
      });
      request.pipe(onward);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close(() => undefined).closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** A command that runs until a signal. */
const started = (args: readonly string[], of = settings) => {
  const child = spawn(process.execPath, [mainFile, ...args], {
    env: { ...environmentOf(of), NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = finished(child, 300_000);
  t.teardown(() => void child.kill('SIGKILL'));
  return {
    output: () => output,
    ended,
    end: (signal: NodeJS.Signals) => {
      child.kill(signal);
      return ended;
    },
  };
};

await t.test('templates list: a table of 80 columns, and JSON', async (t) => {
  const { code, stdout } = await run('templates', 'list');
  t.equal(code, 0);
  t.match(stdout, /^KIND +SLUG +STATE +LIVE +NAME\n/);
  t.match(stdout, /^email +order-confirmation +published +v1 +Order confirmation$/m);
  t.match(stdout, /^attachment +invoice +published +v1 +Invoice$/m);
  for (const line of stdout.split('\n')) t.ok(line.length <= 160, line);
  const { stdout: json } = await run('templates', 'list', '--json');
  const all = JSON.parse(json) as readonly Fields[];
  t.match(
    all.find(({ slug }) => slug === 'letter'),
    { kind: 'block', state: 'published', id: String },
  );
});

await t.test('templates pull: files for git; a second pull writes nothing', async (t) => {
  const { code, stdout } = await run('templates', 'pull', folder);
  t.equal(code, 0);
  t.match(stdout, /^new +emails\/order-confirmation\.json$/m);
  t.same(Object.keys(read('emails/order-confirmation.json')).slice(0, 3), ['$schema', 'slug', 'name']);
  t.notOk('id' in read('emails/order-confirmation.json'));
  t.ok(existsSync(fileOf('schemas/email-template.json')));
  t.equal(readFileSync(fileOf('.sealpost/.gitignore'), 'utf8'), '*\n');
  const before = statSync(fileOf('emails/news.json')).mtimeMs;
  t.match(await run('templates', 'pull', folder), { code: 0, stdout: /^0 written, \d+ unchanged\n$/ });
  t.equal(statSync(fileOf('emails/news.json')).mtimeMs, before);
  t.match(await run('templates', 'diff', folder), { code: 0, stdout: /^0 of \d+ differ\n$/ });
});

await t.test('push: what differs alone, first in words', async (t) => {
  edit('emails/password-reset.json', { subject: 'Choose another password' });
  const differs = await run('templates', 'diff', folder);
  t.equal(differs.code, 2);
  t.match(
    differs.stdout,
    /^emails\/password-reset\.json\n {2}changed subject: “.*” → “Choose another password”\n1 of /,
  );
  const { code, stdout } = await run('templates', 'diff', folder, '--json', '--only', 'password-reset');
  t.equal(code, 2);
  t.match(JSON.parse(stdout), {
    equal: false,
    templates: [
      { file: 'emails/password-reset.json', state: 'different', differences: [{ what: 'changed', where: 'subject' }] },
    ],
  });
  t.match(await run('templates', 'push', folder, '--dry-run'), {
    code: 0,
    stdout: /subject: .* → .*\n1 would be changed; this was a dry run\n$/,
  });
  t.not((await client.templates.get('password-reset')).subject, 'Choose another password');
  t.match(await run('templates', 'push', folder), {
    code: 0,
    stdout: /^updated +emails\/password-reset\.json\n1 pushed, \d+ unchanged\n$/,
  });
  t.match(await client.templates.get('password-reset'), { subject: 'Choose another password', status: 'draft' });
  t.match(await run('templates', 'diff', folder), { code: 0 });
  t.match(await run('templates', 'push', folder, '--publish'), { code: 0, stdout: /live as version 2$/m });
  t.match(await client.templates.get('password-reset'), { status: 'published' });
});

await t.test('push: new files, and one that the service refuses beside one that it takes', async (t) => {
  const { id: _, ...news } = read('emails/news.json');
  writeFileSync(fileOf('emails/hello.json'), JSON.stringify({ ...news, slug: 'hello', name: 'Hello' }));
  writeFileSync(fileOf('emails/wrong.json'), JSON.stringify({ ...news, slug: 'wrong', subject: '{{never.closed' }));
  const { code, stdout, stderr } = await run('templates', 'push', folder);
  t.equal(code, 1);
  t.match(stdout, /^created +emails\/hello\.json\n/m);
  t.match(stdout, /1 pushed, \d+ unchanged, 1 failed\n$/);
  t.match(stderr, /^failed +emails\/wrong\.json: .*never closed/m);
  rmSync(fileOf('emails/wrong.json'));
  t.match(await run('templates', 'diff', folder), { code: 0 });
});

await t.test('two people: a change in between is told, and not overwritten', async (t) => {
  const other = temporaryDirectory(t);
  await run('templates', 'pull', other);
  edit('emails/news.json', { subject: 'Mine' });
  t.match(await run('templates', 'push', folder), { code: 0 });
  edit('emails/news.json', { subject: 'Theirs' }, other);
  t.match(await run('templates', 'push', other), {
    code: 1,
    stderr: /emails\/news\.json changed on the service since/,
  });
  t.match(await run('templates', 'push', other, '--json'), {
    code: 1,
    stderr: /^\{"error":\{"code":"CHANGED_MEANWHILE"/,
  });
  t.equal((await client.templates.get('news')).subject, 'Mine');
  t.match(await run('templates', 'pull', other), {
    code: 1,
    stderr: /^emails\/news\.json was edited here and differs/,
  });
  t.equal(read('emails/news.json', other)['subject'], 'Theirs');
  t.match(await run('templates', 'pull', other, '--force'), { code: 0, stdout: /^updated +emails\/news\.json$/m });
  edit('emails/news.json', { subject: 'Of both' }, other);
  t.match(await run('templates', 'push', other), { code: 0 });
  t.match(await run('templates', 'pull', folder), { code: 0, stdout: /^updated +emails\/news\.json$/m });
  t.equal(read('emails/news.json')['subject'], 'Of both');

  // Another person changes it between the reading and the writing of one push.
  let isFirst = true;
  const url = await openBetween(async (method) => {
    if (method === 'PATCH' && isFirst) {
      isFirst = false;
      await client.templates.update('news', { subject: 'Quicker' });
    }
    return false;
  });
  edit('emails/news.json', { subject: 'Slower' });
  t.match(await run('templates', 'push', folder, '--url', url, '--key', key), {
    code: 1,
    stderr: /emails\/news\.json: somebody changed it on the service in this moment \(REVISION_MISMATCH\)/,
  });
  t.equal((await client.templates.get('news')).subject, 'Quicker');
  await run('templates', 'pull', folder, '--force');
});

await t.test('a template that was renamed on the service', async (t) => {
  const other = temporaryDirectory(t);
  await run('templates', 'pull', other, '--only', 'hello,ticket');
  t.same(readdirSync(fileOf('emails', other)), ['hello.json', 'ticket.json']);
  await client.templates.update('hello', { slug: 'welcome' });
  t.match(await run('templates', 'push', folder), { code: 1, stdout: /has become emails\/welcome\.json/ });
  t.match(await run('templates', 'pull', folder), {
    code: 0,
    stdout: /^renamed +emails\/hello\.json → emails\/welcome\.json$/m,
  });
  t.notOk(existsSync(fileOf('emails/hello.json')));
  edit('emails/hello.json', { subject: 'Edited' }, other);
  await run('templates', 'pull', other);
  t.equal(read('emails/hello.json', other)['subject'], 'Edited', 'a file that was edited here stays');
  t.match(await run('templates', 'diff', folder), { code: 0 });
});

await t.test('folders that are damaged, or that lead elsewhere', async (t) => {
  const other = temporaryDirectory(t);
  const outside = temporaryDirectory(t);
  t.match(await run('templates', 'push', other), { code: 1, stderr: /has no emails, attachments or blocks/ });
  mkdirSync(fileOf('emails', other));
  writeFileSync(fileOf('emails/news.json', other), '{"slug": "news",');
  for (const command of ['push', 'pull', 'diff'])
    t.match(await run('templates', command, other), { code: 1, stderr: /emails\/news\.json is no JSON: / });
  writeFileSync(fileOf('emails/news.json', other), '{"slug":"../news"}');
  t.match(await run('templates', 'push', other), { code: 1, stderr: /`slug` must have small letters/ });
  rmSync(fileOf('emails/news.json', other));
  symlinkSync(join(outside, 'target.json'), fileOf('emails/news.json', other));
  t.match(await run('templates', 'pull', other), { code: 1, stderr: /is a symbolic link that leads out of/ });
  rmSync(fileOf('emails', other), { recursive: true });
  symlinkSync(outside, fileOf('emails', other));
  t.match(await run('templates', 'pull', other), { code: 1, stderr: /is a symbolic link that leads out of/ });
  t.same(readdirSync(outside), []);
  const hostile = await openBetween(async (_, path, reply) => {
    if (!path.startsWith('/api/templates?')) return false;
    const { data, meta } = (await (
      await fetch(new URL(path, base), { headers: { authorization: `Bearer ${key}` } })
    ).json()) as Readonly<{ data: readonly Fields[]; meta: unknown }>;
    reply.writeHead(200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ meta, data: data.map((one) => ({ ...one, slug: '../../escaped' })) }));
    return true;
  });
  const inner = join(outside, 'a', 'b');
  t.match(await run('templates', 'pull', inner, '--url', hostile, '--key', key), {
    code: 1,
    stderr: /the slug "\.\.\/\.\.\/escaped" is no name of a file/,
  });
  t.notOk(existsSync(join(outside, 'escaped.json')));
});

await t.test(
  'a pull that breaks off, or that Ctrl-C ends, is whole as far as it came, and goes on from there',
  async (t) => {
    const other = temporaryDirectory(t);
    const slugs = ['emails/news', 'emails/ticket', 'emails/password-reset'];
    const isOne = (path: string): boolean => /^\/api\/templates\/(?!attachment)[^/?]+$/.test(path);
    let asked = 0;
    const broken = await openBetween(async (_method, path, reply) => {
      if (!isOne(path) || (asked += 1) < slugs.length) return false;
      reply.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"id":');
      await eventually(
        'the others are written',
        () => existsSync(join(other, 'emails')) && readdirSync(join(other, 'emails')).length === 2,
      );
      reply.destroy();
      return true;
    });
    const pull = ['templates', 'pull', other, '--only', slugs.join()];
    t.match(await run(...pull, '--url', broken, '--key', key), {
      code: 1,
      stderr: 'sealpost: The answer of the service broke off. (NOT_REACHED)\n',
    });
    const state = read('.sealpost/state.json', other)[broken] as Fields;
    const written = readdirSync(join(other, 'emails'));
    t.same(Object.keys(state).sort(), written.map((name) => `emails/${name}`).sort());
    // A template of which the file is there changes: the file was not edited here, and is replaced.
    const slug = written[0]!.replace('.json', '');
    const { subject } = await client.templates.get(slug);
    await client.templates.update(slug, { subject: 'Changed meanwhile' });
    const forward = await openBetween(() => Promise.resolve(false));
    const kept = JSON.parse(readFileSync(fileOf('.sealpost/state.json', other), 'utf8')) as Fields;
    writeFileSync(fileOf('.sealpost/state.json', other), JSON.stringify({ [forward]: kept[broken] }));
    t.match(await run(...pull, '--url', forward, '--key', key), { code: 0, stdout: /^2 written, 1 unchanged$/m });
    await client.templates.update(slug, { subject });

    const ended = temporaryDirectory(t);
    const held = await openBetween(async (_method, path) => {
      if (!isOne(path)) return false;
      const isFirst = (asked += 1) === slugs.length + 1;
      if (!isFirst) await new Promise(() => undefined);
      return false;
    });
    asked = slugs.length;
    const child = started(['templates', 'pull', ended, '--only', slugs.join(), '--url', held, '--key', key]);
    await eventually(
      'a file is there',
      () => existsSync(join(ended, 'emails')) && readdirSync(join(ended, 'emails')).length === 1,
    );
    t.match(await child.end('SIGINT'), { code: 130 });
    const [only = ''] = readdirSync(join(ended, 'emails'));
    t.match(read(`emails/${only}`, ended), { slug: only.replace('.json', '') });
    t.same(Object.keys(read('.sealpost/state.json', ended)[held] as Fields), [`emails/${only}`]);
  },
);

await t.test('a push that breaks off says what it did', async (t) => {
  const other = temporaryDirectory(t);
  await run('templates', 'pull', other, '--only', 'emails/news,emails/ticket');
  for (const name of ['emails/news.json', 'emails/ticket.json']) edit(name, { subject: 'Pushed' }, other);
  let changes = 0;
  const broken = await openBetween((method, _path, reply) => {
    if (method !== 'PATCH' || (changes += 1) === 1) return Promise.resolve(false);
    reply.destroy();
    return Promise.resolve(true);
  });
  const { code, stdout, stderr } = await run('templates', 'push', other, '--json', '--url', broken, '--key', key);
  t.equal(code, 1);
  t.match(JSON.parse(stdout), { templates: [{ file: 'emails/news.json', state: 'updated' }] });
  t.match(JSON.parse(stderr), { error: { code: 'NOT_REACHED' } });
  t.match(await run('templates', 'push', other), { code: 0, stdout: /^1 pushed, 1 unchanged$/m });
  await run('templates', 'pull', folder, '--force');
});

await t.test('preview: of the service and of a file that was never pushed', async (t) => {
  const out = join(temporaryDirectory(t), 'out.html');
  t.match(await run('templates', 'preview', 'order-confirmation', '--out', out), { code: 0, stdout: /out\.html\n$/ });
  t.match(readFileSync(out, 'utf8'), /<html[^]*NW-10482[^]*<\/html>/);
  t.match(await run('templates', 'preview', 'order-confirmation', '--format', 'text'), { code: 0, stdout: /NW-10482/ });
  const pdf = join(temporaryDirectory(t), 'invoice.pdf');
  t.match(await run('templates', 'preview', fileOf('attachments/invoice.json'), '--out', pdf), { code: 0 });
  t.equal(readFileSync(pdf).subarray(0, 5).toString(), '%PDF-');
  edit('emails/ticket.json', { subject: 'Not pushed' });
  const { stdout } = await run('templates', 'preview', fileOf('emails/ticket.json'), '--json');
  t.match(JSON.parse(stdout), { subject: 'Not pushed', format: 'html', content: /<html/ });
  await run('templates', 'pull', folder, '--force');
  t.match(await run('templates', 'preview', 'nothing'), { code: 1, stderr: /there is no template nothing/ });
  t.match(await run('templates', 'preview', fileOf('emails/nothing.json')), { code: 1, stderr: /there is no file/ });
  t.match(await run('templates', 'preview', fileOf('blocks/letter.json')), { code: 1, stderr: /is a block/ });
  t.match(await run('templates', 'preview', 'ticket', '--format', 'pdf'), { code: 1, stderr: /not one of html, text/ });
});

await t.test('convert: a mail of another service, its notes by line, and a page with both', async (t) => {
  const place = temporaryDirectory(t);
  const [source, out, compare, sample] = ['mail.html', 'mail.json', 'both.html', 'sample.json'].map((name) =>
    join(place, name),
  ) as [string, string, string, string];
  writeFileSync(source, '<p>Hello {{name}}</p>\n<script>alert("1")</script>\n{{> footer}}');
  writeFileSync(sample, '{"name":"Ada"}');
  const options = ['--sample', sample, '--subject', 'For {{name}}'];
  const written = await run('templates', 'convert', source, ...options, '--out', out, '--compare', compare);
  t.equal(written.code, 0);
  t.match(written.stdout, `${source}:2:1 dropped <script> is left out`);
  t.match(written.stdout, `${source}:3:1 dropped {{> footer}} is left out`);
  t.match(written.stdout, /^2 dropped\n.*mail\.json written/m);
  t.match(JSON.parse(readFileSync(out, 'utf8')), { name: 'For', subject: 'For {{name}}' });
  const page = readFileSync(compare, 'utf8');
  t.match(page, /Content-Security-Policy" content="default-src 'none'; /);
  t.equal(page.split('<iframe sandbox="" srcdoc="').length, 3);
  t.match(page, '&lt;script&gt;alert(&quot;1&quot;)');
  t.notMatch(page, /<script/);
  const plain = await run('templates', 'convert', source);
  t.match(JSON.parse(plain.stdout), { subject: 'Imported template' });
  t.match(plain.stderr, /2 dropped/);
  const { stdout } = await run('templates', 'convert', source, ...options, '--json');
  t.match(JSON.parse(stdout), { language: { name: 'handlebars' }, samples: { name: 'Ada' }, notes: [{ line: 2 }, {}] });
  writeFileSync(source, '<mjml><mj-body><mj-text>{{a}}</mj-text></mj-body></mjml>');
  await run('templates', 'convert', source, '--out', out, '--compare', compare);
  t.match(readFileSync(compare, 'utf8'), /<pre>&lt;mjml&gt;/);
  await run('templates', 'convert', source, '--out', out, '--compare', compare, '--original', sample);
  t.match(readFileSync(compare, 'utf8'), 'srcdoc="{&quot;name');
  writeFileSync(source, '{{#if a}}');
  t.match(await run('templates', 'convert', source), { code: 1, stderr: /ends before a block/ });
  t.match(await run('templates', 'convert', join(place, 'absent')), { code: 1, stderr: /there is no file .*absent/ });
  t.match(await run('templates', 'convert', source, '--language', 'php'), { code: 1, stderr: /not one of auto/ });
});

await t.test('send-test, and emails list and show', async (t) => {
  const { code, stdout } = await run(
    'templates',
    'send-test',
    fileOf('emails/ticket.json'),
    '--to',
    'bo@example.com',
    '--json',
  );
  t.equal(code, 0);
  const { id } = JSON.parse(stdout) as Readonly<{ id: string }>;
  await eventually('it is delivered', async () => (await client.emails.get(id)).status === 'delivered');
  const listed = await run('emails', 'list', '--recipient', 'bo@example.com');
  // Programs read the lines of a pipe: an email has one.
  t.match(
    listed.stdout,
    new RegExp(
      `^CREATED .UTC. +STATUS +TO +SUBJECT +ID\\n[-\\d]+ [\\d:]+ +delivered +bo@example.com +.Test. .* ${id}\\n`,
    ),
  );
  t.match(await run('emails', 'list', '--recipient', 'nobody@example.com'), { stdout: 'There is no such email.\n' });
  for (const reference of [id, 'bo@example.com']) {
    const shown = await run('emails', 'show', reference);
    t.match(shown.stdout, /^\[Test\] .* delivered\nIt was delivered\.\n\n {2}to +bo@example\.com: delivered/);
  }
  const json = JSON.parse((await run('emails', 'show', id, '--json')).stdout) as Fields;
  t.match(json, { id, status: 'delivered', timeline: [{ kind: String, at: String }] });
  t.match(await run('emails', 'show', 'eve@example.com'), { code: 1, stderr: /there is no email to eve@example\.com/ });
  t.match(await run('emails', 'list', '--status', 'lost'), { code: 1, stderr: /--status lost is not one of/ });
  t.match(await run('emails', 'list', '--since', 'soon'), { code: 1, stderr: /--since soon is not an ISO 8601 time/ });
});

await t.test('emails tail: new ones and new states, until Ctrl-C', async (t) => {
  const tail = started(['emails', 'tail', '--limit', '1', '--json']);
  await eventually('it shows the last one', () => tail.output().includes('bo@example.com'));
  const { id } = (await client.send(sendBody() as never)) as Readonly<{ id: string }>;
  await eventually('it shows the delivery', () => tail.output().includes(`"id":"${id}","status":"delivered"`));
  t.match(await tail.end('SIGINT'), { code: 0, stderr: '' });
});

await t.test('webhooks listen: each event is forwarded as the service signs it', async (t) => {
  const receiver = await openReceiver();
  const listener = started(['webhooks', 'listen', '--forward-to', `${receiver.url}/hook`]);
  const secret = await eventually('it listens', () => /signed with (whsec_\S+)/.exec(listener.output())?.[1]);
  await client.send(sendBody() as never);
  const delivered = await eventually('the delivery is forwarded', () =>
    receiver.received().find(({ headers }) => headers['x-service-event-type'] === 'email.delivered'),
  );
  t.equal(delivered.path, '/hook');
  const verified = await verify({ body: delivered.body, headers: delivered.headers, secret });
  t.match(verified, { id: /^evt_/, event: { event: 'email.delivered' } });
  await t.rejects(verify({ body: `${delivered.body} `, headers: delivered.headers, secret }));
  await eventually('the answer is shown', () => /email\.delivered .* → 200 in \d+ ms/.test(listener.output()));
  receiver.answer(500);
  await client.send(sendBody() as never);
  await eventually('a refusal is shown', () => /→ 500 in \d+ ms: status 500/.test(listener.output()));
  t.equal((await client.webhooks.list().all()).length, 1);
  t.match(await listener.end('SIGTERM'), { code: 0 });
  t.equal((await client.webhooks.list().all()).length, 0, 'its subscription goes with it');
  await receiver.close();
});

await t.test('faults name themselves, and no key', async (t) => {
  const wrong = `${key.slice(0, -4)}0000`;
  const refused = await run('templates', 'list', '--key', wrong);
  t.match(refused, { code: 1, stdout: '', stderr: /^sealpost: .* \(API_KEY_NOT_FOUND\)\n$/ });
  const json = await run('templates', 'list', '--key', wrong, '--json');
  t.match(JSON.parse(json.stderr), { error: { code: 'API_KEY_NOT_FOUND', status: 401, message: String } });
  const { key: narrow } = await createKey('--name', 'narrow', '--permissions', 'emails:read');
  const forbidden = await run('templates', 'list', '--key', narrow);
  t.match(forbidden, { code: 1, stderr: /templates:read.*\(FORBIDDEN\)/ });
  const unknown = await run('templates', 'list', `--kye=${key}`);
  t.match(unknown, { code: 1, stderr: /unknown option/ });
  const swapped = await run('templates', 'list', '--url', key);
  t.match(swapped, { code: 1, stderr: /is not the address of a service/ });
  const away = await run('emails', 'list', '--url', 'http://127.0.0.1:9', '--key', key);
  t.match(away, { code: 1, stderr: /http:\/\/127\.0\.0\.1:9 could not be reached\. \(NOT_REACHED\)/ });
  const page = await openBetween((_method, _path, reply) => {
    reply.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>');
    return Promise.resolve(true);
  });
  const html = await run('emails', 'list', '--url', page, '--key', key);
  t.match(html, { code: 1, stderr: /something other than JSON: is `url` its address\? \(UNEXPECTED_ANSWER\)/ });
  const local = await run('timeline', 'x', '--url', base);
  t.match(local, { code: 1, stderr: /timeline works on the data directory of this machine/ });
  t.match(await runBare('emails', 'list'), { code: 1, stderr: /no service is named: run `sealpost login --url/ });
  t.match(await runBare('emails', 'list', '--url', base), { code: 1, stderr: /there is no key for / });
  for (const args of [
    ['templates', 'list', '--wrong'],
    ['templates', 'preview'],
    ['emails', 'show'],
    ['emails', 'list', '--status', 'lost'],
    ['templates', 'preview', 'nothing'],
    ['login', '--key', 'x'],
    ['logout', '--profile', 'nobody'],
    ['profiles', 'nobody'],
    ['webhooks', 'listen', '--events', 'nothing'],
  ]) {
    const told = await run(...args, '--json');
    t.match(JSON.parse(told.stderr), { error: { code: /^[A-Z_]+$/, message: String } }, args.join(' '));
    t.match(told, { code: 1, stdout: '' });
  }
  const homeless = { ...settings, XDG_CONFIG_HOME: '/dev/null/home' };
  t.match(await runCommand(['login', '--url', base, '--no-browser'], homeless), {
    code: 1,
    stdout: '',
    stderr: /profiles\.json cannot be written: a part of its path is no directory; set XDG_CONFIG_HOME/,
  });
  for (const { stdout, stderr } of [refused, json, forbidden, unknown, swapped, away, html, local])
    t.notMatch(stdout + stderr, /sk_\w{8}/);
});

await t.test('profiles of keys: a file of one user, commands without options', async (t) => {
  const file = join(home, 'sealpost', 'profiles.json');
  t.match(await runBare('profiles'), { code: 0, stdout: /^There is no profile yet/ });
  t.match(await runBare('login', '--url', base, '--key', 'sealpost_sk_wrong'), {
    code: 1,
    stderr: /\(INVALID_API_KEY\)/,
  });
  t.notOk(existsSync(file));
  t.match(await runBare('login', '--url', `${base}/`, '--key', key), {
    code: 0,
    stdout: `Commands from afar now call ${base}`,
  });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(await runBare('login', '--url', base, '--key', key, '--profile', 'second'), { code: 0 });
  t.match(await runBare('profiles'), { stdout: /^\* +second +http/m });
  t.match(await runBare('profiles', new URL(base).host), { stdout: /^ +second +http/m });
  t.match(await runBare('emails', 'list', '--limit', '1'), { code: 0, stdout: /^CREATED/ });
  t.match(await runBare('emails', 'list', '--profile', 'third'), { code: 1, stderr: /there is no profile third/ });
  t.match(await runBare('emails', 'list', '--profile', 'second', '--url', 'https://other.example'), {
    code: 1,
    stderr: /--url is not the address of the profile second/,
  });
  t.match(await runBare('emails', 'list', '--url', 'http://127.0.0.1:9'), { code: 1, stderr: /there is no key for / });
  chmodSync(file, 0o644);
  t.match(await runBare('emails', 'list'), { code: 1, stderr: /others can read .*profiles\.json/ });
  chmodSync(file, 0o600);
  t.match(await runBare('profiles', 'second'), { code: 0 });
  t.match(await runBare('logout'), { code: 0, stdout: /revoke it at the service/ });
  const noneIsCurrent = { code: 1, stderr: `makes one so. There is ${new URL(base).host}\n` };
  t.match(await runBare('emails', 'list'), noneIsCurrent);
  t.match(await runBare('logout'), noneIsCurrent);
  t.match(await runBare('logout', '--profile', new URL(base).host), { code: 0 });
  t.match(await runBare('logout'), { code: 1, stderr: /nobody is signed in/ });
  writeFileSync(file, '{"profiles":[');
  t.match(await runBare('emails', 'list'), { code: 1, stderr: /profiles\.json cannot be used: it is no JSON/ });
  rmSync(file);
});

const ada = { email: 'ada@example.com', password: PASSWORD };

/** Posts a form to a page, as a browser does. */
const post = (page: URL, fields: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(page, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' });

const fieldsOf = (html: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...html.matchAll(/<input (?:type="hidden" )?name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll('&amp;', '&'),
    ]),
  );

/** Ada opens the page of a sign-in, signs in and allows it. Out: the address that she comes back to, if any. */
const allow = async (address: string): Promise<string | null> => {
  const page = new URL(address);
  const form = new URL(page.pathname, page);
  const signIn = await (await fetch(page)).text();
  const consent = await (await post(form, { ...fieldsOf(signIn), ...ada })).text();
  const end = await post(form, { ...fieldsOf(consent), decision: 'allow' });
  return end.headers.get('location');
};

await t.test('login: by a code on another device, and by the browser of the machine', async (t) => {
  const registered = await fetch(`${base}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...ada, name: 'Ada Example' }),
  });
  t.equal(registered.status, 201);
  const bare: Settings = { XDG_CONFIG_HOME: home };
  const file = join(home, 'sealpost', 'profiles.json');

  const device = started(['login', '--url', base, '--no-browser', '--profile', 'device'], bare);
  const link = await eventually('it shows the code', () => /^or open (\S+)$/m.exec(device.output())?.[1]);
  await allow(link);
  t.match(await device.ended, { code: 0, stdout: /^Commands from afar now call .* \(profile device\)\.$/m });
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.match(await runBare('emails', 'list', '--limit', '1'), { code: 0, stdout: /^CREATED/ });

  // A program of that name on the path stands for the browser.
  const programs = temporaryDirectory(t);
  writeFileSync(join(programs, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" >'${join(programs, 'page')}'\n`, {
    mode: 0o755,
  });
  const browser = started(['login', '--url', base, '--profile', 'browser'], {
    ...bare,
    PATH: `${programs}:${process.env['PATH'] ?? ''}`,
  });
  const page = await eventually('the browser opens', () => {
    const text = existsSync(join(programs, 'page')) ? readFileSync(join(programs, 'page'), 'utf8') : '';
    return text !== '' && text;
  });
  const back = await allow(page);
  t.match(await (await fetch(back ?? '')).text(), 'You are signed in');
  t.match(await browser.ended, { code: 0, stdout: /\(profile browser\)/ });
  t.match(await runBare('profiles'), { stdout: /^\* +browser +http\S+ +signed in$/m });

  // The access token of the profile has ended: of two commands at once, one refreshes it and both use the new one.
  const ended = JSON.parse(readFileSync(file, 'utf8')) as {
    profiles: Record<string, { tokens: Record<string, string> }>;
  };
  ended.profiles['browser']!.tokens['expiresAt'] = '2020-01-01T00:00:00.000Z';
  writeFileSync(file, JSON.stringify(ended), { mode: 0o600 });
  const both = await Promise.all([1, 2].map(() => started(['emails', 'list', '--limit', '1'], bare).ended));
  for (const one of both) t.match(one, { code: 0, stdout: /^CREATED/, stderr: '' });
  const kept = JSON.parse(readFileSync(file, 'utf8')) as typeof ended;
  t.not(kept.profiles['browser']!.tokens['refreshToken'], ended.profiles['browser']!.tokens['refreshToken']);
  t.match(await runBare('emails', 'list', '--limit', '1'), { code: 0 });

  t.match(await runBare('logout'), { code: 0, stdout: /its grant has ended/ });
  const { accessToken = '' } = kept.profiles['browser']!.tokens;
  t.equal((await fetch(`${base}/api/emails`, { headers: { authorization: `Bearer ${accessToken}` } })).status, 401);

  // A second sign-in of the same name takes the place of the first, whose grant ends.
  const first = kept.profiles['device']!.tokens['accessToken'] ?? '';
  const again = started(['login', '--url', base, '--no-browser', '--profile', 'device'], bare);
  await allow(await eventually('it shows the code', () => /^or open (\S+)$/m.exec(again.output())?.[1]));
  t.match(await again.ended, { code: 0 });
  t.equal((await fetch(`${base}/api/emails`, { headers: { authorization: `Bearer ${first}` } })).status, 401);
  t.match(await runBare('logout', '--profile', 'device'), { code: 0 });
});

await t.test(
  'a token that the service calls expired is renewed, and a service that is away is asked again',
  async (t) => {
    let [refreshes, isAway] = [0, true];
    const service = createServer((request, reply) => {
      const at = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
      const answer = (status: number, body: unknown) =>
        void reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      const { url = '', headers } = request;
      if (url.startsWith('/.well-known/')) return answer(200, { issuer: at, token_endpoint: `${at}/oauth/token` });
      if (url === '/oauth/token') {
        if (isAway) {
          isAway = false;
          return answer(503, {});
        }
        refreshes += 1;
        const tokens = {
          access_token: 'new',
          refresh_token: `next${refreshes}`,
          token_type: 'Bearer',
          expires_in: 3_600,
        };
        return answer(200, tokens);
      }
      return headers.authorization === 'Bearer new'
        ? answer(200, { data: [], meta: { nextCursor: null } })
        : answer(401, { error: 'Unauthorized', code: 'TOKEN_EXPIRED', message: 'It has expired.' });
    });
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    t.teardown(() => void service.close(() => undefined).closeAllConnections());
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const own = temporaryDirectory(t);
    mkdirSync(join(own, 'sealpost'));
    const signedIn = (expiresAt: string) => {
      const tokens = { issuer: url, accessToken: 'old', refreshToken: 'first', expiresAt, scopes: [] };
      const profiles = { current: 'one', profiles: { one: { url, tokens } } };
      writeFileSync(join(own, 'sealpost', 'profiles.json'), JSON.stringify(profiles), { mode: 0o600 });
    };
    for (const expiresAt of ['2020-01-01T00:00:00.000Z', '2999-01-01T00:00:00.000Z']) {
      signedIn(expiresAt);
      t.match(await runCommand(['emails', 'list'], { XDG_CONFIG_HOME: own }), {
        code: 0,
        stdout: 'There is no such email.\n',
      });
      t.match(await runCommand(['emails', 'list'], { XDG_CONFIG_HOME: own }), { code: 0 });
    }
    t.equal(refreshes, 2, 'one for each, and none for the second command');
  },
);

await t.test('the page of the commands from afar, as a reader follows it', async (t) => {
  const reader = { base, key, directory: temporaryDirectory(t), settings: { XDG_CONFIG_HOME: home } };
  await runPage(t, shownOf('docs/command-line-remote.md'), reader);
  t.match(readFileSync(join(reader.directory, 'order.html'), 'utf8'), /NW-10482/);
});

const hasProgram = (name: string): boolean => spawnSync(name, ['--version']).error === undefined;

await t.test('completion', async (t) => {
  t.match(await run('completion', 'tcsh'), { code: 1, stderr: /tcsh is not one of bash, zsh, fish/ });
  const scripts = temporaryDirectory(t);
  const scriptOf = async (shell: string): Promise<string> => {
    const { code, stdout } = await run('completion', shell);
    t.equal(code, 0);
    const file = join(scripts, shell);
    writeFileSync(file, stdout);
    return file;
  };
  const asked = [
    { line: ['templates', 'pu'], has: ['pull', 'push'], lacks: ['list'] },
    {
      line: ['--profile', 'emails', 'templates', 'push', '--'],
      has: ['--dry-run', '--url', '--only'],
      lacks: ['--status'],
    },
    { line: ['emails', 'list', '--status', 'templates', '--re'], has: ['--recipient'], lacks: ['--port'] },
    { line: ['comp'], has: ['completion'], lacks: ['templates'] },
  ];
  const bash = await scriptOf('bash');
  for (const { line, has, lacks } of asked) {
    const words = ['sealpost', ...line].map((word) => `'${word}'`).join(' ');
    const { stdout, stderr } = spawnSync('bash', [
      '-c',
      `source '${bash}'; COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _sealpost; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
    t.equal(stderr.toString(), '');
    const offered = stdout.toString().split('\n');
    for (const word of has) t.ok(offered.includes(word), `bash: ${line.join(' ')} → ${word}`);
    for (const word of lacks) t.notOk(offered.includes(word), `bash: ${line.join(' ')} ↛ ${word}`);
  }
  const fish = await scriptOf('fish');
  await t.test('fish', { skip: !hasProgram('fish') && 'fish is missing' }, async (t) => {
    for (const { line, has, lacks } of asked) {
      const { stdout, stderr } = spawnSync('fish', [
        '-N',
        '-c',
        `source '${fish}'; complete -C 'sealpost ${line.join(' ')}'`,
      ]);
      t.equal(stderr.toString(), '');
      const offered = stdout
        .toString()
        .split('\n')
        .map((one) => one.split('\t')[0]);
      for (const word of has) t.ok(offered.includes(word), `${line.join(' ')} → ${word}`);
      for (const word of lacks) t.notOk(offered.includes(word), `${line.join(' ')} ↛ ${word}`);
    }
  });
  const zsh = await scriptOf('zsh');
  await t.test('zsh', { skip: !hasProgram('zsh') && 'zsh is missing' }, async (t) => {
    for (const { line, has, lacks } of asked) {
      // The two functions by which the script offers words print them here.
      const { stdout, stderr } = spawnSync('zsh', [
        '-f',
        '-c',
        `compdef() { :; }; _files() { :; }; _describe() { print -l -- \${(P)@[-1]}; }; source '${zsh}'; words=(sealpost ${line.join(' ')}); CURRENT=$#words; _sealpost`,
      ]);
      t.equal(stderr.toString(), '');
      const begun = line.at(-1) ?? '';
      const offered = stdout
        .toString()
        .split('\n')
        .map((one) => one.split(':')[0] ?? '')
        .filter((one) => one.startsWith(begun));
      for (const word of has) t.ok(offered.includes(word), `${line.join(' ')} → ${word}`);
      for (const word of lacks) t.notOk(offered.includes(word), `${line.join(' ')} ↛ ${word}`);
    }
  });
});
