/** What templates, their previews and the asset gallery need. */
import type { Generator } from '../../domain/ports/generator.js';
import type { MediaTypes } from '../../domain/ports/media-types.js';
import type { Renderer } from '../../domain/ports/renderer.js';
import type { AttachmentTemplateState } from '../../domain/templates/attachment-template.js';
import type { SlugState } from '../../domain/templates/decider.js';
import type { TemplateState } from '../../domain/templates/email-template.js';
import type { BillingNeeds } from '../billing/credits.js';
import type { ErasePorts } from '../core/erase.js';
import type { Load } from '../core/ports.js';
import type { RecipientNeeds } from '../recipients/needs.js';

export type TemplateNeeds = BillingNeeds &
  ErasePorts &
  Pick<RecipientNeeds, 'linkBase'> &
  Readonly<{
    template: Load<TemplateState>;
    attachmentTemplate: Load<AttachmentTemplateState>;
    slug: Load<SlugState>;
    renderer: Renderer;
    generator: Generator;
    mediaTypes: MediaTypes;
  }>;
