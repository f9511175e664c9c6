/** Fetching from addresses that strangers gave: against real servers, with every way round the guard that is known. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { readFileSync } from 'node:fs';
import { type AddressInfo, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { openOutboundHttp, openProviderFetch, makeSlots } from '../../../src/adapters/outbound-http/fetch.js';
import { type Lookup, isPublicAddress } from '../../../src/adapters/outbound-http/guard.js';
import { OutboundFault, type FetchFault, type OutboundHttp } from '../../../src/domain/ports/outbound-http.js';
import { teamA } from '../../support/teams.js';
import { eventually } from '../../support/wait.js';

type Options = Parameters<OutboundHttp['get']>[1];

const bounds: Options = {
  teamId: teamA,
  sizeBytesMax: 100_000,
  timeoutMs: 20_000,
  redirectsMax: 3,
  signal: new AbortController().signal,
};

/** A server on loopback; answers its port, and the requests that reached it. */
const listen = async (
  t: Test,
  answer: RequestListener,
  make: (listener: RequestListener) => Server = createServer,
  host = '127.0.0.1',
  atPort = 0,
) => {
  const asked: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = make((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(atPort, host, resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}`, asked, sockets };
};

/** One that may reach 127.0.0.1, and nothing else that is not public. */
const openLocal = (t: Test, more: Parameters<typeof openOutboundHttp>[0] = {}): OutboundHttp => {
  const http = openOutboundHttp({
    isAllowed: (address) => address === '127.0.0.1' || isPublicAddress(address),
    ...more,
  });
  t.teardown(() => http.close());
  return http;
};

const openStrict = (t: Test, lookup?: Lookup): OutboundHttp => {
  const http = openOutboundHttp(lookup === undefined ? {} : { lookup });
  t.teardown(() => http.close());
  return http;
};

/** Expects that fault, with a sentence that tells nothing of any address. */
const refused = async (t: Test, fetched: Promise<unknown>, fault: FetchFault, name: string): Promise<string> => {
  const error = await fetched.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OutboundFault)) {
    t.fail(`${name}: ${String(error)}`);
    return '';
  }
  t.equal(error.fault, fault, name);
  t.match(error.message, /^[A-Z].*\.$/, `${name} is told in sentences`);
  t.notMatch(error.message, /127\.|10\.0|ECONN|ENOTFOUND|::/, name);
  return error.message;
};

const answers =
  (status: number, headers: Readonly<Record<string, string>>, body: string | Buffer = '') =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(status, headers).end(body);
  };

const REFUSED = [
  '127.0.0.1',
  '127.255.255.254',
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.127.255.255',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.170',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.255',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.7',
  '203.0.113.7',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::2',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:a00:1',
  '::ffff:169.254.169.254',
  '::ffff:0:127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::808:808',
  '100::1',
  '2001::1',
  '2001:0:7f00:1::1',
  '2001:1::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:808:808::',
  '3fff::1',
  '4000::1',
  '5f00::1',
  '8000::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%lo',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
  '',
  'localhost',
  '0x7f.1',
  '2130706433',
  '127.1',
  '1.2.3',
  '1.2.3.4.5',
  '[::1]',
];
const ALLOWED = [
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.167.1.1',
  '223.255.255.254',
  '2606:4700::1111',
  '2a00:1450:4001::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
];

void t.test('which addresses are public', async (t) => {
  for (const address of REFUSED) t.equal(isPublicAddress(address), false, address);
  for (const address of ALLOWED) t.equal(isPublicAddress(address), true, address);
});

void t.test(
  'an address that is not public is refused, however it is spelled, and nothing is looked up or connected',
  async (t) => {
    const { port, asked } = await listen(t, answers(200, {}, 'secret'));
    const http = openStrict(t, async (hostname) => {
      t.fail(`${hostname} was looked up`);
      return [];
    });
    const hosts = [
      '127.0.0.1',
      '127.1',
      '0177.0.0.1',
      '0x7f.0.0.1',
      '0x7f000001',
      '2130706433',
      '017700000001',
      '127.0.0.1.',
      '１２７.0.0.1',
      '①②⑦.0.0.1',
      '0',
      '0.0.0.0',
      '%31%32%37.0.0.1',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[0:0:0:0:0:ffff:7f00:0001]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '[fd00::1]',
      '[fe80::1]',
      '169.254.169.254',
      '10.0.0.1',
      '192.168.1.1',
    ];
    for (const host of hosts)
      await refused(t, http.get(`http://${host}:${port}/`, bounds), 'address-not-allowed', host);
    t.equal(asked.length, 0);
  },
);

void t.test('a name is judged by the addresses it stands for, and those alone are connected to', async (t) => {
  const { port, asked } = await listen(t, answers(200, {}, 'here'));
  for (const addresses of [[], ['127.0.0.1'], ['10.0.0.1', '::1'], ['::ffff:127.0.0.1'], ['fd00::1']]) {
    const http = openStrict(t, async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
    await refused(t, http.get(`http://internal.example:${port}/`, bounds), 'address-not-allowed', addresses.join());
  }
  await refused(
    t,
    openStrict(t).get(`http://localhost:${port}/`, bounds),
    'address-not-allowed',
    'localhost by the system',
  );
  const unknown = openStrict(t, () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })));
  const broken = openStrict(t, () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' })));
  const internal = openStrict(t, async () => [{ address: '10.0.0.1', family: 4 }]);
  t.equal(
    await refused(t, unknown.get('http://no-such.example/', bounds), 'address-not-allowed', 'no such name'),
    await refused(t, internal.get('http://such.example/', bounds), 'address-not-allowed', 'a name of our network'),
    'nobody can tell which names our network has',
  );
  await refused(t, broken.get('http://later.example/', bounds), 'unreachable', 'no answer of the resolver');
  t.equal(asked.length, 0);

  const mixed = openLocal(t, {
    lookup: async () => [
      { address: '10.0.0.1', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ],
  });
  t.equal(Buffer.from((await mixed.get(`http://mixed.example:${port}/`, bounds)).bytes).toString(), 'here');
});

void t.test('a name that changes its address between check and connection (DNS rebinding) gains nothing', async (t) => {
  const open = await listen(t, answers(200, { connection: 'close' }, 'public'));
  const hidden = await listen(t, answers(200, {}, 'secret'), createServer, '127.0.0.2', open.port);
  const { port } = open;
  let lookups = 0;
  // The first answer can be passed, the next ones are of the other: whoever looks up twice connects to it.
  const http = openOutboundHttp({
    lookup: async () => [{ address: (lookups += 1) === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }],
    isAllowed: (address) => address === '127.0.0.1',
  });
  t.teardown(() => http.close());
  t.equal(Buffer.from((await http.get(`http://rebind.example:${port}/`, bounds)).bytes).toString(), 'public');
  t.equal(lookups, 1, 'what was judged is what was connected to');
  for (let again = 0; again < 3; again += 1)
    await refused(
      t,
      http.get(`http://rebind.example:${port}/`, bounds),
      'address-not-allowed',
      'each new connection looks up and judges anew',
    );
  t.equal(lookups, 4);
  t.equal(open.asked.length, 1);
  t.equal(hidden.asked.length, 0);

  const changing = openOutboundHttp({
    lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    // Allowed when it was looked up, not any more when it is connected.
    isAllowed: (
      (calls) => () =>
        (calls += 1) === 1
    )(0),
  });
  t.teardown(() => changing.close());
  await refused(
    t,
    changing.get(`http://changing.example:${port}/`, bounds),
    'address-not-allowed',
    'the connected socket is judged too',
  );
  t.equal(open.asked.length, 1, 'nothing was sent');
});

void t.test('a file is fetched as it is, without credentials, cookies or more headers than needed', async (t) => {
  const { url, asked } = await listen(t, (request, response) => {
    if (request.url === '/plain')
      response
        .writeHead(200, { 'content-type': 'Image/PNG; charset=x', 'set-cookie': 'a=b' })
        .end(Buffer.from([0, 255, 1]));
    else if (request.url === '/empty?q=1') response.writeHead(200).end();
    else response.writeHead(200, { 'content-type': 'nonsense\tx' }).end('x');
  });
  const http = openLocal(t);
  t.same(await http.get(`${url}/plain`, { ...bounds, accept: 'image/*' }), {
    bytes: Buffer.from([0, 255, 1]),
    contentType: 'image/png',
  });
  t.same(await http.get(`${url}/empty?q=1#fragment`, bounds), { bytes: Buffer.alloc(0), contentType: undefined });
  t.match(await http.get(`${url}/other`, bounds), { contentType: undefined });
  t.same(Object.keys(asked[0]!.headers).sort(), ['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  t.match(asked[0]!.headers, { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'sealpost' });
  t.equal(asked[2]!.headers.cookie, undefined);
  t.same(
    asked.map((request) => [request.method, request.url]),
    [
      ['GET', '/plain'],
      ['GET', '/empty?q=1'],
      ['GET', '/other'],
    ],
  );
});

void t.test('what is no http or https URL without credentials is refused before anything is done', async (t) => {
  const http = openLocal(t);
  for (const url of [
    '',
    'nonsense',
    '/path',
    '//host/x',
    'ftp://example.com/x',
    'file:///etc/passwd',
    'data:text/plain,x',
    'gopher://x',
    'javascript:1',
    'http://',
    'https://[::1',
    'http://1.2.3.4.5.6/',
    'http://a b/',
    `http://example.com/${'x'.repeat(9_000)}`,
    'http://user@example.com/',
    'http://:pw@example.com/',
    'blob:http://example.com/x',
    'ws://example.com',
  ]) {
    await refused(t, http.get(url, bounds), 'not-http', url.slice(0, 60));
  }
});

void t.test('redirects are followed as often as allowed, and each is checked anew', async (t) => {
  const { url, port, asked } = await listen(t, (request, response) => {
    const path = request.url ?? '';
    const to = (location: string, status = 302): void => void response.writeHead(status, { location }).end('moved');
    const left = Number(/^\/left\/(\d+)$/.exec(path)?.[1]);
    if (left === 0) response.end('arrived');
    else if (left > 0) to(`/left/${left - 1}`, [301, 302, 303, 307, 308][left % 5]);
    else if (path === '/loop') to('/loop');
    else if (path === '/nowhere') response.writeHead(302).end();
    else to(decodeURIComponent(path.slice(1)));
  });
  const http = openLocal(t);
  for (const left of [0, 1, 2, 3])
    t.equal(
      Buffer.from((await http.get(`${url}/left/${left}`, bounds)).bytes).toString(),
      'arrived',
      `${left} redirects`,
    );
  await refused(t, http.get(`${url}/left/4`, bounds), 'too-many-redirects', 'four redirects');
  await refused(t, http.get(`${url}/left/1`, { ...bounds, redirectsMax: 0 }), 'too-many-redirects', 'none allowed');
  await refused(t, http.get(`${url}/loop`, bounds), 'too-many-redirects', 'a circle');
  await refused(t, http.get(`${url}/nowhere`, bounds), 'status', 'a redirect to nowhere');
  const before = asked.length;
  for (const target of [
    `http://127.0.0.2:${port}/`,
    `http://[::1]:${port}/`,
    'http://169.254.169.254/latest/meta-data/',
    `//10.0.0.1:${port}/x`,
    `http://2130706434:${port}/`,
    `http://localhost:${port}/`,
  ]) {
    const strict = openOutboundHttp({
      isAllowed: (address) => address === '127.0.0.1',
      lookup: async () => [{ address: '127.0.0.3', family: 4 }],
    });
    t.teardown(() => strict.close());
    await refused(
      t,
      strict.get(`${url}/${encodeURIComponent(target)}`, bounds),
      'address-not-allowed',
      `a redirect to ${target}`,
    );
  }
  for (const target of [
    'file:///etc/passwd',
    'ftp://example.com/',
    `http://user:pw@127.0.0.1:${port}/left/0`,
    'http://[',
  ])
    await refused(t, http.get(`${url}/${encodeURIComponent(target)}`, bounds), 'not-http', `a redirect to ${target}`);
  t.equal(asked.length, before + 10, 'only the first address of each was asked');
});

void t.test('every other status is refused with its number', async (t) => {
  const { url } = await listen(
    t,
    (request, response) => void response.writeHead(Number(request.url?.slice(1)), {}).end(),
  );
  const http = openLocal(t);
  for (const status of [201, 204, 206, 300, 304, 400, 401, 404, 410, 500, 503]) {
    t.match(
      await refused(t, http.get(`${url}/${status}`, bounds), 'status', String(status)),
      new RegExp(`\\b${status}\\b`),
    );
  }
});

void t.test('what is too large is refused as soon as that shows', async (t) => {
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  let sent = 0;
  const { url, sockets } = await listen(t, (request, response) => {
    if (request.url === '/announced')
      return void response.writeHead(200, { 'content-length': '100001' }).flushHeaders();
    if (request.url === '/fits') return void response.setHeader('connection', 'close').end(Buffer.alloc(100_000, 7));
    if (request.url === '/one-more') return void response.end(Buffer.alloc(100_001, 7));
    if (request.url === '/bomb') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    if (request.url === '/br')
      return void response
        .writeHead(200, { 'content-encoding': 'br' })
        .end(brotliCompressSync(Buffer.alloc(5_000_000)));
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000))) sent += 10_000;
    };
    response.on('drain', more);
    more();
  });
  const http = openLocal(t);
  t.equal((await http.get(`${url}/fits`, bounds)).bytes.byteLength, 100_000);
  for (const path of ['announced', 'one-more', 'bomb', 'br', 'endless'])
    t.match(await refused(t, http.get(`${url}/${path}`, bounds), 'too-large', path), /100,000 bytes/, path);
  await eventually('the connections of what was refused are closed', () => sockets.size === 0);
  t.ok(sent < 20_000_000, 'the rest was not read');
  await http.close();
});

void t.test('compressed answers are decoded, broken and unknown ones refused', async (t) => {
  const text = Buffer.from('Grüße '.repeat(100));
  const encodings: Readonly<Record<string, readonly [string, Buffer]>> = {
    gzip: ['gzip', gzipSync(text)],
    xgzip: ['X-GZIP', gzipSync(text)],
    deflate: ['deflate', deflateSync(text)],
    br: ['br', brotliCompressSync(text)],
    identity: ['identity', text],
    cut: ['gzip', gzipSync(text).subarray(0, 30)],
    garbage: ['gzip', text],
    zstd: ['zstd', text],
    twice: ['gzip, gzip', gzipSync(gzipSync(text))],
  };
  const { url } = await listen(t, (request, response) => {
    const [encoding, body] = encodings[(request.url ?? '').slice(1)]!;
    response.writeHead(200, { 'content-encoding': encoding }).end(body);
  });
  const http = openLocal(t);
  for (const name of ['gzip', 'xgzip', 'deflate', 'br', 'identity'])
    t.ok(text.equals((await http.get(`${url}/${name}`, bounds)).bytes), name);
  for (const name of ['cut', 'garbage', 'zstd', 'twice'])
    await refused(t, http.get(`${url}/${name}`, bounds), 'unreachable', name);
});

void t.test(
  'the deadline holds for the whole: connecting, waiting, a body that trickles, many redirects',
  async (t) => {
    const timers = new Set<NodeJS.Timeout>();
    t.teardown(() => timers.forEach(clearInterval));
    const { url, sockets } = await listen(t, (request, response) => {
      if (request.url === '/silent') return;
      if (request.url === '/round')
        return void setTimeout(() => response.writeHead(302, { location: '/round' }).end(), 40);
      response.writeHead(200);
      timers.add(setInterval(() => response.write('x'), 10));
    });
    const http = openLocal(t);
    for (const path of ['silent', 'trickle', 'round']) {
      t.match(
        await refused(
          t,
          http.get(`${url}/${path}`, { ...bounds, timeoutMs: 150, redirectsMax: 1_000 }),
          'timeout',
          path,
        ),
        /0\.15 seconds/,
      );
    }
    const slowNames = openLocal(t, { lookup: () => new Promise(() => {}) });
    await refused(
      t,
      slowNames.get('http://slow.example/', { ...bounds, timeoutMs: 50 }),
      'timeout',
      'a resolver that never answers',
    );
    await eventually('nothing stays open', () => sockets.size === 0);

    const caller = new AbortController();
    const stopped = http.get(`${url}/silent`, { ...bounds, signal: caller.signal });
    await eventually('it was asked', () => sockets.size > 0);
    caller.abort();
    await refused(t, stopped, 'timeout', 'the caller stopped');
    await refused(
      t,
      http.get(`${url}/silent`, { ...bounds, signal: caller.signal }),
      'timeout',
      'stopped before it began',
    );

    const open = [
      http.get(`${url}/silent`, bounds),
      http.get(`${url}/trickle`, bounds),
      slowNames.get('http://slow.example/', bounds),
    ].map((fetched) => refused(t, fetched, 'timeout', 'closed meanwhile'));
    await eventually('two were asked', () => sockets.size === 2);
    await Promise.all([http.close(), slowNames.close(), ...open]);
    await eventually('nothing stays open', () => sockets.size === 0);
  },
);

void t.test('failures of a server are told without a word on how our network answered', async (t) => {
  const tls = (name: string): Buffer =>
    readFileSync(fileURLToPath(new URL(`../../../../test/support/tls/${name}`, import.meta.url)));
  const secure = await listen(t, answers(200, {}, 'x'), (listener) =>
    createTlsServer({ cert: tls('valid.pem'), key: tls('key.pem') }, listener),
  );
  const broken = await listen(t, (request, response) => {
    if (request.url === '/cut')
      response.writeHead(200, { 'content-length': '100' }).write('x', () => response.destroy());
    else if (request.url === '/headers') response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end();
    else request.socket.end('SSH-2.0-OpenSSH\r\n');
  });
  const http = openLocal(t);
  t.match(
    await refused(
      t,
      http.get(`https://127.0.0.1:${secure.port}/`, bounds),
      'unreachable',
      'a certificate that nobody vouches for',
    ),
    /certificate/,
  );
  const sentences = new Set<string>();
  for (const url of [
    `${broken.url}/cut`,
    `${broken.url}/headers`,
    `${broken.url}/no-http`,
    'http://127.0.0.1:1/',
    `http://127.0.0.1:${secure.port}/`,
    `https://127.0.0.1:${broken.port}/`,
  ]) {
    sentences.add(await refused(t, http.get(url, bounds), 'unreachable', url.replace(/:\d+/, '')));
  }
  t.equal(sentences.size, 1, 'a closed port, another protocol and a broken answer look the same');
  await http.close();
  await refused(t, http.get(`${broken.url}/cut`, bounds), 'timeout', 'after it was closed');
});

void t.test('slots: no more than so many at once, in order, and who gives up leaves the queue', async (t) => {
  const slots = makeSlots({ slotsMax: 2, shareMax: 2, queueMax: 2 });
  const never = new AbortController().signal;
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const begin = (n: number, signal = never): Promise<number> =>
    slots('a', signal, async () => {
      started.push(n);
      await new Promise<void>((resolve) => ends.push(resolve));
      return n;
    });
  const stop = new AbortController();
  const [first, second, third, fourth] = [begin(1), begin(2), begin(3, stop.signal), begin(4)];
  await eventually('two have begun', () => started.length === 2);
  await t.rejects(begin(0), { name: 'OutboundFault', fault: 'busy' });
  stop.abort(new Error('enough'));
  await t.rejects(third, { message: 'enough' });
  ends[1]!();
  t.equal(await second, 2);
  await eventually('the next has begun', () => started.length === 3);
  t.same(started, [1, 2, 4]);
  ends[0]!();
  ends[2]!();
  t.same(await Promise.all([first, fourth]), [1, 4]);
  await t.rejects(
    slots('a', never, () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  );
  await t.rejects(begin(5, stop.signal), { message: 'enough' });
  const again = [begin(6), begin(7)];
  await eventually('both slots are free again', () => started.length === 5);
  ends.forEach((end) => end());
  t.same(await Promise.all(again), [6, 7]);
});

void t.test(
  'a call to a sign-in provider reaches private addresses of internal hosts alone, and no endless answer',
  async (t) => {
    const server = createServer((request, response) => {
      if (request.url === '/endless') response.end('x'.repeat(2 * 1024 * 1024));
      else if (request.url === '/bomb')
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(64 * 1024 * 1024)));
      else if (request.url === '/slow') response.write('{');
      else if (request.url === '/packed')
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"issuer":"me"}'));
      else if (request.url === '/away') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
      else response.end('ok');
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const internal = openProviderFetch({ internalHosts: new Set(['127.0.0.1']) });
    const guarded = openProviderFetch({ internalHosts: new Set(['id.example.com']) });
    t.teardown(() => Promise.all([internal.close(), guarded.close()]));
    t.equal(await (await internal.fetch(`http://127.0.0.1:${port}/`, {})).text(), 'ok');
    await t.rejects(guarded.fetch(`http://127.0.0.1:${port}/`, {}));
    await t.rejects(guarded.fetch(`http://localhost:${port}/`, {}), 'by name, too');
    t.equal((await internal.fetch(`http://127.0.0.1:${port}/away`, {})).status, 302, 'no redirect is followed');
    const read = async (path: string) => (await internal.fetch(`http://127.0.0.1:${port}${path}`, {})).text();
    await t.rejects(read('/endless'));
    await t.rejects(read('/bomb'), 'a small body that unpacks to a huge one');
    t.equal(await read('/packed'), '{"issuer":"me"}');
    const stop = new AbortController();
    const slow = await internal.fetch(`http://127.0.0.1:${port}/slow`, { signal: stop.signal });
    const reading = slow.text();
    stop.abort(new Error('too late'));
    await t.rejects(reading, 'the deadline of the caller holds for the body, too');
  },
);
