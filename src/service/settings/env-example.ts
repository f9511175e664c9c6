/** Writes .env.example from the settings, or checks that it is what they would give. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { envExample } from './settings.js';

const file = fileURLToPath(new URL('../../../../.env.example', import.meta.url));
if (process.argv[2] === '--check') {
  if (readFileSync(file, 'utf8') !== envExample()) {
    console.error('.env.example is not what the settings give; run `npm run env:write`');
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, envExample());
}
