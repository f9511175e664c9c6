/** Who was in a team when: what they did to their own account meanwhile is told to the team. */
import type { DomainEvent } from '../events.js';
import type { TeamEvent } from '../teams/events.js';

/** Somebody was in a team from then on, and until then; absent where they still are. */
export type AuditSpell = Readonly<{ user: string; from: string; until?: string }>;

/** Of one team so many are told, those that began last. */
const SPELLS_MAX = 200;

type Change = Extract<TeamEvent, { type: 'MemberAdded' | 'MemberRemoved' }>;

export const changesSpells = (event: DomainEvent): event is Change => event.type === 'MemberAdded' || event.type === 'MemberRemoved';

export const spellsAfter = (spells: readonly AuditSpell[], { type, data: { userId: user, at } }: Change): readonly AuditSpell[] => {
  const ended = spells.map((spell) => (spell.user === user && spell.until === undefined ? { ...spell, until: at } : spell));
  return type === 'MemberAdded' ? [...ended, { user, from: at }].slice(-SPELLS_MAX) : ended;
};

/** In: an entry by whom it tells of and when. */
export const isToldBySpell = ({ user, from, until }: AuditSpell, { scope, at }: Readonly<{ scope: string; at: string }>): boolean =>
  scope === user && from <= at && (until === undefined || at < until);
