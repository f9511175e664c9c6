/** Needs of sender domains. */
import type { ClaimPlaces, DomainClaims, SenderDomainsState } from '../../domain/domains/state.js';
import type { DkimKeys } from '../../domain/ports/dkim-keys.js';
import type { Dns } from '../../domain/ports/dns.js';
import type { ErasePorts } from '../core/erase.js';
import type { CorePorts, Load } from '../core/ports.js';
import type { RecipientNeeds } from '../recipients/needs.js';

export type DomainNeeds = CorePorts &
  ErasePorts &
  Pick<RecipientNeeds, 'feedback' | 'linkBase'> &
  Readonly<{
    dns: Dns;
    dkimKeys: DkimKeys;
    /** The SPF mechanisms that allow the relay to send mail of the teams. */
    spfMechanisms: string;
    /** The sender domains of a team, without private keys. */
    senderDomains: Load<SenderDomainsState>;
    /** The teams that have verified domains with the same last two labels. */
    domainClaims: Load<DomainClaims>;
    /** Place of the claims on a domain; undefined for a name of one label, which cannot be claimed. */
    claimPlaces: (domain: string) => ClaimPlaces | undefined;
  }>;
