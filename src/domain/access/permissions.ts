/** What a route may ask of whoever calls it. */

/* What an API key may do. */

/**
 * The contract's six permissions, one for deleting what was sent, one for the keys themselves, one for suppressed addresses, one for
 * adding credits, one for sender domains, one for reports that are piped in, one for erasing and exporting what is held about an address,
 * and one for whether opens and clicks are recorded.
 */
export const permissions = [
  'emails:send',
  'emails:read',
  'emails:delete',
  'templates:read',
  'templates:write',
  'analytics:read',
  'webhooks:manage',
  'api-keys:manage',
  'suppressions:manage',
  'credits:grant',
  'domains:manage',
  'feedback:write',
  'privacy:manage',
  'tracking:manage',
] as const;
export type Permission = (typeof permissions)[number];

/** What only a key may do that was made with this permission by name. */
const byNameOnly: readonly Permission[] = ['credits:grant'];

/** What the first key may do. */
export const firstPermissions: readonly Permission[] = permissions.filter((permission) => !byNameOnly.includes(permission));

/** What a key may do that is made on the command line without naming permissions: as the first, but not to destroy what was sent. */
export const usualPermissions: readonly Permission[] = firstPermissions.filter(
  (permission) => permission !== 'emails:delete' && permission !== 'privacy:manage',
);

export const isPermission = (text: string): text is Permission => (permissions as readonly string[]).includes(text);

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
type PeoplePermission = (typeof peoplePermissions)[number];

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

/* What a member of a team may do, by role: the one table of it. */

/** From the most to the least. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** What everybody may do who is signed in, in every team and in none. */
export const personPermissions: readonly AccessPermission[] = ['profile:read', 'profile:write'];

const viewer: readonly AccessPermission[] = [...personPermissions, 'team:read', 'emails:read', 'analytics:read'];
const member: readonly AccessPermission[] = [...viewer, 'emails:send', 'templates:read', 'templates:write'];
const admin: readonly AccessPermission[] = [
  ...new Set<AccessPermission>([...member, ...firstPermissions, 'members:manage', 'team:manage', 'oauth-apps:manage', 'audit:read']),
];
/** `credits:grant` is in no role: what is paid for is the operator's to say. */
const owner: readonly AccessPermission[] = [...admin, 'ownership:manage', 'billing:manage', 'team:delete'];

export const permissionsOfRole: Readonly<Record<Role, readonly AccessPermission[]>> = { owner, admin, member, viewer };

/* What an app may be granted by OAuth, and what each scope opens. */

export const scopes = [
  'emails:send',
  'emails:read',
  'templates:read',
  'templates:write',
  'webhooks:read',
  'webhooks:write',
  'analytics:read',
  'profile:read',
] as const;
export type Scope = (typeof scopes)[number];

export const isScope = (text: string): text is Scope => (scopes as readonly string[]).includes(text);

/** What the scopes open; each opens the permission of its own name. */
export const permissionsOfScopes = (granted: readonly Scope[]): readonly AccessPermission[] => granted;
