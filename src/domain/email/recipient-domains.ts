/**
 * Figures by domain: how many recipients at the great mailbox providers, and of each verified sender domain, came to
 * which end. Events name these domains outside their sealed part, so that figures survive the keys of emails; a provider
 * with millions of users says nothing of a person. Other domains, which may be those of single people, are not named.
 */
import { emailMilestones, type CountedMilestone, type EmailMilestone } from './milestones.js';
import type { RecipientStatus } from './status.js';

/** Domains of providers whose mailboxes are open to everybody. Each has a row of its own on every day. */
export const providerDomains = [
  '126.com',
  '163.com',
  'aol.com',
  'bluewin.ch',
  'btinternet.com',
  'comcast.net',
  'fastmail.com',
  'free.fr',
  'freenet.de',
  'gmail.com',
  'gmx.at',
  'gmx.ch',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hey.com',
  'hotmail.co.uk',
  'hotmail.com',
  'hotmail.de',
  'hotmail.fr',
  'hotmail.it',
  'icloud.com',
  'laposte.net',
  'libero.it',
  'live.com',
  'mac.com',
  'mail.com',
  'mail.ru',
  'me.com',
  'msn.com',
  'naver.com',
  'o2.pl',
  'orange.fr',
  'outlook.com',
  'outlook.de',
  'outlook.fr',
  'proton.me',
  'protonmail.com',
  'qq.com',
  'rocketmail.com',
  'sapo.pt',
  'seznam.cz',
  'sfr.fr',
  't-online.de',
  'telenet.be',
  'uol.com.br',
  'verizon.net',
  'wanadoo.fr',
  'web.de',
  'wp.pl',
  'yahoo.co.jp',
  'yahoo.co.uk',
  'yahoo.com',
  'yahoo.com.br',
  'yahoo.de',
  'yahoo.fr',
  'yandex.ru',
  'ymail.com',
  'zoho.com',
] as const;

const provided: ReadonlySet<string> = new Set(providerDomains);

/** In: a domain in small letters. */
export const isProviderDomain = (domain: string): boolean => provided.has(domain);

/** Milestones of recipients; an open or a click is one of the email. */
export const domainMilestones: readonly EmailMilestone[] = emailMilestones.filter(
  (name) => name !== 'opened' && name !== 'clicked',
);

/**
 * The provider of each recipient, in order; null: the domain is no provider's. In: addresses as emails have them. Out:
 * undefined if no domain is.
 */
export const providersOf = (
  recipients: readonly Readonly<{ email: string }>[],
): readonly (string | null)[] | undefined => {
  const domains = recipients.map(({ email }) => {
    const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase();
    return isProviderDomain(domain) ? domain : null;
  });
  return domains.every((domain) => domain === null) ? undefined : domains;
};

/** Figures by the domain of the recipient, or of the sender. */
export const domainSides = ['recipient', 'sender'] as const;
export type DomainSide = (typeof domainSides)[number];

const prefixes: Readonly<Record<DomainSide, string>> = { recipient: 'to:', sender: 'from:' };

/** The name of the row of a domain. */
export const domainRow = (side: DomainSide, domain: string): string => `${prefixes[side]}${domain}`;

/** In: the name of a row. Out: the domain if the row is of that side. */
export const domainOfRow = (side: DomainSide, row: string): string | undefined =>
  row.startsWith(prefixes[side]) ? row.slice(prefixes[side].length) : undefined;

export type DomainCounts = Readonly<Record<string, Partial<Record<CountedMilestone, number>>>>;

/** The domains of an email, as its first event names them. */
export type EmailDomains = Readonly<{ domains?: readonly (string | null)[]; senderDomain?: string }>;

/**
 * The recipients that an event adds to the rows of an email's domains, each at the milestones that it reached. In: the
 * statuses of the recipients before (undefined: the email is accepted) and after the event. Out: undefined if nothing.
 */
export const domainCounts = (
  { domains, senderDomain }: EmailDomains,
  before: readonly RecipientStatus[] | undefined,
  after: readonly RecipientStatus[],
): DomainCounts | undefined => {
  if (domains === undefined && senderDomain === undefined) return undefined;
  const counts: Record<string, Partial<Record<CountedMilestone, number>>> = {};
  let isEmpty = true;
  for (const [place, status] of after.entries()) {
    const reached = before === undefined ? ACCEPTED : reachedBetween(before[place], status);
    if (reached.length === 0) continue;
    const domain = domains?.[place];
    const rows = [
      ...(domain === undefined || domain === null ? [] : [domainRow('recipient', domain)]),
      ...(senderDomain === undefined ? [] : [domainRow('sender', senderDomain)]),
    ];
    for (const row of rows) {
      isEmpty = false;
      const own = (counts[row] ??= {});
      for (const milestone of reached) own[milestone] = (own[milestone] ?? 0) + 1;
    }
  }
  return isEmpty ? undefined : counts;
};

const ACCEPTED: readonly CountedMilestone[] = ['accepted'];
const NOTHING: readonly CountedMilestone[] = [];

const reachedBetween = (before: RecipientStatus | undefined, after: RecipientStatus): readonly CountedMilestone[] => {
  if (before === after) return NOTHING;
  const wasSent = before === 'sent' || before === 'delivered';
  switch (after) {
    case 'queued':
      return NOTHING;
    case 'delivered':
      return wasSent ? ['delivered'] : ['sent', 'delivered'];
    case 'bounced':
      return wasSent ? ['bounced', 'returned'] : ['bounced'];
    case 'sent':
    case 'failed':
    case 'cancelled':
    case 'suppressed':
    case 'complained':
      return [after];
  }
};
