/** What a link in a mail to a person carries: who they are, and what cannot be guessed. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../core/errors.js';
import { parseUserId, type UserId } from '../core/ids.js';
import type { Link } from './user.js';

const FORMAT = /^([A-Za-z0-9_-]{22})[A-Za-z0-9_-]{43}$/;

const hashOf = (token: string): string => digestOf('sha256', token, 'hex');

/** In: 32 random bytes. Out: the token of the link, and what is kept of it. */
export const makeLink = (userId: UserId, bytes: Buffer): Readonly<{ token: string; hash: string }> => {
  const token = `${Buffer.from(userId.replaceAll('-', ''), 'hex').toString('base64url')}${bytes.toString('base64url')}`;
  return { token, hash: hashOf(token) };
};

export const readLink = (token: string): Readonly<{ userId: UserId; hash: string }> | undefined => {
  const [, id] = FORMAT.exec(token) ?? [];
  if (id === undefined) return undefined;
  const hex = Buffer.from(id, 'base64url').toString('hex');
  const userId = parseUserId(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
  return userId === undefined ? undefined : { userId, hash: hashOf(token) };
};

export const linkInvalid = (): DomainError =>
  new DomainError('LINK_INVALID', 'This link was used before, has expired, or is not whole. Ask for another.');

/** Throws LINK_INVALID where the link is not the one that was sent last, or has expired. */
export const assertLink = (kept: Link | undefined, hash: string, at: string): void => {
  if (kept === undefined || kept.expiresAt <= at || !timingSafeEqual(Buffer.from(kept.hash), Buffer.from(hash))) throw linkInvalid();
};
