/** What a recipient may do by the link of a mail: see where it leads, unsubscribe from its list, subscribe again. */
import type { CommandDeps } from '../core/deps.js';
import { suppressionIdOf, holdsNow } from './suppression-check.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseEmailId,
  parseSuppressionId,
  parseTeamId,
  type EmailId,
  type SuppressionId,
  type TeamId,
  emailStream,
  suppressionStream,
} from '../../domain/core/ids.js';
import { COPIES_FROM } from '../../domain/core/write-level.js';
import { openReaderTokens, type ReaderTokens } from '../../domain/recipients/tracking.js';
import { UUID_BYTES, uuidBytes, uuidOfBytes } from '../../domain/core/json.js';
import { handle } from '../core/handle.js';
import { isoMoment } from '../core/memo.js';
import { suppressUnder } from './suppressions.js';
import { suppressionDecider } from '../../domain/recipients/suppression.js';
import type { Cause } from '../../event-log/event-log.js';

/* The links by which recipients unsubscribe: they name team, list and address to this service, and nothing to anybody else. */

/** What a link stands for. `id`: of the suppression that it makes and takes back; it stays when the address is destroyed everywhere. */
type Unsubscription = Readonly<{ teamId: TeamId; list: string; id: SuppressionId; emailId: EmailId; recipient: number }>;

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

/** Where the link leads. `company`: as the mail named it; empty where it did not. */
export type Subscribed = Readonly<{ list: string; company: string; isSubscribed: boolean }>;

/** What the log still has of the mail: its recipient's address is undefined once it is destroyed. */
const mailOf = async ({ eventLog }: CommandDeps, { emailId, recipient }: Unsubscription) => {
  const first = (await eventLog.load(emailStream(emailId)))[0]?.event;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled') return { company: '', address: undefined };
  return { company: first.data.company['name'] ?? '', address: first.sealed?.recipients[recipient]?.email };
};

const causeOf = (deps: CommandDeps, { teamId }: Unsubscription, requestId: string): Cause => ({
  teamId,
  actor: 'recipient',
  correlationId: requestId,
  causationId: requestId,
  at: isoMoment(deps.clock.now()),
});

/** Changes nothing. Out: undefined where the token was not made here, as of the others. */
export const readSubscription = async (deps: CommandDeps, token: string): Promise<Subscribed | undefined> => {
  const link = readUnsubscribeToken(deps, token);
  if (link === undefined) return undefined;
  const [{ company }, isSuppressed] = await Promise.all([mailOf(deps, link), holdsNow(deps, link.id)]);
  return { list: link.list, company, isSubscribed: !isSuppressed };
};

/** Safe to repeat. Rejects with NOT_DURING_UPDATE. */
export const unsubscribe = async (deps: CommandDeps, token: string, requestId: string): Promise<Subscribed | undefined> => {
  const link = readUnsubscribeToken(deps, token);
  if (link === undefined) return undefined;
  const { company, address: email } = await mailOf(deps, link);
  const { teamId, list, emailId } = link;
  const { isFirst } = await suppressUnder(deps, link.id, {
    teamId,
    list,
    emailId,
    reason: 'unsubscribe',
    cause: causeOf(deps, link, requestId),
    ...(email === undefined ? {} : { email }),
  });
  if (isFirst) await deps.whenHeldEverywhere();
  return { list, company, isSubscribed: false };
};

/** Takes back what keeps mails of this list from the recipient, whoever has said it. Rejects as `unsubscribe`. */
export const subscribeAgain = async (deps: CommandDeps, token: string, requestId: string): Promise<Subscribed | undefined> => {
  const link = readUnsubscribeToken(deps, token);
  if (link === undefined) return undefined;
  const { company } = await mailOf(deps, link);
  const cause = causeOf(deps, link, requestId);
  if (await holdsNow(deps, link.id)) {
    const command = { type: 'RemoveSuppression' as const, at: cause.at };
    await handle(deps.eventLog, suppressionStream(link.id), suppressionDecider, command, cause).catch(unlessGone);
  }
  return { list: link.list, company, isSubscribed: true };
};

/** Somebody else was faster. */
const unlessGone = (fault: unknown): void => {
  if (!(fault instanceof DomainError) || fault.code !== 'SUPPRESSION_NOT_FOUND') throw fault;
};
