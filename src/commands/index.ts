/** All commands over one set of ports. */
import type { Commands } from './api.js';
import { apiKeyCommands } from './api-keys.js';
import { assetCommands } from './assets.js';
import { attachmentTemplateCommands } from './attachment-templates.js';
import type { CommandDeps } from './deps.js';
import { emailCommands } from './emails.js';
import { templateCommands } from './templates.js';

export const makeCommands = (deps: CommandDeps): Commands => ({
  ...emailCommands(deps),
  ...templateCommands(deps),
  ...attachmentTemplateCommands(deps),
  ...assetCommands(deps),
  ...apiKeyCommands(deps),
});
