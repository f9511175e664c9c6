/** Addresses as SMTP without SMTPUTF8 has them. */
import { domainToASCII } from 'node:url';

/** The same address with its domain in A-labels; one whose domain is none stays as it is. */
export const withAsciiDomain = (address: string): string => {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  return /^[\x00-\x7f]*$/.test(domain) ? address : address.slice(0, at + 1) + (domainToASCII(domain) || domain);
};
