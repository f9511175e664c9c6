/** Two teams that have nothing to do with each other. */
import { assertDefined, parseTeamId } from '../../src/domain/core/ids.js';

export const teamA = assertDefined(parseTeamId('aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'), 'team');
export const teamB = assertDefined(parseTeamId('bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb'), 'team');
