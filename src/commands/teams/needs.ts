/** Needs of teams, their members and invitations. */
import type { AppNeeds } from '../apps/needs.js';
import type { EmailNeeds } from '../email/needs.js';
import type { KeyNeeds } from '../keys/needs.js';

export type TeamNeeds = AppNeeds & EmailNeeds & KeyNeeds;
