/**
 * Reads one bare email address (RFC 5321 Mailbox, RFC 5322 addr-spec) and brings it into the one form that is used
 * everywhere.
 */
import { domainToASCII, domainToUnicode } from 'node:url';
import { defaultLimits } from '../core/limits.js';
import { DomainError, type FieldError } from '../core/errors.js';

/** A mailbox: `email` is an addr-spec (RFC 5322, section 3.4.1), `name` the display name. */
export type Recipient = { email: string; name?: string };

type ParsedAddress = Readonly<{ ok: true; address: string; localPart: string; domain: string }>;
type RefusedAddress = Readonly<{ ok: false; reason: string }>;

const LABEL_OCTETS_MAX = 63;
/** atext of RFC 5322, section 3.2.3: what a local part holds without quotes, beside single dots. */
const ATEXT = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/;
const LDH_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
/**
 * A domain as it is typed: letters, digits, hyphens, dots, and what IDNA may map. Everything else must not reach the
 * URL parser behind domainToASCII.
 */
const DOMAIN_TYPED = /^[A-Za-z0-9.\u0080-\u{10ffff}-]+$/u;
const ASCII_ONLY = /^[\x00-\x7f]*$/;

const refused = (reason: string): RefusedAddress => ({ ok: false, reason });

/**
 * In: one address without a display name and without angle brackets. Out: its normal form, or the reason why it is
 * refused.
 *
 * The domain comes out in lower case and as A-labels (RFC 5890); the local part keeps its letter case, and loses quotes
 * that it does not need (RFC 5321, section 4.1.2). Stricter than the RFCs, because no relay would carry it: no
 * comments, no folding white space, no domain literal, no single-label domain but `localhost`, no local part outside
 * ASCII (that needs SMTPUTF8 on every hop), no `<` or `>` even in quotes.
 */
export const parseAddress = (text: string): ParsedAddress | RefusedAddress => {
  if (text === '') return refused('the address is empty');
  if (text.length > 4 * defaultLimits.addressOctetsMax) return refused(tooLong(text.length));
  if (/[\x00-\x1f\x7f]/.test(text)) return refused('the address holds a control character');
  const at = text.lastIndexOf('@');
  if (at < 0) return refused('the address has no @');

  const local = parseLocalPart(text.slice(0, at));
  if (!local.ok) return local;
  const domain = parseDomain(text.slice(at + 1));
  if (!domain.ok) return domain;

  const address = `${local.text}@${domain.text}`;
  if (address.length > defaultLimits.addressOctetsMax) return refused(tooLong(address.length));
  return { ok: true, address, localPart: local.text, domain: domain.text };
};

type Part = Readonly<{ ok: true; text: string }> | RefusedAddress;

const parseLocalPart = (typed: string): Part => {
  if (typed === '') return refused('nothing stands before the @');
  if (!ASCII_ONLY.test(typed)) {
    return refused(
      'the part before the @ holds a character outside ASCII; such mailboxes (SMTPUTF8) are not supported',
    );
  }
  const local = typed.startsWith('"') ? parseQuoted(typed) : parseDotAtom(typed);
  if (local.ok && local.text.length > defaultLimits.localPartOctetsMax) {
    return refused(
      `the part before the @ is ${local.text.length} octets long; at most ${defaultLimits.localPartOctetsMax} are allowed`,
    );
  }
  return local;
};

const parseDotAtom = (typed: string): Part => {
  for (const atom of typed.split('.')) {
    if (atom === '') return refused('the part before the @ has a dot at its beginning or end, or two in a row');
    if (!ATEXT.test(atom)) {
      const character = [...atom].find((one) => !ATEXT.test(one));
      return refused(
        character === ' '
          ? 'the part before the @ holds a space outside quotes'
          : `the part before the @ holds ${JSON.stringify(character)}, which must stand in quotes`,
      );
    }
  }
  return { ok: true, text: typed };
};

/** Quoted-string of RFC 5321, section 4.1.2: printable ASCII, with a backslash before `"` and `\`. */
const parseQuoted = (typed: string): Part => {
  if (typed.length < 2 || !typed.endsWith('"')) return refused('the quotes before the @ are not closed');
  let content = '';
  for (let at = 1; at < typed.length - 1; at += 1) {
    let character = typed[at]!;
    if (character === '"') return refused('the quoted part before the @ holds a bare quote');
    if (character === '\\') {
      at += 1;
      if (at >= typed.length - 1) return refused('the quotes before the @ are not closed');
      character = typed[at]!;
    }
    if (character === '<' || character === '>') return refused('the quoted part before the @ holds an angle bracket');
    content += character;
  }
  if (content === '') return refused('nothing stands in the quotes before the @');
  const plain = parseDotAtom(content);
  return plain.ok ? plain : { ok: true, text: `"${content.replace(/["\\]/g, '\\$&')}"` };
};

/**
 * In: a domain as it is typed. Out: the domain in lower case and as A-labels, or the reason why mail cannot go there.
 */
export const parseDomain = (typed: string): Part => {
  if (typed === '') return refused('nothing stands after the @');
  if (typed.startsWith('[')) return refused('the domain is an address literal; a domain name is needed');
  if (!DOMAIN_TYPED.test(typed)) return refused('the domain holds a character that no domain name has');
  const ascii = ASCII_ONLY.test(typed) ? typed.toLowerCase() : domainToASCII(typed);
  if (ascii === '' || !ascii.split('.').every(isDecodable))
    return refused('the domain is not a valid internationalised domain name');

  const labels = ascii.split('.');
  for (const label of labels) {
    if (label === '') return refused('the domain has a dot at its beginning or end, or two in a row');
    if (label.length > LABEL_OCTETS_MAX)
      return refused(`a label of the domain is ${label.length} octets long; at most ${LABEL_OCTETS_MAX} are allowed`);
    if (!LDH_LABEL.test(label))
      return refused(`${JSON.stringify(label)} is not a label of a domain name: letters, digits and inner hyphens`);
  }
  if (labels.length === 1 && ascii !== 'localhost') return refused('the domain has no dot');
  if (/^\d+$/.test(labels.at(-1)!)) return refused('the domain ends in a number, as an IP address does');
  return { ok: true, text: ascii };
};

/**
 * True if the label decodes and encodes to itself again. Some versions of Node return an A-label (RFC 5890) that is
 * invalid unchanged.
 */
const isDecodable = (label: string): boolean => {
  if (!label.startsWith('xn--')) return true;
  const decoded = domainToUnicode(label);
  return decoded !== label && domainToASCII(decoded) === label;
};

const tooLong = (length: number): string =>
  `the address is ${length} octets long; at most ${defaultLimits.addressOctetsMax} are allowed`;

/** In: an address and the path of its field. Out: the address in its normal form. Throws ERR_EMAIL_001. */
export const requireAddress = (text: string, field: string): string => {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw invalidAddresses([{ field, message: parsed.reason }]);
  return parsed.address;
};

export const invalidAddresses = (errors: readonly FieldError[]): DomainError =>
  new DomainError(
    'ERR_EMAIL_001',
    errors.length === 1
      ? `${errors[0]!.field} is not a valid email address: ${errors[0]!.message}`
      : `${errors.length} addresses are not valid email addresses; see \`errors\`.`,
    { errors },
  );

/** In: `Name <address>` or a bare address. Out: both as they are written, unchecked. */
export const splitMailbox = (text: string): Recipient => {
  const [, name, email] = /^\s*([^<>]*?)\s*<([^<>]+)>\s*$/.exec(text) ?? [];
  if (email === undefined) return { email: text.trim() };
  return { email: email.trim(), ...(name === undefined || name === '' ? {} : { name }) };
};
