/** Makes pairs of keys for DKIM. */
import type { TeamId } from '../core/ids.js';

/** `publicKey`: as the tag `p` of the DNS record has it. `privateKey`: PEM (PKCS #8). */
export type KeyPair = Readonly<{ algorithm: 'rsa' | 'ed25519'; publicKey: string; privateKey: string }>;

export type DkimKeys = Readonly<{
  /**
   * One pair of RSA with 2,048 bits, then one of Ed25519; fresh at each call. A pair takes tenths of a second: one is
   * made at once for a team, and teams take turns.
   */
  make: (teamId: TeamId) => Promise<readonly KeyPair[]>;
}>;
