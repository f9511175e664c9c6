/** What a member of a team may do, by role: the one table of it. */
import { firstPermissions } from './key-permissions.js';
import type { AccessPermission } from './permissions.js';

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
