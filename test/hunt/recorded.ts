/** The seed that first found each planted fault, and the invariant that was broken. */
import type { PlantName } from './plants.js';

export const recorded: Readonly<Record<PlantName, Readonly<{ seed: number; oracles: readonly string[] }>>> = {
  'a conflict is swallowed': { seed: 1_620, oracles: ['double', 'log', 'revoked-key', 'accepted'] },
  'an unknown end is taken for a failure': { seed: 1_713, oracles: ['attachment'] },
  'an unknown end is taken for done': { seed: 148, oracles: ['accepted', 'log', 'sink', 'double'] },
  'a call is answered before its event is durable': { seed: 188, oracles: ['accepted'] },
  'a document forgets what it has folded': { seed: 132, oracles: ['read-models'] },
  'the checkpoint is written before the documents': { seed: 2, oracles: ['read-models'] },
  'the server writes documents without its condition': { seed: 4_486, oracles: ['read-models'] },
  'nobody asks whether the worker of an attempt lives': { seed: 3_392, oracles: ['double'] },
  'the fence of a lease does not rise': { seed: 1, oracles: ['fence'] },
  'the bus is told at once that work is done, and lost work is never looked for': { seed: 10, oracles: ['stuck'] },
  'a subscription does not tell of revocations': { seed: 6_870, oracles: ['revoked-key'] },
  'a key is said to be destroyed and is not': { seed: 16, oracles: ['key'] },
  'an event id is made of the time': { seed: 6, oracles: ['webhook-post'] },
  'a router that begins anew loses its place': { seed: 16, oracles: ['webhook-routed'] },
  'a courier that begins anew forgets what was under way': { seed: 42, oracles: ['webhook-arrived', 'webhook-ended'] },
  'what was sent is not written down': { seed: 6, oracles: ['webhook-ended', 'webhook-once'] },
  'what was taken once is said to be taken again': { seed: 162, oracles: ['webhook-replayed'] },
  'a secret that was rotated out goes on signing': { seed: 536, oracles: ['webhook-post'] },
  'a mail is handed over twice': { seed: 6, oracles: ['double'] },
};
