/** The table of who may call what, as it was written by hand from the contract. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RegisteredRoute } from '../../src/http/index.js';

export type PermissionsLine = Readonly<{
  roles: readonly string[];
  keys: readonly string[];
  scopes: readonly string[];
}>;

const listOf = (cell = ''): readonly string[] => (cell.trim() === '-' ? [] : cell.trim().split(/\s+/));

/** By endpoint, as `GET /api/emails/:id`. */
export const goldenPermissions = (): ReadonlyMap<string, PermissionsLine> => {
  const golden = new Map<string, PermissionsLine>();
  const file = fileURLToPath(new URL('../../../test/golden/permissions.txt', import.meta.url));
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [endpoint = '', ofRoles, keys, ofScopes] = line.split(' | ');
    if (golden.has(endpoint)) throw new Error(`${endpoint} stands twice in the table`);
    golden.set(endpoint, { roles: listOf(ofRoles), keys: listOf(keys), scopes: listOf(ofScopes) });
  }
  return golden;
};

export const nameOfRoute = ({ method, path }: RegisteredRoute): string => `${method} ${path}`;
