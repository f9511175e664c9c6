/** The DNS records of a sender domain: what is to be set, and whether what was found is that. */
import type { MxLookup, TxtLookup } from '../ports/dns.js';
import type { Found, PublicKey } from './events.js';

export type DnsRecord = Readonly<{ name: string; value: string }>;

export const dkimName = (domain: string, selector: string): string => `${selector}._domainkey.${domain}`;
export const dmarcName = (domain: string): string => `_dmarc.${domain}`;

export const dkimRecord = (domain: string, { selector, algorithm, publicKey }: PublicKey): DnsRecord => ({
  name: dkimName(domain, selector),
  value: `v=DKIM1; k=${algorithm}; p=${publicKey}`,
});

/** `mechanisms`: what of SPF lets the relay send, such as `include:_spf.example.net`. */
export const spfRecord = (domain: string, mechanisms: string): DnsRecord => ({ name: domain, value: `v=spf1 ${mechanisms} ~all` });

/** Reports nothing and asks nobody to refuse anything: the beginning from which a domain can be made strict. */
export const dmarcRecord = (domain: string): DnsRecord => ({ name: dmarcName(domain), value: 'v=DMARC1; p=none' });

/** Where reports of mails come back to: a domain of the operator, and the host that takes its mail. */
export type ReturnPathDomain = Readonly<{ domain: string; host: string }>;

/** Whether the records of the return path are for the owner of that domain to set. */
export const hasReturnPath = (domain: string, { domain: of }: ReturnPathDomain): boolean => of === domain || of.endsWith(`.${domain}`);

export const mxRecord = ({ domain, host }: ReturnPathDomain): DnsRecord => ({ name: domain, value: `10 ${host}` });

/** One record whose key is that one, and which allows to sign mail with it. */
export const dkimFound = (key: PublicKey, lookup: TxtLookup): Found =>
  foundIn(lookup, (texts) => {
    const records = texts.map(tagsOf).filter((tags) => tags.has('p'));
    if (records.length === 0) return 'missing';
    return records.length === 1 && isRecordOf(key, records[0]!) ? 'right' : 'wrong';
  });

const isRecordOf = ({ algorithm, publicKey }: PublicKey, tags: ReadonlyMap<string, string>): boolean => {
  const lists = (tag: string, ...wanted: readonly string[]): boolean => {
    const value = tags.get(tag);
    return value === undefined || value.split(':').some((one) => wanted.includes(one.trim()));
  };
  return (
    (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (tags.get('k') ?? 'rsa') === algorithm &&
    tags.get('p')!.replace(/\s/g, '') === publicKey &&
    lists('h', 'sha256') &&
    lists('s', '*', 'email')
  );
};

/** One SPF record that has every one of those mechanisms. */
export const spfFound = (mechanisms: string, lookup: TxtLookup): Found =>
  foundIn(lookup, (texts) => {
    const records = texts.map((text) => text.trim().toLowerCase().split(/\s+/)).filter(([version]) => version === 'v=spf1');
    if (records.length === 0) return 'missing';
    const [terms] = records;
    const wanted = mechanisms.toLowerCase().split(/\s+/);
    return records.length === 1 && wanted.every((one) => terms!.some((term) => term.replace(/^\+/, '') === one)) ? 'right' : 'wrong';
  });

/** MX records of which one names that host. */
export const mxFound = (host: string, lookup: MxLookup): Found => {
  switch (lookup.kind) {
    case 'failed':
      return 'unknown';
    case 'none':
      return 'missing';
    case 'found':
      return lookup.hosts.includes(host) ? 'right' : 'wrong';
  }
};

/** One DMARC record with a policy, whichever it is. */
export const dmarcFound = (lookup: TxtLookup): Found =>
  foundIn(lookup, (texts) => {
    const records = texts.map(tagsOf).filter((tags) => tags.get('v') === 'DMARC1');
    if (records.length === 0) return 'missing';
    return records.length === 1 && ['none', 'quarantine', 'reject'].includes(records[0]!.get('p')?.toLowerCase() ?? '') ? 'right' : 'wrong';
  });

const foundIn = (lookup: TxtLookup, of: (texts: readonly string[]) => Found): Found => {
  switch (lookup.kind) {
    case 'failed':
      return 'unknown';
    case 'none':
      return 'missing';
    case 'found':
      return of(lookup.texts);
  }
};

/** `v=DKIM1; k=rsa; p=…` by name; what is no tag is left out. */
const tagsOf = (text: string): ReadonlyMap<string, string> => {
  const tags = new Map<string, string>();
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    if (at > 0) tags.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
  }
  return tags;
};
