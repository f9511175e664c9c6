/** Posts go to public https endpoints alone, and no receiver takes more time or memory than it may. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { openOutboundPost, type PostGuard } from '../../../src/adapters/outbound-http/post.js';

const serve = async (t: Test, listener: RequestListener): Promise<number> => {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

const open = (t: Test, options: Partial<PostGuard> = { insecureHosts: ['127.0.0.1'] }) => {
  const outbound = openOutboundPost(options);
  t.teardown(() => outbound.close());
  return (url: string, timeoutMs = 5_000) =>
    outbound.post(url, {
      sender: 'a',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      answerBytesMax: 1_024,
      timeoutMs,
      signal: new AbortController().signal,
    });
};

void t.test('an answer is told with its beginning, and a redirect is not followed', async (t) => {
  const asked: string[] = [];
  const port = await serve(t, (request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/away') response.writeHead(302, { location: '/secret' }).end();
    else response.writeHead(503, { 'retry-after': '7' }).end('x'.repeat(5_000));
  });
  const post = open(t);
  t.same(await post(`http://127.0.0.1:${port}/`), { status: 503, retryAfter: '7', body: 'x'.repeat(1_024) });
  t.match(await post(`http://127.0.0.1:${port}/away`), { status: 302 });
  t.same(asked, ['/', '/away']);
});

void t.test('what has no end, or no haste, is cut', async (t) => {
  let sentBytes = 0;
  const port = await serve(t, (request, response) => {
    if (request.url === '/slow') {
      response.writeHead(200);
      const dripping = setInterval(() => response.write('x'), 10);
      response.on('close', () => clearInterval(dripping));
      return;
    }
    const chunk = Buffer.alloc(64 * 1024);
    response.writeHead(request.url === '/refused' ? 500 : 200);
    const more = (): void => {
      while (!response.destroyed && response.write(chunk)) sentBytes += chunk.byteLength;
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  const post = open(t);
  t.match(await post(`http://127.0.0.1:${port}/endless`), { status: 200, body: '\0'.repeat(1_024) });
  t.match(await post(`http://127.0.0.1:${port}/refused`), { status: 500, body: '\0'.repeat(1_024) });
  t.ok(sentBytes < 32 * 1024 * 1024, 'the rest is not read');
  t.match(await post(`http://127.0.0.1:${port}/slow`, 200), { status: 200 }, 'the status has come in time');
});

void t.test('the status is the answer, whatever becomes of the rest', async (t) => {
  let connections = 0;
  const answers: Readonly<Record<string, readonly string[]>> = {
    cut: ['HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok'],
    'no content': ['HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok'],
    'broken chunks': ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n'],
    'no last chunk': ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'],
    refused: ['HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nno'],
    'long fields': [`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(100_000)}\r\nContent-Length: 0\r\n\r\n`],
    continue: ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    'continue first': ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok'],
    'early hints': ['HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'],
    'both lengths': ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    'no number': ['HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nok'],
    'two lengths': ['HTTP/1.1 410 Gone\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nno'],
    'a field without a name': ['HTTP/1.1 503 Away\r\nbad field\r\n\r\n'],
    'longer fields': [`HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(300_000)}\r\n\r\n`],
    'continue in pieces': ['HTTP/1.1 100 Cont', 'inue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    'a letter first': ['H', 'TTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    'continue twice': ['HTTP/1.1 100\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    'continue after hints': [
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    ],
    nothing: [],
    'continue alone': ['HTTP/1.1 100 Continue\r\n\r\n'],
    'half a status line': ['HTTP/1.1 200 O'],
    'half a head': ['HTTP/1.1 200 OK\r\nContent-Le'],
  };
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.once('data', (asked) => {
      const [, name = ''] = /^POST \/(\S+)/.exec(asked.toString('latin1')) ?? [];
      const [first = '', ...others] = answers[decodeURIComponent(name)]!;
      socket.write(first, () => setImmediate(() => socket.end(others.join(''))));
    });
  });
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
  t.teardown(() => server.close());
  const post = open(t);
  for (const [name, status] of [
    ['cut', 200],
    ['no content', 204],
    ['broken chunks', 200],
    ['no last chunk', 200],
    ['refused', 410],
    ['long fields', 200],
    ['continue', 200],
    ['continue first', 201],
    ['early hints', 202],
    ['both lengths', 200],
    ['no number', 200],
    ['two lengths', 410],
    ['a field without a name', 503],
    ['longer fields', 200],
    ['continue in pieces', 200],
    ['a letter first', 200],
    ['continue twice', 200],
    ['continue after hints', 200],
  ] as const)
    t.match(await post(`http://127.0.0.1:${port}/${encodeURIComponent(name)}`), { status }, name);
  t.equal(connections, 18, 'each was posted once');
  for (const name of ['nothing', 'half a head', 'continue alone', 'half a status line'])
    await t.rejects(post(`http://127.0.0.1:${port}/${encodeURIComponent(name)}`), {
      name: 'OutboundFault',
      fault: 'unreachable',
    });
});

void t.test('nothing private is reached, whatever a name stands for when it is connected to', async (t) => {
  const port = await serve(t, (_request, response) => response.end());
  const closed = open(t, {});
  await t.rejects(closed(`https://127.0.0.1:${port}/`), { name: 'OutboundFault', fault: 'address-not-allowed' });
  await t.rejects(closed(`http://127.0.0.1:${port}/`), { name: 'OutboundFault', fault: 'not-http' });
  await t.rejects(closed(`http://example.com/`), { name: 'OutboundFault', fault: 'not-http' });
  await t.rejects(closed(`https://user:secret@example.com/`), { name: 'OutboundFault', fault: 'not-http' });
  let looked = 0;
  const lookup = async () => {
    looked += 1;
    return [{ address: looked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
  };
  await t.rejects(open(t, { lookup })(`https://shop.example.com:${port}/`), {
    name: 'OutboundFault',
    fault: 'address-not-allowed',
  });
  t.equal(looked, 1);
  const elsewhere = open(t, {
    lookup: async () => [{ address: '10.0.0.1', family: 4 }],
    insecureHosts: ['local.example'],
  });
  await t.rejects(
    elsewhere(`http://local.example:${port}/`),
    { name: 'OutboundFault', fault: 'address-not-allowed' },
    'on loopback alone',
  );
});
