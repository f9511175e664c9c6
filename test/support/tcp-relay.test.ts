/**
 * The relay between clients and servers: what is slowed comes whole and in order, and it can cut some connections of
 * many.
 */
import { connect, createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { openTcpRelay } from './tcp-relay.js';
import { eventually } from './wait.js';

/** A server that gives back what it is sent, behind a relay. */
const openEcho = async (t: Test) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const relay = await openTcpRelay({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  t.teardown(async () => {
    await relay.close();
    server.close();
  });
  const call = () => {
    const socket = connect(relay.port, '127.0.0.1');
    const seen = { text: '', isOver: false };
    socket.setEncoding('utf8').on('data', (text: string) => (seen.text += text));
    socket.on('error', () => {}).on('close', () => (seen.isOver = true));
    return { socket, seen };
  };
  return { relay, call };
};

void t.test('pieces that wait, and those after them that do not, come in order', async (t) => {
  const { relay, call } = await openEcho(t);
  const { socket, seen } = call();
  let pieces = 0;
  relay.slow(() => ((pieces += 1) % 3 === 0 ? 20 : 0));
  let sent = '';
  for (let round = 0; round < 20; round += 1) {
    sent += `${round};`;
    socket.write(`${round};`);
    await eventually(`round ${round} is back`, () => seen.text.length >= sent.length);
  }
  relay.slow(undefined);
  socket.write('last');
  await eventually('the last is back', () => seen.text.endsWith('last'));
  t.equal(seen.text, `${sent}last`);
  t.ok(pieces > 20);
});

void t.test('some connections are cut and the others go on', async (t) => {
  const { relay, call } = await openEcho(t);
  const clients = [call(), call(), call(), call()];
  for (const { socket, seen } of clients) {
    socket.write('a');
    await eventually('it is back', () => seen.text === 'a');
  }
  let asked = 0;
  t.equal(
    relay.cut(() => (asked += 1) % 2 === 0),
    2,
  );
  await eventually('two are over', () => clients.filter(({ seen }) => seen.isOver).length === 2);
  for (const { socket, seen } of clients.filter(({ seen }) => !seen.isOver)) {
    socket.write('b');
    await eventually('it goes on', () => seen.text === 'ab');
  }
  t.equal(relay.cut(), 2);
});
