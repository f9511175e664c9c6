/** The runtimes that the client is for, as tests find them: setup.sh installs them into the folder of the test servers. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Test } from 'tap';
import { otherNode, type OtherNode } from './other-nodes.js';
import { folderVariable } from './server-names.js';

/** `find`: the program, or undefined if it cannot be had; in CI the test then fails. `args` stand before a program's file. */
export type Runtime = Readonly<{
  name: string;
  find: (t: Test) => Promise<string | undefined>;
  args: readonly string[];
}>;

const findNode =
  (major: OtherNode): Runtime['find'] =>
  async (t) => {
    const bin = await otherNode(t, major);
    return bin === undefined ? undefined : join(bin, 'node');
  };

/** In the folder that setup.sh filled, else on the PATH. */
const findOther =
  (name: 'bun' | 'deno'): Runtime['find'] =>
  (t) => {
    const folder = process.env[folderVariable];
    const program = [
      ...(folder === undefined ? [] : [join(folder, 'runtimes', name, 'bin')]),
      ...(process.env['PATH'] ?? '').split(delimiter),
    ]
      .map((place) => join(place, name))
      .find((file) => existsSync(file));
    if (program === undefined && process.env['CI'] === '1') t.fail(`${name} is installed; in CI it must be`);
    else if (program === undefined) t.pass('needs it', { skip: `${name} is not installed` });
    return Promise.resolve(program);
  };

export const runtimes: readonly Runtime[] = [
  { name: 'Node 22', find: findNode(22), args: [] },
  { name: 'Node 24', find: () => Promise.resolve(process.execPath), args: [] },
  { name: 'Node 26', find: findNode(26), args: [] },
  { name: 'Bun', find: findOther('bun'), args: ['run', '--no-install'] },
  {
    name: 'Deno',
    find: findOther('deno'),
    args: ['run', '--quiet', '--no-lock', '--cached-only', '--allow-net', '--allow-env', '--allow-read'],
  },
];
