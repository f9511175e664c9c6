/** DKIM: keys and signatures. */
import { createPublicKey, generateKeyPairSync, type KeyObject, createPrivateKey, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import DKIM from 'nodemailer/lib/dkim';
import t from 'tap';
import { openDkimSigner, systemDkimKeys } from '../../../src/adapters/mail/dkim.js';
import { assertDefined, parseTeamId } from '../../../src/domain/core/ids.js';
import { composeMessage } from '../../../src/domain/mime/compose.js';
import { signatureFault, tagsOf } from '../../support/dkim.js';
import { growsLinearly } from '../../support/linear.js';

// DKIM signatures: verified by a reader of their own, and their body hash against nodemailer's.

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ed25519 = generateKeyPairSync('ed25519').privateKey;

/** Fault of the first signature. */
const faultOf = (signed: string, privateKey: KeyObject): string | undefined =>
  signed.startsWith('DKIM-Signature:')
    ? signatureFault(signed, createPublicKey(privateKey))
    : 'the signature does not stand first';

const message = composeMessage({
  from: { address: 'shop@example.com', name: 'Müller & Söhne' },
  to: Array.from({ length: 8 }, (_, at) => ({ address: `recipient.${at}@example.org`, name: `Recipient ${at}` })),
  subject: 'Grüße und eine lange Betreffzeile, die gefaltet wird, weil sie nicht in eine Zeile passt',
  date: '2026-02-03T04:05:06.789Z',
  messageId: '1@example.com',
  headers: [{ name: 'List-Unsubscribe', value: '<https://example.com/u>' }],
  html: '<p>Hallo   Welt</p> \n\n\n<p>Ende</p>\t\n\n\n',
  text: 'Hallo',
});

for (const [name, key] of [
  ['rsa', rsa],
  ['ed25519', ed25519],
] as const) {
  void t.test(`a signature by ${name} verifies, and no longer does when anything signed changes`, async (t) => {
    const sign = openDkimSigner({ domain: 'example.com', selector: 's1', privateKey: pem(key) });
    const field = await sign(message);
    t.equal(await sign(message), field, 'the same message has the same signature');
    t.match(tagsOf(field), { v: '1', a: `${name}-sha256`, c: 'relaxed/relaxed', d: 'example.com', s: 's1' });
    t.ok(field.endsWith('\r\n') && field.split('\r\n').every((line) => line.length <= 78));
    const signed = field + message.toString('latin1');
    t.equal(faultOf(signed, key), undefined);
    t.match(faultOf(signed.replace('recipient.3@', 'recipient.4@'), key), /signature/);
    t.match(faultOf(signed.replace('Ende', 'ende'), key), /body hash/);
    t.match(faultOf(signed.replace('From:', 'From: x@y.z\r\nFrom:'), key), /signature/, 'a second From in front');
    t.match(
      faultOf(signed.replace('Subject:', 'Reply-To: x@y.z\r\nSubject:'), key),
      /signature/,
      'a Reply-To that was not there',
    );
    t.equal(
      faultOf(signed.replace('Date: ', 'Date:   '), key),
      undefined,
      'white space in a header may change on the way',
    );
  });
}

void t.test("the body hash is nodemailer's, whatever the body", async (t) => {
  const sign = openDkimSigner({ domain: 'example.com', selector: 's1', privateKey: pem(ed25519) });
  const other = new DKIM({ domainName: 'example.com', keySelector: 's1', privateKey: pem(rsa) });
  const piece = fc.constantFrom('a', 'b c', ' ', '  ', '\t', '\r\n', '\r\n', '\r\n\r\n', '.', '\u00fc');
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      const raw = Buffer.from(`From: a@example.com\r\n\r\n${pieces.join('')}`);
      let theirs = '';
      for await (const chunk of other.sign(raw)) theirs += String(chunk);
      return tagsOf(await sign(raw))['bh'] === tagsOf(theirs.split(/\r\n(?![ \t])/)[0]!)['bh'];
    }),
    { numRuns: 300 },
  );
  t.pass('held for 300 bodies');
});

void t.test('a megabyte of spaces is signed in one pass', async (t) => {
  const sign = openDkimSigner({ domain: 'example.com', selector: 's1', privateKey: pem(ed25519) });
  const withSpaces = (size: number) =>
    Buffer.concat([Buffer.from('From: a@example.com\r\n\r\nx'), Buffer.alloc(size, ' '), Buffer.from('y')]);
  t.ok(await growsLinearly((size) => sign(withSpaces(size)), 1_000_000));
});

void t.test('keys and names that cannot be used', async (t) => {
  const privateKey = pem(ed25519);
  t.throws(() => openDkimSigner({ domain: 'example.com', selector: 's', privateKey: 'nonsense' }), /PEM/);
  t.throws(
    () =>
      openDkimSigner({
        domain: 'example.com',
        selector: 's',
        privateKey: pem(generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey),
      }),
    /1024 bits/,
  );
  t.throws(
    () =>
      openDkimSigner({
        domain: 'example.com',
        selector: 's',
        privateKey: pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
      }),
    /Ed25519/,
  );
  t.throws(() => openDkimSigner({ domain: 'example.com; x=y', selector: 's', privateKey }), /domain/);
  t.throws(() => openDkimSigner({ domain: 'example.com', selector: 's\r\nx', privateKey }), /selector/);
});

// Pairs of keys for sender domains: what is published opens what is signed, and no team keeps another waiting for its
// own.

const teamOf = (digit: number) => assertDefined(parseTeamId(`${digit}1111111-1111-4111-8111-111111111111`), 'team id');

void t.test('a pair of each algorithm, whose halves belong together', async (t) => {
  const [rsa, ed25519] = await systemDkimKeys().make(teamOf(1));
  const text = Buffer.from('signed');
  t.match([rsa, ed25519], [{ algorithm: 'rsa' }, { algorithm: 'ed25519' }]);
  const rsaKey = createPublicKey({ key: Buffer.from(rsa!.publicKey, 'base64'), format: 'der', type: 'spki' });
  t.ok(verify('sha256', text, rsaKey, sign('sha256', text, createPrivateKey(rsa!.privateKey))));
  t.equal(rsaKey.asymmetricKeyDetails?.modulusLength, 2_048);
  const x = Buffer.from(ed25519!.publicKey, 'base64').toString('base64url');
  const edKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  t.ok(verify(null, text, edKey, sign(null, text, createPrivateKey(ed25519!.privateKey))));
});

void t.test('a team that asks for many has one made at a time, and another gets its own between', async (t) => {
  const keys = systemDkimKeys();
  const made: string[] = [];
  const ask = (team: number, name: string) => keys.make(teamOf(team)).then(() => void made.push(name));
  await Promise.all([...Array.from({ length: 6 }, (_, at) => ask(1, `first ${at}`)), ask(2, 'second')]);
  t.same(
    made.filter((name) => name !== 'second'),
    Array.from({ length: 6 }, (_, at) => `first ${at}`),
  );
  t.not(made.at(-1), 'second');
});
