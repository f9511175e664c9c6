/** Needs of templates, their previews and the asset gallery. */
import type { Generator } from '../../domain/ports/generator.js';
import type { MediaTypes } from '../../domain/ports/media-types.js';
import type { Renderer } from '../../domain/ports/renderer.js';
import type { SlugState, TemplateStateOf } from '../../domain/templates/decider.js';
import type { BillingNeeds } from '../billing/credits.js';
import type { ErasePorts } from '../core/erase.js';
import type { Load } from '../core/ports.js';
import type { RecipientNeeds } from '../recipients/needs.js';

export type TemplateNeeds = BillingNeeds &
  ErasePorts &
  Pick<RecipientNeeds, 'linkBase'> &
  Readonly<{
    template: Load<TemplateStateOf<'email'>>;
    attachmentTemplate: Load<TemplateStateOf<'attachment'>>;
    block: Load<TemplateStateOf<'block'>>;
    slug: Load<SlugState>;
    renderer: Renderer;
    generator: Generator;
    mediaTypes: MediaTypes;
  }>;
