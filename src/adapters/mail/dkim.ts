/** DKIM (RFC 6376; Ed25519 by RFC 8463): signs messages, relaxed/relaxed, and makes key pairs. */
import { generateKeyPair, createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { DkimKeys, KeyPair } from '../../domain/ports/dkim-keys.js';
import { openFairSlots } from '../../shared/concurrency.js';

export type DkimOptions = Readonly<{
  domain: string;
  selector: string;
  /** PEM, RSA of at least 1,024 bits or Ed25519. */
  privateKey: string;
}>;

/** In: a message with CRLF line ends. Out: the DKIM-Signature field with its CRLF, to be put before the message. */
type DkimSigner = (message: Buffer) => Promise<string>;

/**
 * In: the keys that a message names, undefined if it names none. Out: the signers; none for a message that is not
 * signed.
 */
export type SignersFor = (keys: readonly DkimOptions[] | undefined) => readonly DkimSigner[];

type Field = Readonly<{ name: string; text: string }>;

/** A signature covers those of these fields that the message has (RFC 6376, section 5.4.1). */
const signedFields = [
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
];

/**
 * These are listed once more than they occur, so that nobody can add another in front, which readers would show
 * (section 8.15).
 */
const sealedFields = ['from', 'reply-to', 'subject'];

const RSA_BITS_MIN = 1_024;
const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;

const RSA_BITS = 2_048;
/** The key is the end of its DER form (RFC 8410). */
const ED25519_BYTES = 32;

/**
 * Key pairs are made in the threads that also serve files and DNS. The waiting requests are bounded where they come in.
 */
const SLOTS = { slotsMax: 2, shareMax: 1, queueMax: Infinity } as const;

const never = new AbortController().signal;

/** RSA takes about half a millisecond, so it runs outside the event loop. */
const signBeside = promisify<string | null, Buffer, KeyObject, Buffer>((algorithm, data, key, done) =>
  sign(algorithm, data, key, done),
);

/** Throws an Error with a sentence for the operator if domain, selector or key cannot be used. */
export const openDkimSigner = ({ domain, selector, privateKey }: DkimOptions): DkimSigner => {
  const key = keyOf(privateKey);
  for (const [what, name] of [
    ['domain', domain],
    ['selector', selector],
  ] as const) {
    if (!/^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name))
      throw new Error(`the DKIM ${what} must be a domain name`);
  }
  const isRsa = key.asymmetricKeyType === 'rsa';
  const tags = `v=1; a=${isRsa ? 'rsa' : 'ed25519'}-sha256; c=relaxed/relaxed; d=${domain};\r\n s=${selector}`;

  return async (message) => {
    const { head, body } = split(message);
    const fields = fieldsOf(head);
    const covered = coveredFields(fields);
    const bodyHash = createHash('sha256').update(relaxedBody(body)).digest('base64');
    const unsigned = `DKIM-Signature: ${tags};\r\n bh=${bodyHash};\r\n h=${foldedList(covered.names)};\r\n b=`;
    const signed = Buffer.from(covered.lines + relaxedField(unsigned), 'latin1');
    const signature = isRsa
      ? await signBeside('sha256', signed, key)
      : sign(null, createHash('sha256').update(signed).digest(), key);
    return `${unsigned}${(signature.toString('base64').match(/.{1,72}/g) ?? []).join('\r\n ')}\r\n`;
  };
};

/** `standard`: the key for messages that name none. Throws as `openDkimSigner` does. */
export const openSigners = (standard: DkimOptions | undefined): SignersFor => {
  const standardSigners = standard === undefined ? [] : [openDkimSigner(standard)];
  // Signers are kept as long as the caller keeps the keys.
  const prepared = new WeakMap<readonly DkimOptions[], readonly DkimSigner[]>();
  return (keys) => {
    if (keys === undefined) return standardSigners;
    const known = prepared.get(keys);
    if (known !== undefined) return known;
    const signers = keys.map(openDkimSigner);
    prepared.set(keys, signers);
    return signers;
  };
};

const keyOf = (pem: string): KeyObject => {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new Error('the DKIM key is not a private key in PEM form');
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType === 'rsa' && bits >= RSA_BITS_MIN) return key;
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`the DKIM key must be RSA of at least ${RSA_BITS_MIN} bits or Ed25519`);
};

/** In: a private key that can sign. Out: what its DNS record names. Throws as `openDkimSigner` does. */
export const publicKeyOf = (privateKey: string): Pick<KeyPair, 'algorithm' | 'publicKey'> => {
  const key = createPublicKey(keyOf(privateKey));
  const bytes = key.export({ type: 'spki', format: 'der' });
  return key.asymmetricKeyType === 'rsa'
    ? { algorithm: 'rsa', publicKey: bytes.toString('base64') }
    : { algorithm: 'ed25519', publicKey: bytes.subarray(-ED25519_BYTES).toString('base64') };
};

const split = (message: Buffer): Readonly<{ head: string; body: Buffer }> => {
  const end = message.indexOf('\r\n\r\n');
  return end < 0
    ? { head: message.toString('latin1').replace(/\r\n$/, ''), body: Buffer.alloc(0) }
    : { head: message.toString('latin1', 0, end), body: message.subarray(end + 4) };
};

const fieldsOf = (head: string): readonly Field[] =>
  head.split(/\r\n(?![ \t])/).map((text) => ({
    name: text
      .slice(0, Math.max(0, text.indexOf(':')))
      .trim()
      .toLowerCase(),
    text,
  }));

/** The covered fields in the order of section 3.7: fields of one name from the last to the first. */
const coveredFields = (fields: readonly Field[]): Readonly<{ names: readonly string[]; lines: string }> => {
  const names: string[] = [];
  let lines = '';
  for (const name of signedFields) {
    for (const field of fields.filter((one) => one.name === name).reverse()) {
      names.push(name);
      lines += `${relaxedField(field.text)}\r\n`;
    }
    if (sealedFields.includes(name)) names.push(name);
  }
  return { names, lines };
};

/** RFC 6376, section 3.4.2. */
const relaxedField = (text: string): string => {
  const colon = text.indexOf(':');
  const value = text
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .split(/[ \t]+/)
    .filter((word) => word !== '')
    .join(' ');
  return `${text.slice(0, colon).trim().toLowerCase()}:${value}`;
};

const foldedList = (names: readonly string[]): string => {
  let out = '';
  let lineChars = 3;
  for (const name of names) {
    const piece = out === '' ? name : `:${name}`;
    if (lineChars + piece.length > 74) {
      out += '\r\n ';
      lineChars = 1;
    }
    out += piece;
    lineChars += piece.length;
  }
  return out;
};

/**
 * RFC 6376, section 3.4.4: white space at line ends dropped, elsewhere one space; empty lines at the end dropped.
 * One pass over the bytes: no run of spaces can make it slow.
 */
const relaxedBody = (body: Buffer): Buffer => {
  const out = Buffer.allocUnsafe(body.length + 2);
  let to = 0;
  let white = false;
  let emptyLines = 0;
  let lineHasContent = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]!;
    if (byte === CR && body[at + 1] === LF) {
      at += 1;
      white = false;
      if (lineHasContent) {
        out[to++] = CR;
        out[to++] = LF;
        lineHasContent = false;
      } else {
        emptyLines += 1;
      }
      continue;
    }
    if (byte === SPACE || byte === TAB) {
      white = true;
      continue;
    }
    for (; emptyLines > 0; emptyLines -= 1) {
      out[to++] = CR;
      out[to++] = LF;
    }
    if (white) out[to++] = SPACE;
    white = false;
    lineHasContent = true;
    out[to++] = byte;
  }
  if (lineHasContent) {
    out[to++] = CR;
    out[to++] = LF;
  }
  return out.subarray(0, to);
};

/** Key pairs from the system's generator: RSA with 2,048 bits and Ed25519. */
export const systemDkimKeys = (): DkimKeys => {
  const slots = openFairSlots(SLOTS);
  return {
    make: async (teamId) => {
      await slots.acquire(teamId, never);
      try {
        return await makePairs();
      } finally {
        slots.release(teamId);
      }
    },
  };
};

const makePairs = async (): Promise<readonly KeyPair[]> => {
  const rsa = await generate('rsa', { modulusLength: RSA_BITS });
  const ed25519 = await generate('ed25519');
  const pem = { type: 'pkcs8', format: 'pem' } as const;
  const der = { type: 'spki', format: 'der' } as const;
  return [
    {
      algorithm: 'rsa',
      publicKey: rsa.publicKey.export(der).toString('base64'),
      privateKey: String(rsa.privateKey.export(pem)),
    },
    {
      algorithm: 'ed25519',
      publicKey: ed25519.publicKey.export(der).subarray(-ED25519_BYTES).toString('base64'),
      privateKey: String(ed25519.privateKey.export(pem)),
    },
  ];
};

const generate = promisify(generateKeyPair);
