/** Refresh tokens: the session that they belong to, what cannot be guessed, and a mark by which it is known that they were once given. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import { parseSessionId, type SessionId } from '../core/ids.js';
import type { Keys } from '../ports/keys.js';

const PREFIX = 'sealpost_rt_';
const FORMAT = /^sealpost_rt_([A-Za-z0-9_-]{22})([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{22})$/;

type Fingerprint = Pick<Keys, 'fingerprint'>;

const markOf = ({ fingerprint }: Fingerprint, sessionId: SessionId, random: string): string =>
  Buffer.from(fingerprint('refresh token', JSON.stringify([sessionId, random])).slice(0, 32), 'hex').toString('base64url');

const hashOf = (token: string): string => digestOf('sha256', token, 'hex');

/** In: 32 random bytes. Out: the token, and what is kept of it. */
export const makeRefreshToken = (keys: Fingerprint, sessionId: SessionId, bytes: Buffer): Readonly<{ token: string; hash: string }> => {
  const random = bytes.toString('base64url');
  const token = `${PREFIX}${sessionId.slice('ses_'.length)}${random}${markOf(keys, sessionId, random)}`;
  return { token, hash: hashOf(token) };
};

/** Out: undefined for a text that was never given as one: who only knows the id of a session can end none by it. */
export const readRefreshToken = (keys: Fingerprint, token: string): Readonly<{ sessionId: SessionId; hash: string }> | undefined => {
  const [, id = '', random = '', mark = ''] = FORMAT.exec(token) ?? [];
  const sessionId = parseSessionId(`ses_${id}`);
  if (sessionId === undefined) return undefined;
  return timingSafeEqual(Buffer.from(mark), Buffer.from(markOf(keys, sessionId, random))) ? { sessionId, hash: hashOf(token) } : undefined;
};
