/** What a route may ask of whoever calls it. */
import type { Permission } from './key-permissions.js';

/**
 * What only people and apps are given. An API key with `webhooks:manage` may do what `webhooks:read` and `webhooks:write` allow;
 * `profile:…` are about the person who calls, in whichever team.
 */
export const peoplePermissions = [
  'webhooks:read',
  'webhooks:write',
  'team:read',
  'team:manage',
  'team:delete',
  'members:manage',
  'ownership:manage',
  'billing:manage',
  'oauth-apps:manage',
  'audit:read',
  'profile:read',
  'profile:write',
] as const;
export type PeoplePermission = (typeof peoplePermissions)[number];

export type AccessPermission = Permission | PeoplePermission;

/** The permission that an API key needs where no key is given the one that is asked for. */
const ofKeys: Readonly<Partial<Record<AccessPermission, Permission>>> = {
  'webhooks:read': 'webhooks:manage',
  'webhooks:write': 'webhooks:manage',
};

/** In: what a route asks for. Out: the permission by which an API key may call it. */
export const permissionOfKey = (wanted: AccessPermission): AccessPermission => ofKeys[wanted] ?? wanted;

export const isAllowed = (held: readonly AccessPermission[], wanted: AccessPermission): boolean =>
  held.includes(wanted) || held.includes(permissionOfKey(wanted));
