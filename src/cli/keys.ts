/** `sealpost key …`: makes and revokes API keys, beside a running server too. */
import { changeApiKey, createApiKey, revokeApiKey } from '../commands/keys/api-keys.js';
import { systemCaller } from '../commands/core/caller.js';
import { permissions, usualPermissions, type Permission } from '../domain/access/permissions.js';
import { readNetwork } from '../domain/keys/networks.js';
import { parseApiKeyId, type ApiKeyId } from '../domain/core/ids.js';
import type { Limits } from '../domain/core/limits.js';
import { charsOf, isLonger, nameFault } from '../shared/text.js';
import { momentOf, print } from './core/output.js';
import { withTeam } from './core/engine.js';

export type CreateKeyOptions = Readonly<{
  name: string;
  permissions?: string;
  rateLimit?: string;
  expires?: string;
  networks?: string;
  test?: boolean;
  json?: boolean;
}>;
export type ChangeKeyOptions = Readonly<{
  name?: string;
  description?: string;
  rateLimit?: string;
  networks?: string;
  json?: boolean;
}>;

const DESCRIPTION_CHARS_MAX = 2_000;

export const createKey = (options: CreateKeyOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const granted =
      options.permissions === undefined
        ? [...usualPermissions]
        : options.permissions.split(',').map((name) => permissionOf(name.trim()));
    const name = nameOf(options.name, engine.limits);
    const rateLimit = options.rateLimit === undefined ? undefined : rateLimitOf(options.rateLimit, engine.limits);
    const networks = options.networks === undefined ? undefined : networksOf(options.networks, engine.limits);
    const expiresAt = options.expires === undefined ? undefined : momentOf('--expires', options.expires, 'start');
    const created = await createApiKey(engine, systemCaller(teamId, 'cli', 'cli'), {
      name,
      permissions: granted,
      ...(rateLimit === undefined ? {} : { rateLimit }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(networks === undefined ? {} : { networks }),
      ...(options.test === true ? { test: true } : {}),
    });
    if (options.json === true) return print(JSON.stringify(created));
    print(`Key ${created.id} (${created.name}), shown this once:\n\n  ${created.key}\n`);
    print(`Permissions: ${created.permissions.join(', ')}`);
  });

/** `none` takes a limit, or the networks, away. */
export const changeKey = (id: string, options: ChangeKeyOptions): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const { name, description, rateLimit, networks, json } = options;
    const changes = {
      ...(name === undefined ? {} : { name: nameOf(name, engine.limits) }),
      ...(description === undefined ? {} : { description: description === '' ? null : descriptionOf(description) }),
      ...(rateLimit === undefined
        ? {}
        : { rateLimit: rateLimit === 'none' ? null : rateLimitOf(rateLimit, engine.limits) }),
      ...(networks === undefined ? {} : { networks: networks === 'none' ? null : networksOf(networks, engine.limits) }),
    };
    if (Object.keys(changes).length === 0)
      throw new Error('give at least one of --name, --description, --rate-limit and --networks');
    const changed = await changeApiKey(engine, systemCaller(teamId, 'cli', 'cli'), keyIdOf(id), changes);
    if (json === true) return print(JSON.stringify(changed));
    print(`Key ${changed.id} (${changed.name}) is changed.`);
    print(`From: ${changed.networks?.join(', ') ?? 'anywhere'}`);
    print(`Rate limit: ${changed.rateLimit === null ? 'the defaults' : `${changed.rateLimit} a minute`}`);
  });

export const revokeKey = (id: string, { withMade = false }: Readonly<{ withMade?: boolean }>): Promise<void> =>
  withTeam(async (engine, teamId) => {
    const revoked = await revokeApiKey(engine, systemCaller(teamId, 'cli', 'cli'), keyIdOf(id), withMade);
    print(`Key ${revoked.id} (${revoked.name}) is revoked${withMade ? ', and with it every key that it made' : ''}.`);
  });

const keyIdOf = (id: string): ApiKeyId => {
  const parsed = parseApiKeyId(id);
  if (parsed === undefined)
    throw new Error(`${id} is not the id of a key; ids look like key_ followed by 22 characters`);
  return parsed;
};

const nameOf = (name: string, { apiKeyNameCharsMax }: Limits): string => {
  if (name === '' || isLonger(name, apiKeyNameCharsMax))
    throw new Error(`--name has ${charsOf(name)} characters; from 1 to ${apiKeyNameCharsMax} are allowed`);
  const fault = nameFault(name);
  if (fault !== undefined) throw new Error(`--name ${fault}`);
  return name;
};

const descriptionOf = (description: string): string => {
  const chars = charsOf(description);
  if (chars > DESCRIPTION_CHARS_MAX)
    throw new Error(`--description has ${chars} characters; at most ${DESCRIPTION_CHARS_MAX} are allowed`);
  return description;
};

const rateLimitOf = (text: string, { apiKeyRateLimitMax }: Limits): number => {
  const rateLimit = wholeNumberOf(text);
  if (!Number.isSafeInteger(rateLimit) || rateLimit < 1 || rateLimit > apiKeyRateLimitMax)
    throw new Error(`--rate-limit ${text} is not a whole number from 1 to ${apiKeyRateLimitMax} (requests per minute)`);
  return rateLimit;
};

const networksOf = (text: string, { apiKeyNetworksMax }: Limits): string[] => {
  const networks = text.split(',').map((network) => network.trim());
  if (networks.length > apiKeyNetworksMax)
    throw new Error(`--networks has ${networks.length} networks; at most ${apiKeyNetworksMax} are allowed`);
  for (const network of networks) {
    const read = readNetwork(network);
    if (!read.ok) throw new Error(`--networks: ${network} ${read.reason}`);
  }
  return networks;
};

/** NaN where it is not written in digits alone: `0x10` and `1e3` would be numbers that nobody meant. */
const wholeNumberOf = (text: string): number => (/^\d+$/.test(text) ? Number(text) : Number.NaN);

const permissionOf = (name: string): Permission => {
  const found = permissions.find((permission) => permission === name);
  if (found === undefined) throw new Error(`${name} is not a permission; there are ${permissions.join(', ')}`);
  return found;
};
