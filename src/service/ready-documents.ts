/** Documents are expected of a service that has templates of them. */
import type { Engine } from './engine.js';
import { ATTACHMENT_TEMPLATES } from '../projections/templates/templates.js';

/** Once a start. Resolves when a process has been asked to stand ready, or there is no need of one. */
export const expectDocuments = async ({ readModels, generator, logger }: Engine): Promise<void> => {
  try {
    if ((await readModels.count(ATTACHMENT_TEMPLATES, { where: {} }, 1)) > 0) generator.prepare();
  } catch (fault) {
    logger.warn(
      { fault: fault instanceof Error ? fault : undefined },
      'no document process stands ready: the templates could not be counted',
    );
  }
};
