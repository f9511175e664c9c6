/** What an API key may do. */

/** The contract's six permissions, and one for the keys themselves. */
export const permissions = [
  'emails:send',
  'emails:read',
  'templates:read',
  'templates:write',
  'analytics:read',
  'webhooks:manage',
  'api-keys:manage',
] as const;
export type Permission = (typeof permissions)[number];

export const isPermission = (text: string): text is Permission => (permissions as readonly string[]).includes(text);
