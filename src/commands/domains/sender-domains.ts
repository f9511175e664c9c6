/** Commands on the sender domains of a team, the check of a sender address, and the look-up of DNS records. */
import type { DomainNeeds } from './needs.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import type { Dns } from '../../domain/ports/dns.js';
import { type Recipient, parseDomain } from '../../domain/mime/address.js';
import {
  type LookedUp,
  assertAddable,
  assertRotatable,
  domainNotFound,
  domainOf,
  invalidDomain,
  isAnswered,
  provesControl,
  senderDomainDecider,
  trashedDomain,
  type SenderDomainCommand,
  domainKeysDecider,
} from '../../domain/domains/decider.js';
import {
  dkimFound,
  dkimName,
  dmarcFound,
  dmarcName,
  hasReturnPath,
  hostFound,
  spfFound,
  dkimRecord,
  dmarcRecord,
  mxRecord,
  spfRecord,
  trackingRecord,
} from '../../domain/domains/dns.js';
import {
  hasLinkDomain,
  linkDomainOf,
  maySendFrom,
  publishedKeys,
  verifiedDomainOf,
  type SenderDomain,
  type SenderDomainsState,
} from '../../domain/domains/state.js';
import { claimDomain, domainOwner } from './claims.js';
import { linkBaseOf } from '../recipients/unsubscribe.js';
import { causeOf, type Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import { eraseStream, type EraseDeps, restorableSince } from '../core/erase.js';
import type { DeleteQuery } from '../../api/core/common.js';
import type { AddDomainRequest, DomainListQuery, DomainRecord } from '../../api/domains.js';
import { isOfSimulator } from '../../domain/email/simulator.js';
import {
  assertDefined,
  domainKeysStream,
  parseSenderDomainId,
  parseTeamId,
  senderDomainsStream,
  type SenderDomainId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { PublicKey } from '../../domain/domains/events.js';
import type { Cause } from '../../event-log/event-log.js';

/** In: an address in its normal form. Out: its domain. */
export const domainOfAddress = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

type SenderDeps = Pick<DomainNeeds, 'claimPlaces' | 'domainClaims' | 'senderDomains' | 'team'>;

/**
 * Rejects with SENDER_NOT_ALLOWED if another team owns the sender's domain, or if the team has verified domains and the
 * sender's domain neither equals one nor lies below one.
 */
export const assertMaySend = async (deps: SenderDeps, teamId: TeamId, from: Recipient): Promise<void> => {
  const domain = domainOfAddress(from.email);
  const owner = await domainOwner(deps, domain);
  if (owner === teamId) return;
  const { state } = await deps.senderDomains(senderDomainsStream(teamId));
  if (owner === undefined && maySendFrom(state, domain)) return;
  const message =
    owner === undefined
      ? `must be an address of a verified sender domain of the team; ${domain} is none, and lies below none`
      : `must be an address of a domain that is open to the team; another team has verified ${domain}, or a domain above it`;
  throw new DomainError('SENDER_NOT_ALLOWED', `The sender ${message}. GET /api/domains lists them.`, {
    errors: [{ field: 'from', message }],
  });
};

type LookUpPorts = Pick<DomainNeeds, 'spfMechanisms' | 'feedback' | 'linkBase'> & Readonly<{ dns: Dns }>;

/** Looks up all records of a domain concurrently. */
export const lookUpDomain = async (
  ports: LookUpPorts,
  domain: SenderDomain,
  signal: AbortSignal,
): Promise<LookedUp> => {
  const { dns, spfMechanisms } = ports;
  const [returnPath, tracking, spf, dmarc, ...dkim] = await Promise.all([
    lookUpReturnPath(ports, domain, signal),
    lookUpTracking(ports, domain, signal),
    dns.txt(domain.domain, signal),
    dns.txt(dmarcName(domain.domain), signal),
    ...publishedKeys(domain).map(async (key) => ({
      selector: key.selector,
      found: dkimFound(key, await dns.txt(dkimName(domain.domain, key.selector), signal)),
    })),
  ]);
  return {
    id: domain.id,
    dkim,
    spf: spfFound(spfMechanisms, spf),
    dmarc: dmarcFound(dmarc),
    ...returnPath,
    ...tracking,
  };
};

const lookUpTracking = async (
  { dns, linkBase }: LookUpPorts,
  { tracking }: SenderDomain,
  signal: AbortSignal,
): Promise<Pick<LookedUp, 'tracking'>> => {
  if (tracking === undefined || linkBase === undefined) return {};
  const name = tracking.domain;
  return { tracking: { name, found: hostFound(new URL(linkBase).hostname, await dns.cname(name, signal)) } };
};

const lookUpReturnPath = async (
  { dns, spfMechanisms, feedback }: LookUpPorts,
  { domain }: SenderDomain,
  signal: AbortSignal,
): Promise<Pick<LookedUp, 'returnPath'>> => {
  if (feedback === undefined || !hasReturnPath(domain, feedback.at)) return {};
  const { at } = feedback;
  const [mx, spf] = await Promise.all([dns.mx(at.domain, signal), dns.txt(at.domain, signal)]);
  return { returnPath: { mx: hostFound(at.host, mx), spf: spfFound(spfMechanisms, spf) } };
};

const DNS_RETRY_AFTER_S = 30;

/** Makes the keys of the domain. Out: the records to set; the domain is verified once they are seen. */
export const addDomain = async (
  deps: DomainNeeds,
  caller: Caller,
  request: AddDomainRequest,
): Promise<DomainRecord> => {
  const parsed = parseDomain(request.domain);
  if (!parsed.ok) throw invalidDomain(parsed.reason);
  if (!parsed.text.includes('.')) throw invalidDomain('it has no dot');
  if (isOfSimulator(parsed.text)) throw invalidDomain('it is that of the simulator, which the DNS does not know');
  const domain = parsed.text;
  // Checked before keys are made; AddDomain checks again.
  assertAddable(await domainsOf(deps, caller), domain);
  const id = assertDefined(parseSenderDomainId(deps.ids.uuid()), 'UUID');
  const keys = await newKeys(deps, caller, id);
  try {
    const state = await change(deps, caller, { type: 'AddDomain', at: causeOf(deps, caller).at, id, domain, keys });
    return recordOf(deps, domainOf(state, id));
  } catch (fault) {
    // The domain certainly was not added, so its keys are destroyed.
    if (fault instanceof DomainError) await destroyDomainKeys(deps, id, causeOf(deps, caller));
    throw fault;
  }
};

/** `deleted`: lists the deleted domains that can still be restored instead. */
export const listDomains = async (
  deps: DomainNeeds,
  caller: Caller,
  { deleted = false }: DomainListQuery = {},
): Promise<Readonly<{ data: DomainRecord[] }>> => {
  const state = await domainsOf(deps, caller);
  if (!deleted) return { data: (state?.domains ?? []).map((domain) => recordOf(deps, domain)) };
  const since = restorableSince(deps);
  const trash = (state?.trash ?? []).filter(({ deletedAt }) => deletedAt >= since);
  return { data: trash.toReversed().map((domain) => ({ ...recordOf(deps, domain), deletedAt: domain.deletedAt })) };
};

export const getDomain = async (deps: DomainNeeds, caller: Caller, id: SenderDomainId): Promise<DomainRecord> =>
  recordOf(deps, domainOf(await domainsOf(deps, caller), id));

/**
 * Looks up the records now. If a DKIM record is not answered, it rejects with DNS_LOOKUP_FAILED and records nothing.
 * Rejects with DOMAIN_TAKEN if the records are right and another team owns the domain.
 */
export const verifyDomain = async (deps: DomainNeeds, caller: Caller, id: SenderDomainId): Promise<DomainRecord> => {
  const before = await domainsOf(deps, caller);
  const check = await lookUpDomain(deps, domainOf(before, id), new AbortController().signal);
  if (!isAnswered(check))
    throw new DomainError(
      'DNS_LOOKUP_FAILED',
      'The servers of the DNS did not answer for the records of this domain, so nothing is known of them now and nothing was changed. Try again later.',
      { retryAfterS: DNS_RETRY_AFTER_S },
    );
  const cause = causeOf(deps, caller);
  const closed = await claimProved(deps, before, [check], cause);
  const state = await change(deps, caller, { type: 'RecordChecks', at: cause.at, checks: [check], closed });
  const domain = domainOf(state, id);
  if (closed.length === 0) return recordOf(deps, domain);
  throw new DomainError(
    'DOMAIN_TAKEN',
    `The records of ${domain.domain} are right, but another team of this service has verified it, or a domain above it. ` +
      'It is verified here by the first look-up after that team has deleted the domain or its records are gone.',
  );
};

/**
 * Claims the domains whose control is proved, before they are recorded as verified. Out: the ids of those that another
 * team owns.
 */
export const claimProved = async (
  deps: Parameters<typeof claimDomain>[0],
  state: SenderDomainsState,
  checks: readonly LookedUp[],
  cause: Cause,
): Promise<readonly string[]> => {
  const closed: string[] = [];
  for (const check of checks) {
    const domain = state?.domains.find(({ id }) => id === check.id);
    if (domain !== undefined && provesControl(domain, check) && !(await claimDomain(deps, domain, cause)))
      closed.push(domain.id);
  }
  return closed;
};

/**
 * Sets the domain to which links in mails of the sender domain lead, once its record is seen; null removes it. Resolves
 * when it applies in every process. Rejects with VALIDATION_ERROR, PUBLIC_URL_REQUIRED, and DOMAIN_TAKEN if another
 * team owns the name.
 */
export const setTrackingDomain = async (
  deps: DomainNeeds,
  caller: Caller,
  id: SenderDomainId,
  given: string | null,
): Promise<DomainRecord> => {
  const { domain } = domainOf(await domainsOf(deps, caller), id);
  const trackingDomain = given === null ? null : await trackingDomainOf(deps, caller, domain, given);
  const { at } = causeOf(deps, caller);
  const state = await change(deps, caller, { type: 'SetTrackingDomain', at, id, trackingDomain });
  await deps.whenHeldEverywhere();
  return recordOf(deps, domainOf(state, id));
};

const trackingDomainOf = async (deps: DomainNeeds, caller: Caller, domain: string, given: string): Promise<string> => {
  const publicHost = new URL(linkBaseOf(deps)).hostname;
  const parsed = parseDomain(given);
  const refused = (reason: string): DomainError =>
    invalid('request body', 'trackingDomain', `is no domain for links: ${reason}`);
  if (!parsed.ok) throw refused(parsed.reason);
  const name = parsed.text;
  if (!name.endsWith(`.${domain}`)) throw refused(`it must lie below ${domain}, such as links.${domain}`);
  if (name === publicHost) throw refused('it is the public name of this service');
  if (name === deps.feedback?.at.domain) throw refused('it is the domain of the return path');
  const owner = await domainOwner(deps, name);
  if (owner === undefined || owner === caller.teamId) return name;
  throw new DomainError('DOMAIN_TAKEN', `Another team of this service has verified ${name}, or a domain above it.`);
};

/**
 * `senderDomain`: the verified domain that the sender belongs to; undefined: none. `linksUrl`: the public URL for links
 * in mails of the sender, which is that of the service with the tracking domain in place of its host; undefined: links
 * lead to the public URL itself.
 */
type SenderDomainFound = Readonly<{ senderDomain: string | undefined; linksUrl: string | undefined }>;

/** Served from memory. */
export const senderDomainOf = async (
  deps: SenderDeps & Pick<DomainNeeds, 'linkBase'>,
  teamId: TeamId,
  from: Recipient,
): Promise<SenderDomainFound> => {
  const { state } = await deps.senderDomains(senderDomainsStream(teamId));
  const domain = domainOfAddress(from.email);
  const senderDomain = verifiedDomainOf(state, domain)?.domain;
  const name = deps.linkBase === undefined ? undefined : linkDomainOf(state, domain);
  if (name === undefined || (await domainOwner(deps, name)) !== teamId) return { senderDomain, linksUrl: undefined };
  const url = new URL(deps.linkBase!);
  url.hostname = name;
  return { senderDomain, linksUrl: url.href.replace(/\/$/, '') };
};

/**
 * In: the name under which a request came. Out: the team whose links lead to that name; undefined if it is no tracking
 * domain. Served from memory.
 */
export const linkHostOwner = async (deps: SenderDeps, host: string): Promise<TeamId | undefined> => {
  const owner = await domainOwner(deps, host);
  const teamId = owner === undefined ? undefined : parseTeamId(owner);
  if (teamId === undefined) return undefined;
  const { state } = await deps.senderDomains(senderDomainsStream(teamId));
  return hasLinkDomain(state, host) ? teamId : undefined;
};

/** Makes new keys, which sign once their records are seen. */
export const rotateDomainKeys = async (
  deps: DomainNeeds,
  caller: Caller,
  id: SenderDomainId,
): Promise<DomainRecord> => {
  assertRotatable(domainOf(await domainsOf(deps, caller), id));
  const keys = await newKeys(deps, caller, id);
  const state = await change(deps, caller, { type: 'RotateKeys', at: causeOf(deps, caller).at, id, keys });
  return recordOf(deps, domainOf(state, id));
};

/**
 * Resolves when no process accepts mail of the domain any more. `permanently`: destroys its keys now, from the trash
 * too.
 */
export const deleteDomain = async (
  deps: DomainNeeds,
  caller: Caller,
  id: SenderDomainId,
  { permanently = false }: DeleteQuery = {},
): Promise<void> => {
  const state = await domainsOf(deps, caller);
  const { at } = causeOf(deps, caller);
  if (!permanently) {
    domainOf(state, id);
    await change(deps, caller, { type: 'TrashDomain', at, id });
    return deps.whenHeldEverywhere();
  }
  const isLiving = state?.domains.some((one) => one.id === id) === true;
  if (!isLiving) trashedDomain(state, id);
  // If the program dies in between, the domain stays in the trash and is removed with its keys when its days are over.
  if (isLiving) await change(deps, caller, { type: 'TrashDomain', at, id });
  await deps.whenHeldEverywhere();
  await destroyDomainKeys(deps, id, causeOf(deps, caller));
  await change(deps, caller, { type: 'DeleteDomains', at, ids: [id] });
};

/**
 * Restores a deleted domain. It signs again when its records are seen. Rejects with DOMAIN_NOT_FOUND after its days in
 * the trash.
 */
export const restoreDomain = async (deps: DomainNeeds, caller: Caller, id: SenderDomainId): Promise<DomainRecord> => {
  const { at } = causeOf(deps, caller);
  const keys = await loadState(deps.eventLog, domainKeysStream(id), domainKeysDecider);
  if (keys.state.isDestroyed) throw domainNotFound();
  const state = await change(deps, caller, { type: 'RestoreDomain', at, id, deletedSince: restorableSince(deps) });
  return recordOf(deps, domainOf(state, id));
};

/** Records that the keys sign no more, then destroys them. Safe to repeat. */
export const destroyDomainKeys = async (deps: EraseDeps, id: SenderDomainId, cause: Cause): Promise<void> => {
  const stream = domainKeysStream(id);
  // The keys of a domain that an older version added stand in the stream of the team.
  if ((await deps.eventLog.last(stream)) === undefined) return;
  await handle(deps.eventLog, stream, domainKeysDecider, { type: 'DestroyKeys', at: cause.at }, cause);
  await eraseStream(deps, stream);
};

/** The current state, without private keys. */
const domainsOf = async (deps: DomainNeeds, { teamId }: Caller): Promise<SenderDomainsState> =>
  (await deps.senderDomains(senderDomainsStream(teamId))).state;

const change = async (deps: DomainNeeds, caller: Caller, command: SenderDomainCommand): Promise<SenderDomainsState> => {
  const stream = senderDomainsStream(caller.teamId);
  const { state } = await handle(
    deps.eventLog,
    stream,
    senderDomainDecider,
    command,
    causeOf(deps, caller, command.at),
  );
  return state;
};

/**
 * Makes keys and records the private ones. Selectors are random, so that two teams with one domain differ, and two
 * rotations too.
 */
const newKeys = async (deps: DomainNeeds, caller: Caller, id: SenderDomainId): Promise<PublicKey[]> => {
  const name = `sp${deps.ids.bytes(6).toString('hex')}`;
  const made = (await deps.dkimKeys.make(caller.teamId)).map((pair) => ({
    ...pair,
    selector: `${name}-${pair.algorithm}`,
  }));
  const privateKeys = made.map(({ selector, privateKey }) => ({ selector, privateKey }));
  const cause = causeOf(deps, caller);
  await handle(
    deps.eventLog,
    domainKeysStream(id),
    domainKeysDecider,
    { type: 'KeepKeys', at: cause.at, privateKeys },
    cause,
  );
  return made.map(({ selector, algorithm, publicKey }) => ({ selector, algorithm, publicKey }));
};

/** Records of the return path. It is the envelope sender of mails, so receivers check its SPF record. */
const returnPathRecords = (
  { spfMechanisms, feedback }: DomainNeeds,
  { domain, returnPath }: SenderDomain,
): DomainRecord['records'] => {
  if (feedback === undefined || !hasReturnPath(domain, feedback.at)) return [];
  const common = { purpose: 'return-path' as const, required: false, key: null };
  const { mx, spf } = returnPath ?? { mx: 'unknown' as const, spf: 'unknown' as const };
  // If both are one name, its SPF record is in the list already.
  const spfOfReturnPath = {
    ...common,
    type: 'TXT' as const,
    ...spfRecord(feedback.at.domain, spfMechanisms),
    found: spf,
  };
  return [
    { ...common, type: 'MX', ...mxRecord(feedback.at), found: mx },
    ...(domain === feedback.at.domain ? [] : [spfOfReturnPath]),
  ];
};

const trackingRecords = ({ linkBase }: DomainNeeds, { tracking }: SenderDomain): DomainRecord['records'] => {
  if (tracking === undefined || linkBase === undefined) return [];
  const record = trackingRecord(tracking.domain, new URL(linkBase).hostname);
  return [{ purpose: 'tracking', type: 'CNAME', required: false, key: null, ...record, found: tracking.found }];
};

const recordOf = (deps: DomainNeeds, domain: SenderDomain): DomainRecord => {
  const { spfMechanisms } = deps;
  const { domain: name, signing, next, retiring, dkim } = domain;
  const keyRecords = (keys: readonly PublicKey[], use: 'signing' | 'next' | 'retiring') =>
    keys.map((key) => ({
      purpose: 'dkim' as const,
      type: 'TXT' as const,
      ...dkimRecord(name, key),
      required: true,
      found: dkim[key.selector] ?? ('unknown' as const),
      key: { selector: key.selector, algorithm: key.algorithm, use },
    }));
  const advice = { type: 'TXT' as const, required: false, key: null };
  return {
    id: domain.id,
    domain: name,
    status: domain.status,
    createdAt: domain.createdAt,
    verifiedAt: domain.verifiedAt,
    checkedAt: domain.checkedAt,
    nextCheckAt: domain.nextCheckAt,
    keysRetireAt: retiring?.until ?? null,
    trackingDomain: domain.tracking?.domain ?? null,
    records: [
      ...keyRecords(signing, 'signing'),
      ...keyRecords(next, 'next'),
      ...keyRecords(retiring?.keys ?? [], 'retiring'),
      { purpose: 'spf', ...advice, ...spfRecord(name, spfMechanisms), found: domain.spf },
      { purpose: 'dmarc', ...advice, ...dmarcRecord(name), found: domain.dmarc },
      ...returnPathRecords(deps, domain),
      ...trackingRecords(deps, domain),
    ],
  };
};
