/** Opens the stores for one command and closes them when it ends, also if it fails. */
import { firstTeam } from '../../commands/core/caller.js';
import { readConfig } from '../../service/settings/config.js';
import type { TeamId } from '../../domain/core/ids.js';
import { openEngine, type Engine, type EngineOptions } from '../../service/engine.js';
import { mailboxCopies } from '../../service/mailbox.js';
import { assertWholeEngine } from '../../service/startup.js';
import { holdStopped } from '../../service/stores/instances.js';

/** Opens the stores while no service can start. */
export const withStoppedEngine = (work: (engine: Engine) => Promise<void>): Promise<void> => withStopped(() => withEngine(work));

/** Does the work while no service can start. */
export const withStopped = async (work: () => Promise<void>): Promise<void> => {
  const held = await holdStopped(readConfig());
  try {
    await work();
  } finally {
    await held.release();
  }
};

/** Opens the stores, does the work and closes them. Mails that the work erases leave the built-in mailbox too. */
export const withEngine = (work: (engine: Engine) => Promise<void>): Promise<void> => withOpened({}, work);

/** As `withEngine`, but read models are only inspected: what is damaged or missing of them is left so. */
export const withInspectedEngine = (work: (engine: Engine) => Promise<void>): Promise<void> => withOpened({ inspects: true }, work);

const withOpened = async (options: Pick<EngineOptions, 'inspects'>, work: (engine: Engine) => Promise<void>): Promise<void> => {
  const config = readConfig();
  const mailCopies = mailboxCopies(config);
  const engine = await openEngine({ ...config, logLevel: 'silent' }, { ...options, mailCopies });
  try {
    await work(engine);
  } finally {
    await engine.close();
    mailCopies.close();
  }
};

/** Opens the stores for a command on behalf of the first team. */
export const withTeam = (work: (engine: Engine, teamId: TeamId) => Promise<void>): Promise<void> =>
  withEngine(async (engine) => {
    await assertWholeEngine(engine);
    const teamId = await firstTeam(engine);
    if (teamId === undefined) throw new Error('there is no team yet: start the service once (npm start), then repeat this');
    await work(engine, teamId);
  });
