/** What the sender domains of a team mean for what it sends, and the look-ups that find out about their records. */
import type { CommandPorts } from '../core/deps.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Dns } from '../../domain/ports/dns.js';
import type { Recipient } from '../../domain/mime/recipient.js';
import type { LookedUp } from '../../domain/domains/decider.js';
import { dkimFound, dkimName, dmarcFound, dmarcName, hasReturnPath, mxFound, spfFound } from '../../domain/domains/dns.js';
import { maySendFrom, publishedKeys, type SenderDomain, type SenderDomainsState } from '../../domain/domains/state.js';

/** In: an address in its normal form. Out: its domain. */
export const domainOfAddress = (address: string): string => address.slice(address.lastIndexOf('@') + 1);

/** Throws SENDER_NOT_ALLOWED where the team has verified domains and the sender's is none of them, nor below one. */
export const assertMaySend = (state: SenderDomainsState, from: Recipient): void => {
  if (state === undefined) return;
  const domain = domainOfAddress(from.email);
  if (maySendFrom(state, domain)) return;
  const message = `must be an address of a verified sender domain of the team; ${domain} is none, and lies below none`;
  throw new DomainError('SENDER_NOT_ALLOWED', `The sender ${message}. GET /api/domains lists them.`, {
    errors: [{ field: 'from', message }],
  });
};

type LookUpPorts = Pick<CommandPorts, 'spfMechanisms' | 'feedback'> & Readonly<{ dns: Dns }>;

/** Looks up every record of a domain at once. */
export const lookUpDomain = async (ports: LookUpPorts, domain: SenderDomain, signal: AbortSignal): Promise<LookedUp> => {
  const { dns, spfMechanisms } = ports;
  const [returnPath, spf, dmarc, ...dkim] = await Promise.all([
    lookUpReturnPath(ports, domain, signal),
    dns.txt(domain.domain, signal),
    dns.txt(dmarcName(domain.domain), signal),
    ...publishedKeys(domain).map(async (key) => ({
      selector: key.selector,
      found: dkimFound(key, await dns.txt(dkimName(domain.domain, key.selector), signal)),
    })),
  ]);
  return { id: domain.id, dkim, spf: spfFound(spfMechanisms, spf), dmarc: dmarcFound(dmarc), ...returnPath };
};

const lookUpReturnPath = async (
  { dns, spfMechanisms, feedback }: LookUpPorts,
  { domain }: SenderDomain,
  signal: AbortSignal,
): Promise<Pick<LookedUp, 'returnPath'>> => {
  if (feedback === undefined || !hasReturnPath(domain, feedback.at)) return {};
  const { at } = feedback;
  const [mx, spf] = await Promise.all([dns.mx(at.domain, signal), dns.txt(at.domain, signal)]);
  return { returnPath: { mx: mxFound(at.host, mx), spf: spfFound(spfMechanisms, spf) } };
};
