/** Other versions of Node that tests run programs with: the oldest and the newest that are supported. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { temporaryDirectory } from './data-directory.js';
import { folderVariable } from './server-names.js';

/** By major version: the release that is installed from npm where setup.sh has left none. */
const RELEASES = { 22: '22.23.3', 26: '26.10.0' } as const;
export type OtherNode = keyof typeof RELEASES;

const { NODE_OPTIONS: _loader, ...environment } = process.env;

/**
 * The folder with the program `node` of that major version: in the folder that setup.sh filled, else installed from npm
 * for this test. Undefined if it cannot be had; in CI the test then fails.
 */
export const otherNode = async (t: Test, major: OtherNode): Promise<string | undefined> => {
  const filled = process.env[folderVariable];
  const kept = filled === undefined ? undefined : join(filled, 'runtimes', `node-${major}`, 'bin');
  if (kept !== undefined && existsSync(join(kept, 'node'))) return kept;
  const name = `node-${process.platform}-${process.arch}`;
  const place = temporaryDirectory(t);
  const quietly = ['--silent', '--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefer-offline'];
  try {
    await promisify(execFile)('npm', ['install', ...quietly, '--prefix', place, `${name}@${RELEASES[major]}`], {
      cwd: place,
      env: environment,
    });
  } catch (fault) {
    if (process.env['CI'] === '1') throw fault;
    t.pass('needs the registry', { skip: `Node ${major} could not be installed` });
    return undefined;
  }
  return join(place, 'node_modules', name, 'bin');
};
