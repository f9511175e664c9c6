/** `sealpost key …`: makes and revokes API keys, beside a running server too. */
import { createApiKey, revokeApiKey } from '../commands/api-keys.js';
import { systemCaller } from '../commands/first-start.js';
import { permissions, usualPermissions, type Permission } from '../domain/api-key/permissions.js';
import { parseApiKeyId } from '../domain/ids.js';
import { charsOf, isLonger, nameFault } from '../shared/characters.js';
import { momentOf } from './arguments.js';
import { print } from './output.js';
import { withTeam } from './with-engine.js';

export type CreateKeyOptions = Readonly<{ name: string; permissions?: string; rateLimit?: string; expires?: string; json?: boolean }>;

export const createKey = (options: CreateKeyOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const granted =
      options.permissions === undefined ? [...usualPermissions] : options.permissions.split(',').map((name) => permissionOf(name.trim()));
    const { apiKeyNameCharsMax, apiKeyRateLimitMax } = engine.limits;
    if (options.name === '' || isLonger(options.name, apiKeyNameCharsMax))
      throw new Error(`--name has ${charsOf(options.name)} characters; from 1 to ${apiKeyNameCharsMax} are allowed`);
    const fault = nameFault(options.name);
    if (fault !== undefined) throw new Error(`--name ${fault}`);
    const rateLimit = options.rateLimit === undefined ? undefined : wholeNumberOf(options.rateLimit);
    if (rateLimit !== undefined && (!Number.isSafeInteger(rateLimit) || rateLimit < 1 || rateLimit > apiKeyRateLimitMax)) {
      throw new Error(`--rate-limit ${options.rateLimit} is not a whole number from 1 to ${apiKeyRateLimitMax} (requests per minute)`);
    }
    const expiresAt = options.expires === undefined ? undefined : momentOf('--expires', options.expires, 'start');
    const created = await createApiKey(engine, systemCaller(teamId, 'cli', 'cli'), {
      name: options.name,
      permissions: granted,
      ...(rateLimit === undefined ? {} : { rateLimit }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
    if (options.json === true) return print(JSON.stringify(created));
    print(`Key ${created.id} (${created.name}), shown this once:\n\n  ${created.key}\n`);
    print(`Permissions: ${created.permissions.join(', ')}`);
  });

export const revokeKey = (id: string, { withMade = false }: Readonly<{ withMade?: boolean }>): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const parsed = parseApiKeyId(id);
    if (parsed === undefined) throw new Error(`${id} is not the id of a key; ids look like key_ followed by 22 characters`);
    const revoked = await revokeApiKey(engine, systemCaller(teamId, 'cli', 'cli'), parsed, withMade);
    print(`Key ${revoked.id} (${revoked.name}) is revoked${withMade ? ', and with it every key that it made' : ''}.`);
  });

/** NaN where it is not written in digits alone: `0x10` and `1e3` would be numbers that nobody meant. */
const wholeNumberOf = (text: string): number => (/^\d+$/.test(text) ? Number(text) : Number.NaN);

const permissionOf = (name: string): Permission => {
  const found = permissions.find((permission) => permission === name);
  if (found === undefined) throw new Error(`${name} is not a permission; there are ${permissions.join(', ')}`);
  return found;
};
