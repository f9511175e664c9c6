/** Which seed found which planted fault first, and what was broken then. */
import type { PlantName } from './plants.js';

export const recorded: Readonly<Record<PlantName, Readonly<{ seed: number; oracles: readonly string[] }>>> = {
  'a conflict is swallowed': { seed: 1_010, oracles: ['double', 'log', 'revoked-key', 'accepted'] },
  'an unknown end is taken for a failure': { seed: 529, oracles: ['attachment'] },
  'an unknown end is taken for done': { seed: 529, oracles: ['accepted', 'log', 'sink', 'double'] },
  'a call is answered before its event is durable': { seed: 101, oracles: ['accepted'] },
  'a document forgets what it has folded': { seed: 48, oracles: ['read-models'] },
  'the checkpoint is written before the documents': { seed: 46, oracles: ['read-models'] },
  'the server writes documents without its condition': { seed: 3_498, oracles: ['read-models'] },
  'nobody asks whether the worker of an attempt lives': { seed: 2_692, oracles: ['double'] },
  'the fence of a lease does not rise': { seed: 2, oracles: ['fence'] },
  'the bus is told at once that work is done, and lost work is never looked for': { seed: 5, oracles: ['stuck'] },
  'a subscription does not tell of revocations': { seed: 5_476, oracles: ['revoked-key'] },
  'a key is said to be destroyed and is not': { seed: 9, oracles: ['key'] },
  'a mail is handed over twice': { seed: 1, oracles: ['double'] },
};
