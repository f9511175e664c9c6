/** The commands of access, with the codes that each may reject with. */
import { type CommandTable } from '../core/command.js';
import type { AccessNeeds } from './needs.js';
import { readJsonWebKeys } from './tokens.js';

export const accessCommands = {
  readJsonWebKeys: { run: readJsonWebKeys, codes: [] },
} as const satisfies CommandTable<AccessNeeds>;
