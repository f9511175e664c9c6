/** `sealpost user …`: what the operator does about people. */
import { firstUserToken, teamWithoutOwner } from '../commands/registering.js';
import { print } from './output.js';
import { withTeam } from './with-engine.js';

export const showFirstToken = (): Promise<void> =>
  withTeam(async (engine) => {
    if ((await teamWithoutOwner(engine)) === undefined) throw new Error('the first team has had an owner; others are invited into it');
    print(firstUserToken(engine.keys));
  });
