/** What an app may be granted by OAuth, and what each scope opens. */
import type { AccessPermission } from './permissions.js';

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
