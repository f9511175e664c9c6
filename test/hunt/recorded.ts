/** Which seed found which planted fault first, and what was broken then. */
import type { PlantName } from './plants.js';

export const recorded: Readonly<Record<PlantName, Readonly<{ seed: number; oracles: readonly string[] }>>> = {
  'a conflict is swallowed': { seed: 417, oracles: ['double', 'log', 'revoked-key', 'accepted'] },
  'an unknown end is taken for a failure': { seed: 424, oracles: ['attachment'] },
  'an unknown end is taken for done': { seed: 374, oracles: ['accepted', 'log', 'sink', 'double'] },
  'a call is answered before its event is durable': { seed: 69, oracles: ['accepted'] },
  'a document forgets what it has folded': { seed: 28, oracles: ['read-models'] },
  'the checkpoint is written before the documents': { seed: 28, oracles: ['read-models'] },
  'the server writes documents without its condition': { seed: 2_050, oracles: ['read-models'] },
  'nobody asks whether the worker of an attempt lives': { seed: 1_297, oracles: ['double'] },
  'the fence of a lease does not rise': { seed: 1, oracles: ['fence'] },
  'the bus is told at once that work is done, and lost work is never looked for': { seed: 3, oracles: ['stuck'] },
  'a subscription does not tell of revocations': { seed: 1_745, oracles: ['revoked-key'] },
  'a key is said to be destroyed and is not': { seed: 47, oracles: ['key'] },
  'a mail is handed over twice': { seed: 1, oracles: ['double'] },
};
