/** The resolver against a server of the DNS on loopback. */
import t from 'tap';
import { openResolver } from '../../../src/adapters/dns/resolver.js';
import { openDnsServer } from '../../support/dns-server.js';

void t.test('texts are put together, and what there is none of differs from what nobody answered for', async (t) => {
  const { address, zone, asked } = await openDnsServer(t);
  const { txt } = openResolver({ servers: [address], timeoutMs: 200, tries: 1 });
  const { signal } = new AbortController();
  const long = `v=DKIM1; k=rsa; p=${'A'.repeat(600)}`;
  zone.set('long.example.com', [long]).set('two.example.com', ['one', 'two']).set('empty.example.com', []);
  zone.set('fault.example.com', 'servfail').set('silent.example.com', 'silent');
  t.strictSame(await txt('long.example.com', signal), { kind: 'found', texts: [long] });
  t.strictSame(await txt('two.example.com', signal), { kind: 'found', texts: ['one', 'two'] });
  t.strictSame(await txt('empty.example.com', signal), { kind: 'none' });
  t.strictSame(await txt('nothing.example.com', signal), { kind: 'none' });
  t.strictSame(await txt('fault.example.com', signal), { kind: 'failed' });
  t.strictSame(await txt('silent.example.com', signal), { kind: 'failed' });
  t.equal(asked.filter((name) => name === 'nothing.example.com').length, 1);
  const stopping = new AbortController();
  const slow = openResolver({ servers: [address], timeoutMs: 60_000, tries: 1 }).txt(
    'silent.example.com',
    stopping.signal,
  );
  stopping.abort();
  t.strictSame(await slow, { kind: 'failed' });
  t.strictSame(await txt('two.example.com', stopping.signal), { kind: 'failed' });
});

void t.test('hosts of MX records', async (t) => {
  const { address, zone } = await openDnsServer(t);
  const { mx } = openResolver({ servers: [address], timeoutMs: 200, tries: 1 });
  const { signal } = new AbortController();
  zone.set('MX bounces.example.com', ['MX.example.com', 'mx2.example.com']).set('MX fault.example.com', 'servfail');
  t.strictSame(await mx('bounces.example.com', signal), {
    kind: 'found',
    hosts: ['mx.example.com', 'mx2.example.com'],
  });
  t.strictSame(await mx('none.example.com', signal), { kind: 'none' });
  t.strictSame(await mx('fault.example.com', signal), { kind: 'failed' });
});

void t.test('the name that a CNAME record gives', async (t) => {
  const { address, zone } = await openDnsServer(t);
  const { cname } = openResolver({ servers: [address], timeoutMs: 200, tries: 1 });
  const { signal } = new AbortController();
  zone.set('CNAME links.example.com', ['Mail.example.net']).set('CNAME fault.example.com', 'servfail');
  t.strictSame(await cname('links.example.com', signal), { kind: 'found', hosts: ['mail.example.net'] });
  t.strictSame(await cname('none.example.com', signal), { kind: 'none' });
  t.strictSame(await cname('fault.example.com', signal), { kind: 'failed' });
});
