/** The links by which recipients unsubscribe: they name team, list and address to this service, and nothing to anybody else. */
import type { CommandDeps } from '../core/deps.js';
import { suppressionIdOf } from './suppression-check.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseEmailId,
  parseSuppressionId,
  parseTeamId,
  type EmailId,
  type SuppressionId,
  type TeamId,
} from '../../domain/core/ids.js';
import { COPIES_FROM } from '../../domain/core/write-level.js';
import { openReaderTokens, type ReaderTokens } from '../../domain/recipients/reader-token.js';
import { UUID_BYTES, uuidBytes, uuidOfBytes } from '../../domain/core/uuid-bytes.js';

/** What a link stands for. `id`: of the suppression that it makes and takes back; it stays when the address is destroyed everywhere. */
export type Unsubscription = Readonly<{ teamId: TeamId; list: string; id: SuppressionId; emailId: EmailId; recipient: number }>;

type Deps = Readonly<{ keys: Pick<CommandDeps['keys'], 'fingerprint'> }>;

const LIST_FROM = 3 * UUID_BYTES + 2;

/** What stands before the token. */
export const UNSUBSCRIBE_PATH = '/u/';

/** Of mails that leave as one copy for each recipient. Throws PUBLIC_URL_REQUIRED, NOT_DURING_UPDATE. */
export const linkBaseOf = ({ linkBase, withoutCopies }: Pick<CommandDeps, 'linkBase' | 'withoutCopies'>): string => {
  if (withoutCopies === true) {
    const message = `This cannot be done while an older version of the service runs beside this one: it needs level ${COPIES_FROM} of SEALPOST_WRITE_EVENTS.`;
    throw new DomainError('NOT_DURING_UPDATE', message);
  }
  if (linkBase !== undefined) return linkBase;
  throw new DomainError(
    'PUBLIC_URL_REQUIRED',
    'Mails with links of this service need the address under which it is reached: set SEALPOST_PUBLIC_URL, with https outside loopback.',
  );
};

const opened = new WeakMap<Deps['keys'], ReaderTokens>();

/** Made once for each store of keys: making them takes longer than a token. */
const tokensOf = (keys: Deps['keys']): ReaderTokens => {
  const tokens = opened.get(keys) ?? openReaderTokens(keys, 'unsubscribe');
  opened.set(keys, tokens);
  return tokens;
};

type Of = Readonly<{ teamId: TeamId; emailId: EmailId; recipient: number; address: string; list: string }>;

/** The address stands in it as an HMAC alone. The same recipient of the same email has the same link in every attempt. */
export const unsubscribeUrl = ({ keys }: Deps, base: string, { teamId, emailId, recipient, address, list }: Of): string => {
  const place = Buffer.alloc(2);
  place.writeUInt16BE(recipient);
  const id = suppressionIdOf({ keys }, teamId, address, list);
  const payload = Buffer.concat([uuidBytes(teamId), uuidBytes(id), uuidBytes(emailId), place, Buffer.from(list)]);
  return `${base}${UNSUBSCRIBE_PATH}${tokensOf(keys).seal(payload)}`;
};

/** A link of that form which stands for nothing: for previews. */
export const exampleUnsubscribeUrl = (base: string | undefined): string => `${base ?? 'https://example.com'}${UNSUBSCRIBE_PATH}example`;

/** undefined where the token was not made here. */
export const readUnsubscribeToken = ({ keys }: Deps, token: string): Unsubscription | undefined => {
  const payload = tokensOf(keys).open(token);
  if (payload === undefined || payload.length <= LIST_FROM) return undefined;
  const uuidAt = (place: number): string => uuidOfBytes(payload, place * UUID_BYTES);
  return {
    teamId: assertDefined(parseTeamId(uuidAt(0)), 'team id'),
    id: assertDefined(parseSuppressionId(uuidAt(1)), 'suppression id'),
    emailId: assertDefined(parseEmailId(uuidAt(2)), 'email id'),
    recipient: payload.readUInt16BE(3 * UUID_BYTES),
    list: payload.toString('utf8', LIST_FROM),
  };
};
