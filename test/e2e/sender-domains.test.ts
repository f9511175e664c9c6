/**
 * A sender domain from end to end: records shown, set in a real DNS, seen, and the mail that leaves verified by what
 * the DNS holds.
 */
import t from 'tap';
import type { DomainRecord } from '../../src/api/domains.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { keyOfRecord, signatureFault, signaturesOf } from '../support/dkim.js';
import { openDnsServer } from '../support/dns-server.js';
import { openSmtpInbox } from '../support/smtp-inbox.js';

void t.test('what the API shows verifies the mails that leave, through a rotation', async (t) => {
  const dns = await openDnsServer(t);
  const inbox = await openSmtpInbox(t);
  const settings = {
    SEALPOST_DNS_SERVERS: dns.address,
    SEALPOST_SMTP_URL: inbox.url,
    SEALPOST_SPF_MECHANISMS: 'include:_spf.relay.test',
  };
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), settings });
  t.teardown(() => app.stop());
  const set = ({ records }: DomainRecord): void => {
    for (const { name, value } of records) dns.zone.set(name, [value]);
  };
  const post = async (path: string, body?: unknown): Promise<DomainRecord> => {
    const answer = await app.call<DomainRecord>('POST', path, body);
    t.match(answer.status, /^20[01]$/, answer.text);
    return answer.body;
  };
  const sendSigned = async (): Promise<readonly string[]> => {
    const { id } = await app.send({ from: { email: 'orders@mail.shop.test', name: 'Shop' } });
    await app.whenStatus(id, 'sent');
    const raw = inbox.messages.at(-1)!;
    return signaturesOf(raw).map(({ s = '', d = '' }, which) => {
      const [record] = dns.zone.get(`${s}._domainkey.${d}`) ?? [];
      t.equal(record === undefined ? 'no record' : signatureFault(raw, keyOfRecord(record), which), undefined, s);
      return s;
    });
  };

  const added = await post('/api/domains', { domain: 'shop.test' });
  const path = `/api/domains/${added.id}`;
  t.equal((await post(`${path}/verify`)).status, 'pending');
  set(added);
  const verified = await post(`${path}/verify`);
  t.same(
    [verified.status, verified.records.map(({ found }) => found)],
    ['verified', ['right', 'right', 'right', 'right']],
  );
  const refused = await app.call('POST', '/api/emails/send', {
    templateId: 'sign-in-code',
    to: [{ email: 'ada@example.com' }],
    variables: { code: '1', firstName: 'Ada', minutesValid: 10 },
  });
  t.match(refused, { status: 400, body: { code: 'SENDER_NOT_ALLOWED' } });
  const first = await sendSigned();
  t.same(
    first,
    added.records.flatMap(({ key }) => key?.selector ?? []),
  );

  const rotated = await post(`${path}/rotate`);
  t.same(await sendSigned(), first, 'nothing changes before the new records are seen');
  set(rotated);
  const changed = await post(`${path}/verify`);
  const second = await sendSigned();
  t.same(
    second,
    changed.records.flatMap(({ key }) => (key?.use === 'signing' ? [key.selector] : [])),
  );
  t.not(second[0], first[0]);

  dns.zone.set(changed.records[0]!.name, 'servfail');
  t.match(await app.call('POST', `${path}/verify`), { status: 503, body: { code: 'DNS_LOOKUP_FAILED' } });
  t.match(await app.call('GET', path), { status: 200, body: { status: 'verified' } });
  t.match(await app.call('DELETE', path), { status: 200, body: { id: added.id, deleted: true } });
  t.match(await app.call('GET', path), { status: 404, body: { code: 'DOMAIN_NOT_FOUND' } });
  t.same(await sendSigned(), [], 'a deleted domain signs nothing');
  t.match(await app.call('GET', '/api/domains'), { status: 200, body: { data: [] } });
});

void t.test('the records of the return path are shown and looked up where it lies in the domain', async (t) => {
  const dns = await openDnsServer(t);
  const inbox = await openSmtpInbox(t);
  const settings = {
    SEALPOST_DNS_SERVERS: dns.address,
    SEALPOST_SMTP_URL: inbox.url,
    SEALPOST_RETURN_PATH_DOMAIN: 'bounces.shop.test',
    SEALPOST_INBOUND_SMTP_NAME: 'mx.operator.test',
  };
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), settings });
  t.teardown(() => app.stop());
  const returnPathOf = ({ records }: DomainRecord) =>
    records.flatMap(({ purpose, type, name, value, found }) =>
      purpose === 'return-path' ? [[type, name, value, found]] : [],
    );
  const add = async (domain: string) => (await app.call<DomainRecord>('POST', '/api/domains', { domain })).body;
  const verify = async ({ id }: DomainRecord) =>
    (await app.call<DomainRecord>('POST', `/api/domains/${id}/verify`)).body;
  const added = await add('shop.test');
  t.same(returnPathOf(added), [
    ['MX', 'bounces.shop.test', '10 mx.operator.test', 'unknown'],
    ['TXT', 'bounces.shop.test', 'v=spf1 mx ~all', 'unknown'],
  ]);
  t.same(returnPathOf(await add('other.test')), [], 'it is not for the owner of another domain to set');
  const foundOf = async () => returnPathOf(await verify(added)).map(([, , , found]) => found);
  t.same(await foundOf(), ['missing', 'missing']);
  dns.zone.set('MX bounces.shop.test', ['mail.shop.test']).set('bounces.shop.test', ['v=spf1 mx ~all']);
  t.same(await foundOf(), ['wrong', 'right']);
  dns.zone.set('MX bounces.shop.test', ['MX.operator.test']);
  t.same(await foundOf(), ['right', 'right']);
  dns.zone.set('MX bounces.shop.test', 'servfail');
  t.same(await foundOf(), ['right', 'right'], 'what nobody answers for is as it was');
});
