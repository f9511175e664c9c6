/** Writes docs/permissions.md. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildServer, routesOf } from '../../src/http/index.js';
import { openDeps } from '../http/server.js';
import { permissionsPage } from './permissions-page.js';

const { deps, close } = await openDeps();
const app = await buildServer(deps);
writeFileSync(fileURLToPath(new URL('../../../docs/permissions.md', import.meta.url)), permissionsPage(routesOf(app)));
await app.close();
await close();
