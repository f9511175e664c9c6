/** The DNS records of a sender domain: their names and values, and whether a look-up found them. */
import type { HostLookup, TxtLookup } from '../ports/dns.js';
import type { Found, PublicKey } from './events.js';

export type DnsRecord = Readonly<{ name: string; value: string }>;

export const dkimName = (domain: string, selector: string): string => `${selector}._domainkey.${domain}`;
export const dmarcName = (domain: string): string => `_dmarc.${domain}`;

export const dkimRecord = (domain: string, { selector, algorithm, publicKey }: PublicKey): DnsRecord => ({
  name: dkimName(domain, selector),
  value: `v=DKIM1; k=${algorithm}; p=${publicKey}`,
});

/** `mechanisms`: SPF mechanisms that permit the relay, such as `include:_spf.example.net`. */
export const spfRecord = (domain: string, mechanisms: string): DnsRecord => ({
  name: domain,
  value: `v=spf1 ${mechanisms} ~all`,
});

/** A DMARC policy that asks for no report and no refusal: a start that the owner can tighten. */
export const dmarcRecord = (domain: string): DnsRecord => ({ name: dmarcName(domain), value: 'v=DMARC1; p=none' });

/** The domain of the operator to which bounces are returned, and the host that takes its mail. */
export type ReturnPathDomain = Readonly<{ domain: string; host: string }>;

/** Whether the return path lies in that domain, so that its owner sets the records of the return path. */
export const hasReturnPath = (domain: string, { domain: returnPath }: ReturnPathDomain): boolean =>
  returnPath === domain || returnPath.endsWith(`.${domain}`);

export const mxRecord = ({ domain, host }: ReturnPathDomain): DnsRecord => ({ name: domain, value: `10 ${host}` });

/** The record by which links with the tracking domain reach the service. `host`: the name of its public URL. */
export const trackingRecord = (trackingDomain: string, host: string): DnsRecord => ({
  name: trackingDomain,
  value: host,
});

/** `right`: there is exactly one DKIM record, it has that key, and it permits signing mail with it. */
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

/** `right`: there is exactly one SPF record, and it has all of those mechanisms. */
export const spfFound = (mechanisms: string, lookup: TxtLookup): Found =>
  foundIn(lookup, (texts) => {
    const records = texts
      .map((text) => text.trim().toLowerCase().split(/\s+/))
      .filter(([version]) => version === 'v=spf1');
    if (records.length === 0) return 'missing';
    const [terms] = records;
    const wanted = mechanisms.toLowerCase().split(/\s+/);
    return records.length === 1 && wanted.every((one) => terms!.some((term) => term.replace(/^\+/, '') === one))
      ? 'right'
      : 'wrong';
  });

/** `right`: a record, MX or CNAME, names that host. */
export const hostFound = (host: string, lookup: HostLookup): Found => {
  switch (lookup.kind) {
    case 'failed':
      return 'unknown';
    case 'none':
      return 'missing';
    case 'found':
      return lookup.hosts.includes(host) ? 'right' : 'wrong';
  }
};

/** `right`: there is exactly one DMARC record, and it has a valid policy. */
export const dmarcFound = (lookup: TxtLookup): Found =>
  foundIn(lookup, (texts) => {
    const records = texts.map(tagsOf).filter((tags) => tags.get('v') === 'DMARC1');
    if (records.length === 0) return 'missing';
    return records.length === 1 && ['none', 'quarantine', 'reject'].includes(records[0]!.get('p')?.toLowerCase() ?? '')
      ? 'right'
      : 'wrong';
  });

const foundIn = (lookup: TxtLookup, check: (texts: readonly string[]) => Found): Found => {
  switch (lookup.kind) {
    case 'failed':
      return 'unknown';
    case 'none':
      return 'missing';
    case 'found':
      return check(lookup.texts);
  }
};

/** The tags of `v=DKIM1; k=rsa; p=…` by name; parts without `=` are skipped. */
const tagsOf = (text: string): ReadonlyMap<string, string> => {
  const tags = new Map<string, string>();
  for (const part of text.split(';')) {
    const at = part.indexOf('=');
    if (at > 0) tags.set(part.slice(0, at).trim(), part.slice(at + 1).trim());
  }
  return tags;
};
