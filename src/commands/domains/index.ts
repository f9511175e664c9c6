/** The commands of domains, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { DomainNeeds } from './needs.js';
import {
  addDomain,
  listDomains,
  getDomain,
  verifyDomain,
  rotateDomainKeys,
  deleteDomain,
  restoreDomain,
  setTrackingDomain,
  linkHostOwner,
} from './sender-domains.js';

export const domainCommands = {
  addDomain: { run: addDomain, codes: ['VALIDATION_ERROR', 'DOMAIN_EXISTS', 'DOMAIN_LIMIT_EXCEEDED', ...writeCodes] },
  listDomains: { run: listDomains, codes: [] },
  getDomain: { run: getDomain, codes: ['DOMAIN_NOT_FOUND'] },
  verifyDomain: {
    run: verifyDomain,
    codes: ['DOMAIN_NOT_FOUND', 'DOMAIN_TAKEN', 'DNS_LOOKUP_FAILED', 'CONFLICT', ...writeCodes],
  },
  rotateDomainKeys: { run: rotateDomainKeys, codes: ['DOMAIN_NOT_FOUND', 'DKIM_ROTATION_UNDER_WAY', ...writeCodes] },
  deleteDomain: { run: deleteDomain, codes: ['DOMAIN_NOT_FOUND', ...writeCodes] },
  setTrackingDomain: {
    run: setTrackingDomain,
    codes: ['VALIDATION_ERROR', 'DOMAIN_NOT_FOUND', 'DOMAIN_TAKEN', 'PUBLIC_URL_REQUIRED', ...writeCodes],
  },
  linkHostOwner: { run: linkHostOwner, codes: [] },
  restoreDomain: {
    run: restoreDomain,
    codes: ['DOMAIN_NOT_FOUND', 'DOMAIN_EXISTS', 'DOMAIN_LIMIT_EXCEEDED', ...writeCodes],
  },
} as const satisfies CommandTable<DomainNeeds>;
