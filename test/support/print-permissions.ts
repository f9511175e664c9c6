/** Writes docs/permissions.md. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { routesOf } from '../../src/http/index.js';
import { fakeServer } from '../http/fakes.js';
import { permissionsPage } from './permissions-page.js';

const { app } = await fakeServer();
writeFileSync(fileURLToPath(new URL('../../../docs/permissions.md', import.meta.url)), permissionsPage(routesOf(app)));
await app.close();
