/** The port of the figures: what one client may ask of it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t from 'tap';
import { openPrometheus } from '../../../src/adapters/metrics/prometheus.js';

void t.test('a connection is asked once: figures are read for one request of those that come together', async (t) => {
  const metrics = openPrometheus({ onFault: () => t.fail('no figure fails') });
  let reads = 0;
  metrics.gauge({ name: 'sealpost_test', help: 'For the test.' }, () => {
    reads += 1;
    return [{ value: reads }];
  });
  const port = await metrics.listen('127.0.0.1', 0);
  t.teardown(() => metrics.close());
  const socket = connect({ port, host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(100));
  await once(socket, 'close');
  t.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*sealpost_test 1\n/s);
  t.equal(reads, 1);
});
