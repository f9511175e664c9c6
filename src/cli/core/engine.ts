/** Opens the stores for one command and closes them when it ends, also if it fails. */
import { firstTeam } from '../../commands/core/caller.js';
import { existsSync, readdirSync } from 'node:fs';
import { ConfigError, readConfig, type Config } from '../../service/settings/config.js';
import type { TeamId } from '../../domain/core/ids.js';
import { openEngine, type Engine, type EngineOptions } from '../../service/engine.js';
import { mailboxCopies } from '../../service/mailbox.js';
import { assertWholeEngine } from '../../service/startup.js';
import { holdStopped } from '../../service/stores/instances.js';
import { isFounded, rootBesideOwner } from '../../service/stores/stores.js';
import { programDirectory } from '../../service/version.js';

/** Throws where root would make files among those of another user. */
export const assertOwner = (config: Config): void => {
  const fault = rootBesideOwner(config);
  if (fault !== undefined) throw new ConfigError(fault);
};

/** Throws where there is no instance: commands beside a service make none; and as `assertOwner` does. */
export const assertFounded = (config: Config): void => {
  assertOwner(config);
  if (isFounded(config)) return;
  const lacks = existsSync(config.dataDir)
    ? `${config.dataDir} holds no data of sealpost`
    : `there is no data directory ${config.dataDir}`;
  throw new ConfigError(
    `${lacks}; set SEALPOST_DATA_DIR to that of the service, or start the service once (sealpost serve). ` +
      'sealpost templates and sealpost emails call a service elsewhere',
  );
};

/** Files that may be in a data directory before its first start. */
const BEFOREHAND = /^(?:\.|lost\+found$|master\.key$|.*\.lock$)/;

/** Files of a folder in which somebody has only installed this program. */
const INSTALLED = /^(?:\.|data$|node_modules$|package(?:-lock)?\.json$|sealpost-[^/]*\.tgz$)/;

/**
 * Throws where an instance would be made that nobody asked for: in the default place, beside files that are not of
 * sealpost; and as `assertOwner` does.
 */
export const assertMayFound = (config: Config): void => {
  assertOwner(config);
  if (config.isDataDirNamed || isFounded(config)) return;
  const here = process.cwd();
  const isOwn = here === programDirectory;
  for (const [directory, first] of [
    [here, isOwn ? undefined : readdirSync(here).find((name) => !INSTALLED.test(name))],
    [
      config.dataDir,
      existsSync(config.dataDir) ? readdirSync(config.dataDir).find((name) => !BEFOREHAND.test(name)) : undefined,
    ],
  ] as const)
    if (first !== undefined)
      throw new ConfigError(
        `SEALPOST_DATA_DIR is not set, and ${directory} has files that are not of sealpost (${first}): name a directory for its data, or start in an empty one`,
      );
};

/** Opens the stores while no service can start. */
export const withStoppedEngine = (work: (engine: Engine) => Promise<void>): Promise<void> =>
  withStopped(() => withEngine(work));

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
export const withInspectedEngine = (work: (engine: Engine) => Promise<void>): Promise<void> =>
  withOpened({ inspects: true }, work);

const withOpened = async (
  options: Pick<EngineOptions, 'inspects'>,
  work: (engine: Engine) => Promise<void>,
): Promise<void> => {
  const config = readConfig();
  assertFounded(config);
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
    if (teamId === undefined)
      throw new Error('there is no team yet: start the service once (sealpost serve), then repeat this');
    await work(engine, teamId);
  });
