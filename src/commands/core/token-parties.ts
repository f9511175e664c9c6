/** Who gives access tokens and for whom they are. */
import type { SessionId, UserId } from '../../domain/core/ids.js';
import type { TokenParties } from '../../domain/ports/access-tokens.js';
import type { Keys } from '../../domain/ports/keys.js';
import type { PeoplePorts } from './people.js';

/** What a token that was checked says. */
export type KnownToken = Readonly<{ userId: UserId; sessionId: SessionId; expiresAtMs: number }>;

/** The instance is known by its master key: a token of another one is for another audience, whatever its address is. */
export const partiesOf = ({
  keys,
  people,
}: Readonly<{ keys: Pick<Keys, 'fingerprint'>; people: Pick<PeoplePorts, 'publicUrl'> }>): TokenParties => ({
  issuer: people.publicUrl,
  audience: `sealpost:${keys.fingerprint('instance', '').slice(0, 16)}`,
});
