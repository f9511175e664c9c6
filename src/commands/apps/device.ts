/** Commands on requests of devices (RFC 8628): begin one, find it by its code, decide it, and answer the device. */
import { isoTime } from '../../domain/core/time.js';
import { NO_TEAM, oauthDeviceStream, oauthGrantStream, type UserId } from '../../domain/core/ids.js';
import type { Resource } from '../../domain/apps/authorization.js';
import {
  DEVICE_MS,
  deviceDecider,
  isOpen,
  readUserCode,
  USER_CODE_BYTES,
  userCodeOf,
  type DeviceRequest,
  type DeviceState,
} from '../../domain/apps/device.js';
import type { OAuthDeviceEvent } from '../../domain/apps/events.js';
import { grantDecider } from '../../domain/apps/grant.js';
import { formatDeviceCode, grantIdOf, hashOf, isSameHash, readDeviceCode } from '../../domain/apps/tokens.js';
import type { Scope } from '../../domain/access/permissions.js';
import type { Cause } from '../../event-log/event-log.js';
import { causeOf, type Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import { openOAuthApp, type KnownApp } from './apps.js';
import type { AppNeeds } from './needs.js';
import { endGrant, givenTo, openGrant, type OpenGrant } from './tokens.js';

/** `network`: the network that the request came from, as limits count it. */
type Asked = Readonly<{
  app: KnownApp;
  scopes: readonly Scope[];
  resource: Resource;
  network: string;
  requestId: string;
}>;

/** A request that waits for a person. `isSameNetwork`: it came from the network of the person. */
export type WaitingDevice = Readonly<{
  app: KnownApp;
  userCode: string;
  scopes: readonly Scope[];
  isSameNetwork: boolean;
}>;

/** The state of a request as the device learns it: `error` is one of RFC 8628, section 3.5, or RFC 6749. */
export type DeviceAnswer =
  OpenGrant | Readonly<{ error: 'authorization_pending' | 'access_denied' | 'expired_token' | 'invalid_grant' }>;

const CODE_PURPOSE = 'oauth-user-code';

const NETWORK_PURPOSE = 'oauth-device-network';

/** Codes that are drawn until one is free: each is taken with a chance below one in a million. */
const DRAWS_MAX = 5;

/** Begins a request. The two codes are stored nowhere as they are. */
export const requestDevice = async (
  deps: AppNeeds,
  { app, scopes, resource, network, requestId }: Asked,
): Promise<Readonly<{ deviceCode: string; userCode: string }>> => {
  const nowMs = deps.clock.now();
  const at = isoTime(nowMs);
  for (let draws = 0; draws < DRAWS_MAX; draws += 1) {
    const userCode = userCodeOf(deps.ids.bytes(USER_CODE_BYTES));
    const codeId = codeIdOf(deps, userCode);
    const deviceCode = formatDeviceCode(codeId, deps.ids.bytes(32));
    const requested = {
      at,
      clientId: app.id,
      scopes: [...scopes],
      ...(resource === 'mcp' ? { resource } : {}),
      deviceHash: hashOf(deviceCode),
      network: networkOf(deps, network),
      expiresAt: isoTime(nowMs + DEVICE_MS),
    };
    const cause = ofDevice(requestId, at);
    const command = { type: 'RequestDevice', requested } as const;
    const { events } = await handle(deps.eventLog, oauthDeviceStream(codeId), deviceDecider, command, cause);
    if (events.length > 0) return { deviceCode, userCode };
  }
  throw new Error('no free code was drawn for a device');
};

/** In: the code as the person typed it, and their network. Out: undefined if no request waits under that code. */
export const findDevice = async (
  deps: AppNeeds,
  typed: string,
  network: string,
): Promise<WaitingDevice | undefined> => {
  const userCode = readUserCode(typed);
  if (userCode === undefined) return undefined;
  const { state } = await loadState<OAuthDeviceEvent, DeviceState>(
    deps.eventLog,
    oauthDeviceStream(codeIdOf(deps, userCode)),
    deviceDecider,
  );
  if (state === undefined || !isOpen(state, isoTime(deps.clock.now()))) return undefined;
  const app = await askingApp(deps, state);
  if (app === undefined) return undefined;
  const scopes = state.scopes.filter((scope) => app.scopes.includes(scope));
  return { app, userCode, scopes, isSameNetwork: networkOf(deps, network) === state.network };
};

/**
 * Carries out the decision of a person, in the team of the caller. Out: false if the request has ended, or somebody has
 * decided it meanwhile.
 */
export const decideDevice = async (
  deps: AppNeeds,
  caller: Caller & Readonly<{ user: { id: UserId } }>,
  typed: string,
  isAllowed: boolean,
): Promise<boolean> => {
  const userCode = readUserCode(typed);
  if (userCode === undefined) return false;
  const stream = oauthDeviceStream(codeIdOf(deps, userCode));
  const { state } = await loadState<OAuthDeviceEvent, DeviceState>(deps.eventLog, stream, deviceDecider);
  const app = state && (await askingApp(deps, state));
  if (state === undefined || app === undefined) return false;
  const grantId = grantIdOf(deps.ids.bytes(16));
  const cause = causeOf(deps, caller);
  const { at } = cause;
  const userId = caller.user.id;
  const decided = { at, userId, grantId: isAllowed ? grantId : null };
  const { events } = await handle(
    deps.eventLog,
    stream,
    deviceDecider,
    { type: 'DecideDevice', decided },
    { ...cause, teamId: NO_TEAM },
  );
  if (events.length === 0) return false;
  if (!isAllowed) return true;
  // The request names the grant before there is one: two decisions at once make one grant. A device that asks in between
  // is told to wait.
  const scopes = state.scopes.filter((scope) => app.scopes.includes(scope));
  const given = { ...givenTo(app, { at, scopes, resource: state.resource }), userId };
  const command = { type: 'GiveGrant', given, code: undefined } as const;
  await handle(deps.eventLog, oauthGrantStream(grantId), grantDecider, command, cause);
  return true;
};

/**
 * The answer to a device that asks. A code is good for one answer: a second use ends the grant, for somebody else may
 * have the code.
 */
export const answerDevice = async (
  deps: AppNeeds,
  app: KnownApp,
  deviceCode: string,
  { requestId }: Readonly<{ requestId: string }>,
): Promise<DeviceAnswer> => {
  const read = readDeviceCode(deviceCode);
  if (read === undefined) return { error: 'invalid_grant' };
  const { codeId, hash } = read;
  const stream = oauthDeviceStream(codeId);
  const at = isoTime(deps.clock.now());
  const { state } = await loadState<OAuthDeviceEvent, DeviceState>(deps.eventLog, stream, deviceDecider);
  if (state === undefined || state.clientId !== app.id || !isSameHash(state.deviceHash, hash))
    return { error: 'invalid_grant' };
  if (state.decided !== undefined && state.decided.grantId === undefined) return { error: 'access_denied' };
  if (state.isAnswered) return endReused(deps, state, requestId);
  if (state.expiresAt <= at) return { error: 'expired_token' };
  if (state.decided?.grantId === undefined) return { error: 'authorization_pending' };
  const open = await openGrant(deps, state.decided.grantId);
  if (open === undefined) return { error: 'authorization_pending' };
  if (open.grant.ended !== undefined) return { error: 'access_denied' };
  const command = { type: 'AnswerDevice', at, hash } as const;
  const { events } = await handle(deps.eventLog, stream, deviceDecider, command, ofDevice(requestId, at));
  return events.length === 0 ? endReused(deps, state, requestId) : open;
};

const endReused = async (
  deps: AppNeeds,
  { decided }: DeviceRequest,
  requestId: string,
): Promise<Readonly<{ error: 'invalid_grant' }>> => {
  const open = decided?.grantId && (await openGrant(deps, decided.grantId));
  if (open !== undefined) await endGrant(deps, open, 'code-reused', { requestId });
  return { error: 'invalid_grant' };
};

/** The app of a request, if it may still use this way. */
const askingApp = async (deps: AppNeeds, { clientId }: DeviceRequest): Promise<KnownApp | undefined> => {
  const app = await openOAuthApp(deps, clientId);
  return app?.deviceFlow === true ? app : undefined;
};

const ofDevice = (requestId: string, at: string): Cause => ({
  teamId: NO_TEAM,
  actor: 'system',
  correlationId: requestId,
  causationId: requestId,
  at,
});

/** A code has 34.5 bits, which a plain hash would not hide: this is the beginning of an HMAC. */
const codeIdOf = ({ keys }: AppNeeds, userCode: string): string =>
  Buffer.from(keys.fingerprint(CODE_PURPOSE, userCode), 'hex').subarray(0, 16).toString('base64url');

const networkOf = ({ keys }: AppNeeds, network: string): string =>
  keys.fingerprint(NETWORK_PURPOSE, network).slice(0, 32);
