/** The page that says who may call what, printed from the routes, the roles, the permissions of keys and the scopes. */
import {
  isAllowed,
  operatorPermissions,
  permissionOfKey,
  type AccessPermission,
  permissionsOfRole,
  roles,
  permissionsOfScopes,
  scopes,
  isPermission,
} from '../../src/domain/access/permissions.js';
import type { RegisteredRoute } from '../../src/http/index.js';

const head = `# Permissions

Who may call what. This page is printed from the program (\`node build/test/support/print-permissions.js\`), and a test compares every endpoint and credential with a
table that was written by hand from the contract (\`test/golden/permissions.txt\`).

- **People** have a role in each of their teams. **owner**: everything, billing, the team's end; **admin**: members, API keys, templates and the other settings; **member**: makes and edits
  templates, sends; **viewer**: reads logs and analytics. What is about oneself (\`profile:…\`) everybody may do.
  **operator** is a role of the instance, beside those in teams: the first user has it, and \`sealpost user operator\` gives and takes it.
- **API keys** have the permissions that they were made with, in one team. They are never people: teams, members and profiles are closed to them.
- **Apps** (OAuth) have the scopes that a person granted, and never more than that person may do.
- Without a credential the answer is 401, without the permission 403 \`FORBIDDEN\`, and for an id of another team, a deleted or an unknown one 404, always the same.
- A request that was let in is carried out under the role of that moment; what it changes of the team itself is decided by the role that holds then.

| endpoint | permission | roles | API keys | apps |
|---|---|---|---|---|
`;

const named = (names: readonly string[]): string => (names.length === 0 ? '–' : names.join(', '));

const rowOf = ({ method, path }: RegisteredRoute, access: AccessPermission): string => {
  const ofKeys = permissionOfKey(access);
  const cells = [
    `\`${method} ${path}\``,
    `\`${access}\``,
    named([
      ...roles.filter((role) => isAllowed(permissionsOfRole[role], access)),
      ...(isAllowed(operatorPermissions, access) ? ['operator'] : []),
    ]),
    isPermission(ofKeys) ? `\`${ofKeys}\`` : '–',
    named(scopes.filter((scope) => isAllowed(permissionsOfScopes([scope]), access)).map((scope) => `\`${scope}\``)),
  ];
  return `| ${cells.join(' | ')} |`;
};

/** In: every route. Out: the page. */
export const permissionsPage = (routes: readonly RegisteredRoute[]): string => {
  const rows = routes.flatMap((route) => (route.access === 'public' ? [] : [[route, route.access] as const]));
  const sorted = rows.toSorted(([a], [b]) => (a.path === b.path ? 0 : a.path < b.path ? -1 : 1));
  return `${head}${sorted.map(([route, access]) => rowOf(route, access)).join('\n')}\n`;
};
