/**
 * Unsubscribe links: made for each recipient of a mail, and what their pages do (show, unsubscribe, subscribe again).
 */
import type { RecipientNeeds } from './needs.js';
import { suppressionIdOf, isSuppressedNow } from './suppression-check.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  assertDefined,
  parseEmailId,
  parseSuppressionId,
  parseTeamId,
  parseTemplateId,
  type EmailId,
  type SuppressionId,
  type TeamId,
  emailStream,
  suppressionStream,
  templateStream,
  UUID_BYTES,
  uuidBytes,
  uuidOfBytes,
} from '../../domain/core/ids.js';
import { openReaderTokens, type ReaderTokens } from '../../domain/recipients/tracking.js';
import { handle } from '../core/handle.js';
import { isoTime } from '../../domain/core/time.js';
import { suppressUnder } from './suppressions.js';
import { suppressionDecider } from '../../domain/recipients/suppression.js';
import type { Cause } from '../../event-log/event-log.js';

/**
 * The content of a link. `id`: the suppression that it adds and removes, which is known even after the address is
 * erased everywhere.
 */
type Unsubscription = Readonly<{
  teamId: TeamId;
  list: string;
  id: SuppressionId;
  emailId: EmailId;
  recipient: number;
}>;

type Deps = Readonly<{ keys: Pick<RecipientNeeds['keys'], 'fingerprint'> }>;

const LIST_FROM = 3 * UUID_BYTES + 2;

/** The path before the token. */
export const UNSUBSCRIBE_PATH = '/u/';

/** The public URL for the links of mails that are sent as one copy for each recipient. Throws PUBLIC_URL_REQUIRED. */
export const linkBaseOf = ({ linkBase }: Pick<RecipientNeeds, 'linkBase'>): string => {
  if (linkBase !== undefined) return linkBase;
  throw new DomainError(
    'PUBLIC_URL_REQUIRED',
    'Mails with links of this service need the address under which it is reached: set SEALPOST_PUBLIC_URL, with https outside loopback.',
  );
};

const opened = new WeakMap<Deps['keys'], ReaderTokens>();

/** Made once for each store of keys: making them takes longer than sealing a token. */
const tokensOf = (keys: Deps['keys']): ReaderTokens => {
  const tokens = opened.get(keys) ?? openReaderTokens(keys, 'unsubscribe');
  opened.set(keys, tokens);
  return tokens;
};

type LinkRecipient = Readonly<{ teamId: TeamId; emailId: EmailId; recipient: number; address: string; list: string }>;

/** The link contains the address only as an HMAC. It is the same in every attempt to deliver the email. */
export const unsubscribeUrl = (
  { keys }: Deps,
  base: string,
  { teamId, emailId, recipient, address, list }: LinkRecipient,
): string => {
  const place = Buffer.alloc(2);
  place.writeUInt16BE(recipient);
  const id = suppressionIdOf({ keys }, teamId, address, list);
  const payload = Buffer.concat([uuidBytes(teamId), uuidBytes(id), uuidBytes(emailId), place, Buffer.from(list)]);
  return `${base}${UNSUBSCRIBE_PATH}${tokensOf(keys).seal(payload)}`;
};

/** A link for previews; its token is invalid. */
export const exampleUnsubscribeUrl = (base: string | undefined): string =>
  `${base ?? 'https://example.com'}${UNSUBSCRIBE_PATH}example`;

/** undefined if the token was not sealed with these keys. */
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

/** In: the team whose links alone count at the host that was asked; undefined: links of every team. */
const linkOf = (deps: Deps, token: string, teamId: TeamId | undefined): Unsubscription | undefined => {
  const link = readUnsubscribeToken(deps, token);
  return teamId === undefined || link?.teamId === teamId ? link : undefined;
};

/**
 * Data for the page of a link. `company`: as the mail named it; empty if it named none. `locale`: that of the mail, as
 * far as it is known.
 */
export type Subscription = Readonly<{
  teamId: TeamId;
  list: string;
  company: string;
  isSubscribed: boolean;
  locale: string | undefined;
}>;

/** The locale of the template that the mail was made from. */
const templateLocale = async (
  { eventLog }: RecipientNeeds,
  { templateId, templateRevision }: Readonly<{ templateId: string; templateRevision: number }>,
): Promise<string | undefined> => {
  const id = parseTemplateId(templateId);
  if (id === undefined) return undefined;
  for (const { event } of await eventLog.load(templateStream(id)))
    if (event.type === 'TemplateDraftSaved' && event.data.revision === templateRevision) return event.data.draft.locale;
  return undefined;
};

/**
 * Company, recipient, template and locale of the mail. The address, and the locale of the call, are undefined once its
 * key is destroyed.
 */
const mailOf = async ({ eventLog }: RecipientNeeds, { emailId, recipient }: Unsubscription) => {
  const first = (await eventLog.load(emailStream(emailId)))[0]?.event;
  if (first?.type !== 'EmailQueued' && first?.type !== 'EmailScheduled')
    return { company: '', address: undefined, locale: undefined, template: undefined };
  return {
    company: first.data.company['name'] ?? '',
    address: first.sealed?.recipients[recipient]?.email,
    locale: first.sealed?.locale,
    template: first.data,
  };
};

const causeOf = (deps: RecipientNeeds, { teamId }: Unsubscription, requestId: string): Cause => ({
  teamId,
  actor: 'recipient',
  correlationId: requestId,
  causationId: requestId,
  at: isoTime(deps.clock.now()),
});

/** Changes nothing. Out: undefined if the token is invalid, or is one of another team than `teamId`. */
export const readSubscription = async (
  deps: RecipientNeeds,
  token: string,
  teamId?: TeamId,
): Promise<Subscription | undefined> => {
  const link = linkOf(deps, token, teamId);
  if (link === undefined) return undefined;
  const [{ company, locale, template }, isSuppressed] = await Promise.all([
    mailOf(deps, link),
    isSuppressedNow(deps, link.id),
  ]);
  return {
    teamId: link.teamId,
    list: link.list,
    company,
    isSubscribed: !isSuppressed,
    locale: locale ?? (template === undefined ? undefined : await templateLocale(deps, template)),
  };
};

/** Safe to repeat. Out: as `readSubscription`. Rejects with NOT_DURING_UPDATE. */
export const unsubscribe = async (
  deps: RecipientNeeds,
  token: string,
  requestId: string,
  teamId?: TeamId,
): Promise<Subscription | undefined> => {
  const link = linkOf(deps, token, teamId);
  if (link === undefined) return undefined;
  const { company, address: email, locale } = await mailOf(deps, link);
  const { list, emailId } = link;
  const { isFirst } = await suppressUnder(deps, link.id, {
    teamId: link.teamId,
    list,
    emailId,
    reason: 'unsubscribe',
    cause: causeOf(deps, link, requestId),
    ...(email === undefined ? {} : { email }),
  });
  if (isFirst) await deps.whenHeldEverywhere();
  return { teamId: link.teamId, list, company, isSubscribed: false, locale };
};

/** Removes the suppression of this list, whatever its reason. Out: as `readSubscription`. */
export const subscribeAgain = async (
  deps: RecipientNeeds,
  token: string,
  requestId: string,
  teamId?: TeamId,
): Promise<Subscription | undefined> => {
  const link = linkOf(deps, token, teamId);
  if (link === undefined) return undefined;
  const { company, locale } = await mailOf(deps, link);
  const cause = causeOf(deps, link, requestId);
  if (await isSuppressedNow(deps, link.id)) {
    const command = { type: 'RemoveSuppression' as const, at: cause.at };
    await handle(deps.eventLog, suppressionStream(link.id), suppressionDecider, command, cause).catch(unlessGone);
  }
  return { teamId: link.teamId, list: link.list, company, isSubscribed: true, locale };
};

/** Another request has removed it meanwhile. */
const unlessGone = (fault: unknown): void => {
  if (!(fault instanceof DomainError) || fault.code !== 'SUPPRESSION_NOT_FOUND') throw fault;
};
