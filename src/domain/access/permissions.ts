/** Permissions: what API keys, members of a team by role, and apps by scope may do. */

/**
 * The permissions of an API key. `feedback:write` is for reports that are piped in, `privacy:manage` for erasing and
 * exporting the data of an address, `tracking:manage` for whether opens and clicks are recorded, `emails:content` for
 * reading the mails themselves.
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
  'emails:content',
] as const;
export type Permission = (typeof permissions)[number];

/** Permissions that a key has only if they were named when it was made. */
const byNameOnly: readonly Permission[] = ['credits:grant'];

/** The permissions of the first key. */
export const firstPermissions: readonly Permission[] = permissions.filter(
  (permission) => !byNameOnly.includes(permission),
);

/**
 * The permissions of a key that is made on the command line without naming any: those of the first key, except to
 * destroy what was sent, and to read it.
 */
export const usualPermissions: readonly Permission[] = firstPermissions.filter(
  (permission) => permission !== 'emails:delete' && permission !== 'privacy:manage' && permission !== 'emails:content',
);

export const isPermission = (text: string): text is Permission => (permissions as readonly string[]).includes(text);

/**
 * Permissions that only people and apps have. An API key with `webhooks:manage` may do what `webhooks:read` and
 * `webhooks:write` allow, one with `suppressions:manage` what `suppressions:read` allows. `profile:…` are about the calling person, in any team. `system:read` is about the instance.
 */
export const peoplePermissions = [
  'suppressions:read',
  'webhooks:read',
  'webhooks:write',
  'approvals:decide',
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
  'system:read',
] as const;
type PeoplePermission = (typeof peoplePermissions)[number];

export type AccessPermission = Permission | PeoplePermission;

export const accessPermissions: readonly AccessPermission[] = [...permissions, ...peoplePermissions];

/** The permission that an API key needs in place of one that keys cannot have. */
const ofKeys: Readonly<Partial<Record<AccessPermission, Permission>>> = {
  'webhooks:read': 'webhooks:manage',
  'webhooks:write': 'webhooks:manage',
  'suppressions:read': 'suppressions:manage',
};

/** In: the permission that a route requires. Out: the permission that an API key needs for it. */
export const permissionOfKey = (wanted: AccessPermission): AccessPermission => ofKeys[wanted] ?? wanted;

/**
 * Whether the held permissions cover the wanted one. All comparisons of permissions use this function or one of the two
 * below.
 */
export const isAllowed = (held: readonly AccessPermission[], wanted: AccessPermission): boolean =>
  held.includes(wanted) || held.includes(permissionOfKey(wanted));

/** Those of the wanted permissions that the held ones cover. */
export const allowedOf = <Wanted extends AccessPermission>(
  held: readonly AccessPermission[],
  wanted: readonly Wanted[],
): readonly Wanted[] => wanted.filter((permission) => isAllowed(held, permission));

/** Those of the wanted permissions that the held ones do not cover. */
export const lackedOf = <Wanted extends AccessPermission>(
  held: readonly AccessPermission[],
  wanted: readonly Wanted[],
): readonly Wanted[] => wanted.filter((permission) => !isAllowed(held, permission));

/** Roles of members, from most to least permissions. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** The permissions of every signed-in person, in any team and without one. */
export const personPermissions: readonly AccessPermission[] = ['profile:read', 'profile:write'];

/** The permissions of operators beside those that they have in a team; no role of a team has them. */
export const operatorPermissions: readonly AccessPermission[] = ['system:read'];

const viewer: readonly AccessPermission[] = [...personPermissions, 'team:read', 'emails:read', 'analytics:read'];
const member: readonly AccessPermission[] = [
  ...viewer,
  'emails:content',
  'emails:send',
  'approvals:decide',
  'templates:read',
  'templates:write',
];
const admin: readonly AccessPermission[] = [
  ...new Set<AccessPermission>([
    ...member,
    ...firstPermissions,
    'members:manage',
    'team:manage',
    'oauth-apps:manage',
    'audit:read',
  ]),
];
/** `credits:grant` is in no role: only the operator grants credits. */
const owner: readonly AccessPermission[] = [...admin, 'ownership:manage', 'billing:manage', 'team:delete'];

export const permissionsOfRole: Readonly<Record<Role, readonly AccessPermission[]>> = { owner, admin, member, viewer };

const covered = Object.fromEntries(
  roles.map((role) => [role, allowedOf(permissionsOfRole[role], accessPermissions)]),
) as Readonly<Record<Role, readonly AccessPermission[]>>;

/** Every permission that a route may require and that the role has, also by another permission that covers it. */
export const coveredByRole = (role: Role): readonly AccessPermission[] => covered[role];

/** The scopes that an app may be granted. */
export const scopes = [
  'emails:send',
  'emails:read',
  'emails:content',
  'templates:read',
  'templates:write',
  'webhooks:read',
  'webhooks:write',
  'analytics:read',
  'suppressions:read',
  'profile:read',
] as const;
export type Scope = (typeof scopes)[number];

export const isScope = (text: string): text is Scope => (scopes as readonly string[]).includes(text);

/** The scopes of an app that only reads, beside the mails themselves: an MCP client asks for these first. */
export const readingScopes: readonly Scope[] = ['emails:read', 'templates:read', 'analytics:read', 'suppressions:read'];

/** Each scope gives the permission of its own name. */
export const permissionsOfScopes = (granted: readonly Scope[]): readonly AccessPermission[] => granted;
