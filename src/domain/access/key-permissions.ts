/** What an API key may do. */

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
