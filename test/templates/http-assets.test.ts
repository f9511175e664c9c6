/** Uploads as forms and as JSON, and how the bytes of strangers are handed out. */
import { Agent, request, type ClientRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { eventually } from '../support/wait.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { png } from '../support/pictures.js';
import { bearer, memoryMailbox, openServer, own, TEAM, type ServerOptions } from '../http/server.js';

const ASSET = own.asset;

type Part = Readonly<{ name?: string; filename?: string; content: Buffer | string }>;

const BOUNDARY = 'xxBOUNDARYxx';
const form = (parts: readonly Part[], end = `--${BOUNDARY}--\r\n`): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ name = 'file', filename, content }) => [
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}\r\nContent-Type: application/x-whatever\r\n\r\n`,
      ),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(end),
  ]);

const formType = `multipart/form-data; boundary=${BOUNDARY}`;

const open = async (t: Test, options: ServerOptions = {}) => {
  const server = await openServer(t, options);
  const post = async (
    payload: Buffer | string,
    contentType = formType,
    more: Readonly<Record<string, string>> = {},
  ) => {
    const response = await server.app.inject({
      method: 'POST',
      url: '/api/assets',
      headers: { ...bearer('unlimited'), 'content-type': contentType, ...more },
      payload,
    });
    return { status: response.statusCode, body: response.json<Record<string, unknown>>(), headers: response.headers };
  };
  const uploads = () =>
    server.calls.filter(([name]) => name === 'uploadAsset').map(([, , upload, usage]) => [upload, usage]);
  return { ...server, post, uploads };
};

void t.test('uploads under way at once are bounded for a team and for all, before their bodies are read', async (t) => {
  for (const [limits, message] of [
    [{ teamUploadsAtOnceMax: 2 }, /^A team may have 2 uploads under way at once\. Try again in 1 second\.$/],
    [{ uploadsAtOnceMax: 2 }, /^As many uploads are under way as the service takes at once, 2\./],
  ] as const) {
    const { post, during, calls } = await open(t, { limits });
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    during.run = (name) => (name === 'uploadAsset' ? finished : undefined);
    const upload = () => post(form([{ filename: 'a.png', content: png }]));
    const underWay = [upload(), upload()];
    const uploading = () => calls.filter(([name]) => name === 'uploadAsset').length;
    await eventually('both are under way', () => uploading() === 2);
    t.match(await post('no form'), { status: 429, body: { code: 'RATE_LIMIT_EXCEEDED', message, retryAfter: 1 } });
    finish();
    for (const { status } of await Promise.all(underWay)) t.equal(status, 201);
    t.match(await upload(), { status: 201 });
    t.match(await upload(), { status: 201 }, 'a refused one took no slot of its team');
  }
});

void t.test('a file comes as a form or as base64, and the gallery is measured before', async (t) => {
  const { post, uploads, calls } = await open(t);
  const bytes = Buffer.concat([png, Buffer.from([0, 13, 10, 45, 45, 255])]);
  t.match(await post(form([{ filename: 'Größe €.png', content: bytes }])), {
    status: 201,
    body: { filename: 'Größe €.png', contentType: 'image/png', sizeBytes: bytes.length, width: 7, height: 5 },
  });
  t.match(uploads().at(-1), [
    { filename: 'Größe €.png', bytes },
    { count: 2, sizeBytes: 2 * png.length },
  ]);
  t.same(
    calls.map(([name]) => name),
    ['awaitOwnWrites', 'assetUsage', 'uploadAsset'],
  );
  t.same(
    calls.slice(0, 2).map(([, teamId]) => teamId),
    [TEAM, TEAM],
  );

  t.match(await post(JSON.stringify({ filename: 'a.png', content: bytes.toString('base64') }), 'application/json'), {
    status: 201,
  });
  t.same(uploads().at(-1)?.[0], { filename: 'a.png', bytes });
  t.match(await post(form([{ filename: '../../etc/passwd', content: png }])), { status: 201 });
  t.match(
    await post(form([{ filename: 'empty.txt', content: '' }])),
    { status: 400, body: { code: 'VALIDATION_ERROR', message: /empty/ } },
    'whether an empty file is fine is decided by the command',
  );
  t.equal((uploads().at(-1)?.[0] as { bytes: Buffer }).bytes.length, 0);
});

void t.test('what is no such upload is refused, and nothing is called', async (t) => {
  const { app, post, calls } = await open(t);
  const file = { filename: 'a.png', content: 'x' };
  for (const [payload, code, message] of [
    [form([]), 'VALIDATION_ERROR', /with one file/],
    [form([{ name: 'upload', ...file }]), 'VALIDATION_ERROR', /the field `file`/],
    [form([file, file]), 'VALIDATION_ERROR', /no other/],
    [form([{ name: 'title', content: 'x' }, file]), 'VALIDATION_ERROR', /no other/],
    [form([file, { name: 'title', content: 'x' }]), 'VALIDATION_ERROR', /no other/],
    [form([{ name: 'file', content: 'text, no file' }]), 'VALIDATION_ERROR', /with one file/],
    [form([file], ''), 'MALFORMED_REQUEST', /multipart/],
    [form([file]).subarray(0, 60), 'MALFORMED_REQUEST', /multipart/],
    ['no form', 'MALFORMED_REQUEST', /multipart/],
    [form([{ name: '__proto__', ...file }]), 'MALFORMED_REQUEST', /multipart/],
    [form(Array.from({ length: 50 }, () => file)), 'VALIDATION_ERROR', /no other/],
  ] as const) {
    const { status, body } = await post(payload);
    t.equal(status, 400, String(payload).slice(0, 120));
    t.match(body, { code, message }, String(payload).slice(0, 120));
  }
  t.match(await post('x', 'multipart/form-data'), { status: 400, body: { code: 'MALFORMED_REQUEST' } }, 'no boundary');
  for (const body of [
    { filename: 'a.png', content: '%%%' },
    { filename: 'a.png', content: 'abc' },
  ]) {
    t.match(await post(JSON.stringify(body), 'application/json'), {
      status: 400,
      body: { code: 'VALIDATION_ERROR', errors: [{ field: 'content' }] },
    });
  }
  for (const body of [
    {},
    { filename: 'a.png' },
    { filename: '', content: '' },
    { filename: 'a', content: '', type: 'x' },
    [],
  ]) {
    t.match(await post(JSON.stringify(body), 'application/json'), { status: 400, body: { code: 'VALIDATION_ERROR' } });
  }
  t.match(await post('x', 'image/png'), { status: 400, body: { code: 'UNSUPPORTED_CONTENT_TYPE' } });
  t.match(await post(form([file]), formType, { 'content-encoding': 'gzip' }), {
    status: 400,
    body: { code: 'UNSUPPORTED_CONTENT_TYPE' },
  });
  const bare = await app.inject({ method: 'POST', url: '/api/assets', headers: bearer('unlimited') });
  t.match([bare.statusCode, bare.json()], [400, { code: 'VALIDATION_ERROR', message: /multipart/ }], 'no body at all');
  t.same(calls, []);
});

void t.test('a file may have the whole size allowed, and one byte more is refused while it streams', async (t) => {
  const { post, uploads } = await open(t);
  const max = defaultLimits.assetSizeBytesMax;
  t.match(await post(form([{ filename: 'a', content: Buffer.concat([png, Buffer.alloc(max - png.length)]) }])), {
    status: 201,
  });
  t.equal((uploads().at(-1)?.[0] as { bytes: Buffer }).bytes.length, max);
  t.match(await post(form([{ filename: 'a', content: Buffer.alloc(max + 1) }])), {
    status: 400,
    body: { code: 'ASSET_TOO_LARGE', relatedInfo: { maxSizeBytes: max } },
  });
  t.match(await post(JSON.stringify({ filename: 'a', content: 'A'.repeat(max) }), 'application/json'), {
    status: 400,
    body: { code: 'BODY_TOO_LARGE' },
  });
  const small = await open(t, { limits: { assetSizeBytesMax: 10 } });
  t.match(await small.post(form([{ filename: 'a', content: Buffer.alloc(5_000_000) }])), {
    status: 400,
    body: { code: 'ASSET_TOO_LARGE', message: /more than 10 bytes/ },
  });
  t.equal(small.calls.length, 0);
});

void t.test(
  'over a real connection: a refusal is read by who still sends, the connection serves on, and who goes away leaves nothing',
  async (t) => {
    const { app, calls, logged } = await open(t, { limits: { assetSizeBytesMax: 1_000 } });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    const begin = (headers: Readonly<Record<string, string | number>>): ClientRequest =>
      request({
        port,
        agent,
        method: 'POST',
        path: '/api/assets',
        headers: { ...bearer('unlimited'), 'content-type': formType, ...headers },
      });
    const answer = (asked: ClientRequest): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        asked.on('error', reject);
        asked.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)));
      });
    const large = form([{ filename: 'a', content: Buffer.alloc(3_000_000) }]);
    for (const payload of [
      large,
      form([{ filename: 'a', content: png }]),
      form([{ name: 'b', filename: 'a', content: Buffer.alloc(2_000_000) }]),
    ]) {
      const asked = begin({ 'content-length': payload.length });
      const status = answer(asked);
      asked.end(payload);
      t.equal(await status, payload.length < 1_000 ? 201 : 400);
    }
    t.equal(Object.values(agent.freeSockets).flat().length, 1, 'one connection served them all');

    const before = calls.length;
    const gone = begin({ 'content-length': large.length });
    const failed = answer(gone).catch(() => 'gone');
    gone.write(large.subarray(0, 300), () => gone.destroy());
    t.equal(await failed, 'gone');
    const after = begin({ 'content-length': 0 });
    const status = answer(after);
    after.end();
    t.equal(await status, 400);
    t.equal(calls.length, before, 'nothing was uploaded');
    t.same(
      logged.filter(({ level }) => level === 'error'),
      [],
    );
  },
);

void t.test('no other endpoint takes a form', async (t) => {
  const { app } = await open(t, { mailbox: memoryMailbox() });
  for (const url of ['/api/emails/send', '/api/templates', '/api/api-keys']) {
    const response = await app.inject({
      method: 'POST',
      url,
      headers: { ...bearer('unlimited'), 'content-type': formType },
      payload: form([{ filename: 'a', content: 'x' }]),
    });
    t.match(response.json(), { statusCode: 400, code: 'UNSUPPORTED_CONTENT_TYPE' }, url);
  }
});

void t.test(
  'bytes are handed out so that they cannot act: a type of ours, no sniffing, no scripts, a name made safe',
  async (t) => {
    const { app, deps, post } = await open(t);
    const get = (id: string) => app.inject({ url: `/api/assets/${id}/content`, headers: bearer('unlimited') });
    const picture = await get(ASSET);
    t.equal(picture.statusCode, 200);
    t.same(picture.rawPayload, png);
    t.match(picture.headers, {
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
      'content-disposition': `inline; filename*=UTF-8''logo%20Zo%C3%AB.png; filename="logo Zoe.png"`,
      'content-length': String(png.length),
    });
    for (const [filename, contentType, content] of [
      ['a.svg', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'],
      ['a.pdf', 'application/pdf', '%PDF-1.4\n%%EOF\n'],
      ['a.txt', 'text/plain', 'text'],
      ['a.csv', 'text/csv', 'a,b\n'],
      ['a.zip', 'application/zip', Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)])],
    ] as const) {
      const { status, body } = await post(form([{ filename, content }]));
      t.equal(status, 201, `${filename}: ${JSON.stringify(body)}`);
      t.match((await get(String(body['id']))).headers, {
        'content-type': contentType,
        'content-disposition': /^attachment;/,
        'x-content-type-options': 'nosniff',
        'content-security-policy': /sandbox/,
      });
    }
    for (const id of ['x', `${ASSET}0`, '%00', deps.ids.uuid()])
      t.match((await get(id)).json(), { statusCode: 404, code: 'ASSET_NOT_FOUND' }, id);
  },
);

void t.test('records, lists, deletion', async (t) => {
  const { app, calls } = await open(t);
  const ask = async (method: 'GET' | 'DELETE', url: string) => {
    const response = await app.inject({ method, url, headers: bearer('unlimited') });
    return [response.statusCode, response.json()];
  };
  const asset = { id: ASSET, filename: 'logo Zoë.png', contentType: 'image/png', sizeBytes: png.length, width: 7 };
  t.match(await ask('GET', `/api/assets/${ASSET.toUpperCase()}`), [200, asset]);
  calls.length = 0;
  t.match(await ask('GET', '/api/assets?page=1&limit=5&search=log'), [200, { data: [asset], meta: { total: 1 } }]);
  t.same(calls, [
    ['awaitOwnWrites', TEAM, 250],
    ['listAssets', TEAM, { search: 'log' }, { page: 1, limit: 5 }],
  ]);
  t.same(await ask('DELETE', `/api/assets/${ASSET}`), [200, { id: ASSET, deleted: true }]);
  t.match(await ask('GET', '/api/assets'), [200, { data: [], meta: { total: 0 } }]);
  t.match(await ask('GET', '/api/assets?search=l'), [400, { code: 'VALIDATION_ERROR' }]);
  for (const method of ['GET', 'DELETE'] as const)
    t.match(await ask(method, '/api/assets/x'), [404, { code: 'ASSET_NOT_FOUND' }]);
});
