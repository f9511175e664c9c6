/**
 * The request of a device or program without a browser (RFC 8628): its short code, which a person types on a page, the
 * decision, and the one answer to it.
 */
import { isScope, type Scope } from '../access/permissions.js';
import type { Decider } from '../core/decider.js';
import {
  assertDefined,
  parseOAuthClientId,
  parseOAuthGrantId,
  type OAuthClientId,
  type OAuthGrantId,
} from '../core/ids.js';
import type { Resource } from './authorization.js';
import type { OAuthDeviceEvent } from './events.js';
import { isSameHash } from './tokens.js';

type Requested = Extract<OAuthDeviceEvent, { type: 'OAuthDeviceRequested' }>['data'];
type Decided = Extract<OAuthDeviceEvent, { type: 'OAuthDeviceDecided' }>['data'];

export type DeviceRequest = Readonly<{
  clientId: OAuthClientId;
  scopes: readonly Scope[];
  resource: Resource;
  deviceHash: string;
  network: string;
  expiresAt: string;
  /** `grantId`: undefined if the person denied it. */
  decided: Readonly<{ grantId: OAuthGrantId | undefined }> | undefined;
  isAnswered: boolean;
}>;
export type DeviceState = DeviceRequest | undefined;

export type DeviceCommand =
  | Readonly<{ type: 'RequestDevice'; requested: Requested }>
  | Readonly<{ type: 'DecideDevice'; decided: Decided }>
  | Readonly<{ type: 'AnswerDevice'; at: string; hash: string }>;

/** A request of a device is good for this time. */
export const DEVICE_MS = 10 * 60_000;

/** A device asks no more often than this (`interval`). */
export const DEVICE_INTERVAL_S = 5;

/** Consonants that no two of which are mistaken for each other, and of which no words are made (RFC 8628, section 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

const CODE_CHARS = 8;

/** Bytes above are drawn again, so that each letter is as likely. */
const BYTES_BELOW = 256 - (256 % LETTERS.length);

/** Random bytes of which a code is drawn: the chance that they do not suffice is below 1 in 10^20. */
export const USER_CODE_BYTES = 40;

/** In: random bytes. Out: a code such as `BCDF-GHJK`: 20^8 possible codes, 34.5 bits. */
export const userCodeOf = (random: Uint8Array): string => {
  const letters = [...random]
    .filter((byte) => byte < BYTES_BELOW)
    .slice(0, CODE_CHARS)
    .map((byte) => LETTERS[byte % LETTERS.length]);
  if (letters.length < CODE_CHARS) throw new Error('too few random bytes for a code');
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
};

/**
 * In: the code as a person types it: small letters, blanks and other hyphens make no difference. Out: undefined if it
 * cannot be one.
 */
export const readUserCode = (text: string): string | undefined => {
  if (text.length > 40) return undefined;
  const letters = text.toUpperCase().replace(/[\s\p{Pd}_.]/gu, '');
  if (letters.length !== CODE_CHARS || [...letters].some((letter) => !LETTERS.includes(letter))) return undefined;
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
};

/** A command that comes too late, or for another code, yields no event. */
const decide = (command: DeviceCommand, device: DeviceState): readonly OAuthDeviceEvent[] => {
  if (command.type === 'RequestDevice')
    return device === undefined ? [{ type: 'OAuthDeviceRequested', data: command.requested }] : [];
  if (device === undefined) return [];
  switch (command.type) {
    case 'DecideDevice':
      return isOpen(device, command.decided.at) ? [{ type: 'OAuthDeviceDecided', data: command.decided }] : [];
    case 'AnswerDevice':
      return device.decided?.grantId === undefined ||
        device.isAnswered ||
        device.expiresAt <= command.at ||
        !isSameHash(device.deviceHash, command.hash)
        ? []
        : [{ type: 'OAuthDeviceAnswered', data: { at: command.at } }];
  }
};

const evolve = (device: DeviceState, event: OAuthDeviceEvent): DeviceState => {
  switch (event.type) {
    case 'OAuthDeviceRequested': {
      const { clientId, scopes, resource, deviceHash, network, expiresAt } = event.data;
      return {
        clientId: assertDefined(parseOAuthClientId(clientId), 'id of an app'),
        scopes: scopes.filter(isScope),
        resource: resource === 'mcp' ? 'mcp' : 'service',
        deviceHash,
        network,
        expiresAt,
        decided: undefined,
        isAnswered: false,
      };
    }
    case 'OAuthDeviceDecided': {
      const { grantId } = event.data;
      return device && { ...device, decided: { grantId: parseOAuthGrantId(grantId ?? '') } };
    }
    case 'OAuthDeviceAnswered':
      return device && { ...device, isAnswered: true };
  }
};

export const deviceDecider: Decider<DeviceCommand, OAuthDeviceEvent, DeviceState> = {
  decide,
  evolve,
  initialState: undefined,
};

/** Whether a person can still decide. */
export const isOpen = ({ decided, expiresAt }: DeviceRequest, now: string): boolean =>
  decided === undefined && expiresAt > now;
