/** The templates of mails about accounts: made where the first team has none. */
import type { CommandDeps } from '../core/deps.js';
import { firstTeam, systemCaller } from '../core/instance.js';
import { createTemplate, findTemplate } from '../templates/templates.js';
import type { CreateTemplateRequest } from '../../api/templates/templates.js';
import { DomainError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';

type Samples = readonly CreateTemplateRequest[];

const missingOf = async (deps: CommandDeps, teamId: TeamId, samples: Samples): Promise<Samples> => {
  const missing: CreateTemplateRequest[] = [];
  for (const sample of samples) if ((await findTemplate(deps, teamId, sample.slug ?? '')) === undefined) missing.push(sample);
  return missing;
};

export const lacksAccountTemplates = async (deps: CommandDeps, samples: Samples): Promise<boolean> => {
  const teamId = await firstTeam(deps);
  return teamId !== undefined && (await missingOf(deps, teamId, samples)).length > 0;
};

/** Safe to repeat. A slug that is being taken by another process at this moment is left to it. */
export const makeAccountTemplates = async (deps: CommandDeps, samples: Samples): Promise<void> => {
  const teamId = await firstTeam(deps);
  if (teamId === undefined) return;
  for (const sample of await missingOf(deps, teamId, samples)) {
    try {
      await createTemplate(deps, systemCaller(teamId, 'system', 'account-templates'), { ...sample, publish: true });
    } catch (fault) {
      if (!(fault instanceof DomainError) || fault.code !== 'TEMPLATE_SLUG_TAKEN') throw fault;
    }
  }
};
