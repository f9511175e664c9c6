/** Who calls a command. */
import type { Maker } from '../domain/api-key/state.js';
import type { Permission } from '../domain/api-key/permissions.js';
import type { ApiKeyId, TeamId } from '../domain/ids.js';

/** Who calls, on whose behalf, and under which request: becomes the metadata of every event that the call causes. */
export type Caller = Readonly<{
  teamId: TeamId;
  /** `apiKey:<id>`, `cli`, `system`, `return-path`. */
  actor: string;
  permissions: readonly Permission[];
  correlationId: string;
  /** The key that calls; undefined where the operator or the program does. */
  key?: Maker | undefined;
}>;

/** A caller that came with an API key. */
export type Authenticated = Readonly<{
  teamId: TeamId;
  keyId: ApiKeyId;
  permissions: readonly Permission[];
  rateLimit: number | null;
  expiresAt: string | null;
  madeBy: readonly ApiKeyId[];
}>;
