/**
 * The published client against the running service in every runtime that it is for: one program, whose results are equal
 * everywhere. The last runtime is like a worker at the edge: client and program in one file, and nothing of Node.
 */
import { execFile } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, request as call, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import t, { type Test } from 'tap';
import { createClient } from '../../packages/sdk/src/index.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { startTestApp } from '../support/app.js';
import { installClient } from '../support/client-forms.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { runtimes } from '../support/runtimes.js';
import { eventually } from '../support/wait.js';
import { openReceiver } from '../support/webhook-receiver.js';
import type { Given, program, Result } from './runtime-program.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const RUN_MS = 120_000;

/** Reads what is given from its environment and prints the result. */
const MAIN = `
import { createElement } from 'react';
import process from 'node:process';
import { program } from './runtime-program.js';

const element = createElement('p', null, 'Hello ', createElement('b', null, 'Ada & Ben'));
console.log(JSON.stringify(await program(JSON.parse(process.env.GIVEN), element)));
`;

const expected = (eventId: string): Omit<Result, 'ids' | 'react'> => ({
  status: 'queued',
  bulk: 2,
  subjects: ['Listed 5', 'Listed 4', 'Listed 3', 'Listed 2', 'Listed 1'],
  refused: '404 ERR_TMPL_002',
  busy: 'queued',
  hooks: [`${eventId} email.delivered`, `${eventId} email.delivered`],
  forged: ['SIGNATURE_WRONG', 'SIGNATURE_WRONG', 'TOO_OLD'],
  late: '0 TIMEOUT',
  ended: 'enough',
});

/** Calls of one runtime that did not go to the service at once. */
type Seen = Readonly<{
  /** The Idempotency-Keys of the calls below `busy`. */
  keys: (string | undefined)[];
  /** Paths below `held`: those that came, and those whose caller has gone. */
  held: Set<string>;
  left: Set<string>;
  /** Called when `ended` is held. */
  onHeld: (() => void)[];
}>;

/**
 * A proxy before the service, with a path for each runtime: `/bun/…`. It answers 503 to the first call below `busy`,
 * holds every call below `held`, and answers `arrived` when the call that its caller will end is held.
 */
const openGate = async (t: Test, service: string) => {
  const all = new Map<string, Seen>();
  const seenOf = (name: string): Seen => {
    const seen = all.get(name) ?? { keys: [], held: new Set(), left: new Set(), onHeld: [] };
    all.set(name, seen);
    return seen;
  };
  const pass = (incoming: IncomingMessage, response: ServerResponse, path: string): void => {
    const outgoing = call(new URL(path, service), { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer((request, response) => {
    const [, name = '', place, rest = ''] =
      /^\/([\w-]+)(?:\/(busy|held|arrived))?(\/.*)?$/.exec(request.url ?? '') ?? [];
    const { keys, held, left, onHeld } = seenOf(name);
    const id = rest.split('/').at(-1) ?? '';
    if (place === undefined) return pass(request, response, rest);
    if (place === 'busy') {
      keys.push(request.headers['idempotency-key']?.toString());
      if (keys.length > 1) return pass(request, response, rest);
      request.resume();
      response
        .writeHead(503, { 'content-type': 'application/json' })
        .end('{"statusCode":503,"code":"STORE_AWAY","message":"Later.","requestId":"req_1"}');
    } else if (place === 'held') {
      held.add(id);
      response.on('close', () => left.add(id));
      if (id === 'ended') for (const tell of onHeld.splice(0)) tell();
    } else if (held.has('ended')) response.end();
    else onHeld.push(() => response.end());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seenOf };
};

/** A folder in which a reader has installed the client, React and its renderer. */
const installProgram = async (folder: string): Promise<void> => {
  await installClient(folder);
  const { resolve } = createRequire(join(root, 'packages/sdk/package.json'));
  const placeOf = (name: string): string => {
    const end = `/node_modules/${name}`;
    const entry = resolve(name);
    return entry.slice(0, entry.lastIndexOf(`${end}/`) + end.length);
  };
  const to = (name: string): string => join(folder, 'node_modules', name);
  // A linked package would find the React beside its own place, which is another.
  for (const name of ['@react-email/render', 'react', 'react-dom', 'scheduler'])
    cpSync(placeOf(name), to(name), { recursive: true });
  for (const name of ['html-to-text', 'html5parser', 'prettier'])
    symlinkSync(join(root, 'node_modules', name), to(name));
  const compiled = readFileSync(new URL('runtime-program.js', import.meta.url), 'utf8');
  writeFileSync(
    join(folder, 'runtime-program.js'),
    compiled.replace('../../packages/sdk/src/index.js', 'sealpost-client'),
  );
  writeFileSync(join(folder, 'main.js'), MAIN);
};

/** Client and program as one file, in a realm that has the standards of the web and no modules. */
const runAtEdge = async (folder: string, given: Given): Promise<Result> => {
  const { stdout } = await run(join(root, 'node_modules/.bin/esbuild'), [
    join(folder, 'runtime-program.js'),
    ...['--bundle', '--format=iife', '--global-name=edge', '--platform=neutral', '--log-level=error'],
  ]);
  const context = createContext({
    ...{ AbortSignal, AbortController, Blob, FormData, Headers, Request, Response, TextDecoder, TextEncoder, URL },
    ...{ atob, btoa, crypto, fetch, setTimeout, clearTimeout },
  });
  const edge = runInContext(`${stdout};edge`, context) as Readonly<{ program: typeof program }>;
  return edge.program(given, {});
};

void t.test('the client does the same in every runtime', async (t) => {
  const app = await startTestApp({ dataDir: t.testdir(), isFounded: true });
  t.teardown(() => app.stop());
  const service = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const sealpost = createClient({ url: service, key: app.key });
  const receiver = await openReceiver();
  t.teardown(() => receiver.close());
  const { id: hookId, secret } = await sealpost.webhooks.create({
    url: `${receiver.url}/hook`,
    events: ['email.delivered'],
  });
  await sealpost.webhooks.test(hookId);
  await sealpost.webhooks.delete(hookId);
  const { body, headers } = assertDefined(receiver.received()[0], 'the test of the webhook');
  const hook = {
    ...{ body, secret, now: Date.now() },
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
  };
  for (let number = 1; number <= 5; number += 1) {
    const content = { subject: `Listed ${number}`, text: 'One of five.' };
    const { id } = await sealpost.send({ to: [{ email: 'listed@example.com' }], content });
    await app.whenStatus(id, 'delivered');
  }
  const gate = await openGate(t, service);
  const givenTo = (name: string): Given => ({ name, url: `${gate.url}/${name}`, key: app.key, hook });
  const folder = temporaryDirectory(t);
  await installProgram(folder);

  const check = async (t: Test, name: string, { ids, react, ...result }: Result): Promise<void> => {
    t.same(result, expected(headers['webhook-id']?.toString() ?? ''));
    const { keys, left } = gate.seenOf(name);
    t.equal(keys.length, 2, 'the call that was answered 503 is sent twice');
    t.ok(keys[0] !== undefined && keys[0] === keys[1], 'with one Idempotency-Key');
    await eventually('calls that end leave the service', () => left.has('ended') && left.has('late'));
    for (const id of ids) await app.whenStatus(id, 'delivered');
    const listed = await sealpost.emails.list({ recipient: `${name}@example.com` }).all();
    const isSent = listed.map(({ id }) => id).toSorted();
    t.same(isSent, [...ids, ...(react === 'NO_RENDERER' ? [] : [react])].toSorted(), 'each email is there once');
  };
  const shown = new Set<string>();

  for (const { name: title, find, args } of runtimes)
    await t.test(title, async (t) => {
      const program = await find(t);
      if (program === undefined) return;
      const name = title.toLowerCase().replace(' ', '-');
      const env = { PATH: process.env['PATH'], HOME: folder, GIVEN: JSON.stringify(givenTo(name)) };
      const { stdout } = await run(program, [...args, join(folder, 'main.js')], { cwd: folder, env, timeout: RUN_MS });
      const result = JSON.parse(stdout) as Result;
      await app.whenStatus(result.react, 'delivered');
      await check(t, name, result);
      const { html, text } = await sealpost.emails.content(result.react);
      t.match(html, /<p>Hello (?:<!-- -->)?<b>Ada &amp; Ben<\/b><\/p>/);
      t.equal(text, 'Hello Ada & Ben');
      shown.add(html ?? '');
    });
  t.ok(shown.size <= 1, 'the renderer writes the same HTML in each');

  await t.test('a worker at the edge', async (t) => {
    const result = await runAtEdge(folder, givenTo('edge'));
    t.equal(result.react, 'NO_RENDERER', 'a bundle has no renderer of its own');
    await check(t, 'edge', result);
  });
});
