/**
 * Pairs of keys for sender domains: what is published opens what is signed, and no team keeps another waiting for its
 * own.
 */
import t from 'tap';
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { systemDkimKeys } from '../../../src/adapters/mail/dkim.js';
import { assertDefined, parseTeamId } from '../../../src/domain/core/ids.js';

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
