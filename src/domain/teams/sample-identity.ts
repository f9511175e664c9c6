/** The sender and the company that the first team shows until its operator sets others. They are nobody's, so no relay may get them. */
import type { Recipient } from '../mime/address.js';
import type { Company } from '../rendering/scope/constants.js';

const SAMPLE_DOMAIN = 'sealpost.example';

export const sampleSender: Recipient = { email: `hello@${SAMPLE_DOMAIN}`, name: 'Sealpost' };

export const sampleCompany: Company = {
  name: 'Sealpost',
  legalName: 'Sealpost Example Ltd',
  email: sampleSender.email,
  phone: '+44 20 7946 0000',
  website: `https://${SAMPLE_DOMAIN}`,
  addressLine1: '1 Example Street',
  city: 'London',
  state: '',
  postalCode: 'EC1A 1AA',
  country: 'United Kingdom',
};

/** In: an address in its normal form. */
export const isSampleSender = (address: string): boolean => address.endsWith(`@${SAMPLE_DOMAIN}`) || address.endsWith(`.${SAMPLE_DOMAIN}`);

/** Whether nothing of the sample company was changed. */
export const isSampleCompany = (company: Company): boolean =>
  (Object.keys(sampleCompany) as (keyof Company)[]).every((field) => company[field] === sampleCompany[field]);
