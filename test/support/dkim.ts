/** Checks DKIM signatures (RFC 6376, RFC 8463), written for short inputs and clarity. */
import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';

export const tagsOf = (field: string): Record<string, string> =>
  Object.fromEntries(
    field
      .slice(field.indexOf(':') + 1)
      .replace(/\s+/g, '')
      .split(';')
      .filter((tag) => tag !== '')
      .map((tag) => [tag.slice(0, tag.indexOf('=')), tag.slice(tag.indexOf('=') + 1)]),
  );

/** In: the text of a DNS record. Out: the key that it holds. */
export const keyOfRecord = (record: string): KeyObject => {
  const tags = tagsOf(`x:${record}`);
  const bytes = Buffer.from(tags['p']!, 'base64');
  // The DER form of a key of Ed25519 is this beginning and the key.
  const der = tags['k'] === 'ed25519' ? Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bytes]) : bytes;
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
};

/** The tags of each signature of a message, in their order. */
export const signaturesOf = (signed: string): readonly Record<string, string>[] =>
  signatureFields(signed).map((at) => tagsOf(splitFields(signed)[at]!));

const splitFields = (signed: string): readonly string[] =>
  signed.slice(0, signed.indexOf('\r\n\r\n')).split(/\r\n(?![ \t])/);

const signatureFields = (signed: string): readonly number[] =>
  splitFields(signed).flatMap((field, at) => (field.startsWith('DKIM-Signature:') ? [at] : []));

/** Sections 3.4, 3.7 and 6.1, of the signature at that place among the signatures. Out: what is wrong. */
export const signatureFault = (signed: string, publicKey: KeyObject, which = 0): string | undefined => {
  const at = signatureFields(signed)[which];
  if (at === undefined) return 'there is no such signature';
  const fields = splitFields(signed);
  const signature = fields[at]!;
  const tags = tagsOf(signature);
  const relaxed = (field: string): string =>
    `${field.slice(0, field.indexOf(':')).toLowerCase().trim()}:${field
      .slice(field.indexOf(':') + 1)
      .replace(/\r\n/g, '')
      .replace(/[ \t]+/g, ' ')
      .trim()}`;

  let body = signed
    .slice(signed.indexOf('\r\n\r\n') + 4)
    .split('\r\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
    .join('\r\n')
    .replace(/(\r\n)+$/, '');
  if (body !== '') body += '\r\n';
  if (createHash('sha256').update(body, 'latin1').digest('base64') !== tags['bh']) return 'the body hash is wrong';

  const left = fields.filter((_, place) => place !== at);
  let hashed = '';
  for (const name of tags['h']!.split(':')) {
    const index = left.findLastIndex((field) => field.toLowerCase().startsWith(`${name}:`));
    if (index >= 0) hashed += `${relaxed(left.splice(index, 1)[0]!)}\r\n`;
  }
  hashed += relaxed(signature.replace(/(;\s*b=)[^;]*$/, '$1'));
  const data = Buffer.from(hashed, 'latin1');
  const bytes = Buffer.from(tags['b']!, 'base64');
  const isRight =
    tags['a'] === 'rsa-sha256'
      ? verify('sha256', data, publicKey, bytes)
      : verify(null, createHash('sha256').update(data).digest(), publicKey, bytes);
  return isRight ? undefined : 'the signature is wrong';
};
