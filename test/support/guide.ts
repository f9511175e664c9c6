/** Whether the documentation site is built, which `npm run build` leaves out. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Why the guide is not tried; false: it is. CI builds it before the tests, and fails without it. */
export const withoutGuide = ((): string | false => {
  const isBuilt = existsSync(fileURLToPath(new URL('../../guide/files.json', import.meta.url)));
  if (isBuilt || process.env['CI'] === '1') return false;
  console.log('# NOT RUN: `npm run docs` has not built the guide');
  return 'the guide is not built';
})();
