/** What an API key may do. */

/** The contract's six permissions, one for deleting what was sent, and one for the keys themselves. */
export const permissions = [
  'emails:send',
  'emails:read',
  'emails:delete',
  'templates:read',
  'templates:write',
  'analytics:read',
  'webhooks:manage',
  'api-keys:manage',
] as const;
export type Permission = (typeof permissions)[number];

/** What a key may do that is made on the command line without naming permissions: all but to destroy what was sent. */
export const usualPermissions: readonly Permission[] = permissions.filter((permission) => permission !== 'emails:delete');

export const isPermission = (text: string): text is Permission => (permissions as readonly string[]).includes(text);
