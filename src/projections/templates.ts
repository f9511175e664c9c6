/** The lists of templates: those of emails and those of attachments, each in a collection of its own. */
import {
  attachmentTemplateDecider,
  attachmentTemplateListing,
  type AttachmentTemplateListing,
  type AttachmentTemplateState,
} from '../domain/attachment-template/state.js';
import type { Recorded } from '../domain/events.js';
import { assertDefined, parseAttachmentTemplateId, parseTemplateId, splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import { foldForSearch } from '../domain/search-text.js';
import type { TemplateDraft, TemplateEvent } from '../domain/template/events.js';
import type { TemplateDecider, TemplateOf, TemplateStateOf } from '../domain/template/lifecycle.js';
import { templateDecider, templateListing, type TemplateListing, type TemplateState } from '../domain/template/state.js';
import { declareProjection, type Handler, type Handlers, type Projection } from './projection.js';

export const TEMPLATES = 'templates';
export const ATTACHMENT_TEMPLATES = 'attachmentTemplates';

type ListItem = Readonly<{ name: string; slug: string; description: string }>;

/**
 * `state` is the fold of the stream, without the parts of the draft that no list shows. `team` is absent of a deleted template, and
 * `deletedOf` and `deletedAt` of a living one: each list finds its own by one field.
 */
type ListDocument<Item, State> = Document &
  Readonly<{ team?: string; deletedOf?: string; deletedAt?: string; text?: string; item: Item; state: State }>;
export type TemplateDocument = ListDocument<TemplateListing, TemplateState>;
export type AttachmentTemplateDocument = ListDocument<AttachmentTemplateListing, AttachmentTemplateState>;

/** How the templates of one kind are listed. `slim` takes out of a draft what its list does not show. */
type ListRules<Draft extends TemplateDraft, Shown, Item extends ListItem> = Readonly<{
  name: string;
  kind: 'template' | 'attachmentTemplate';
  decider: TemplateDecider<Draft, Shown>;
  slim: (draft: Draft) => Draft;
  item: (id: string, template: TemplateOf<Draft, Shown>) => Item;
}>;

const makeProjection = <Draft extends TemplateDraft, Shown, Item extends ListItem>(rules: ListRules<Draft, Shown, Item>): Projection => {
  type ListedDocument = ListDocument<Item, TemplateStateOf<Draft, Shown>>;
  const after = (
    { event, position, metadata }: Recorded<TemplateEvent>,
    id: string,
    before: ListedDocument | undefined,
  ): Document | undefined => {
    const state = slimState(rules, rules.decider.evolve(before?.state ?? rules.decider.initialState, event));
    const common = { id, seq: before?.seq ?? position, position, state };
    // The first event has no draft yet: its document has no team, so no list finds it before the draft is there.
    if (state.template === undefined) return common as Document;
    const item = rules.item(id, state.template);
    const { deletedAt } = state.template;
    if (deletedAt !== null) return { ...common, item, deletedOf: metadata.teamId, deletedAt } as ListedDocument;
    return { ...common, item, team: metadata.teamId, text: textOf(item) } as ListedDocument;
  };
  const step: Handler<TemplateEvent> = (recorded, document) => {
    const { id } = splitStream(recorded.stream);
    return [{ collection: rules.name, id, next: () => after(recorded, id, document as ListedDocument | undefined) }];
  };
  return declareProjection({
    name: rules.name,
    collections: [
      {
        name: rules.name,
        version: 3,
        fields: ['team', 'deletedOf', 'deletedAt'],
        indexes: [['team'], ['deletedOf', 'deletedAt']],
        search: { field: 'text', within: 'team' },
      },
    ],
    main: rules.name,
    kinds: [rules.kind],
    decrypts: [],
    on: templateHandlers(step),
  });
};

const textOf = ({ name, slug, description }: ListItem): string => [name, slug, description].map(foldForSearch).join('\n');

const templateHandlers = (step: Handler<TemplateEvent>): Handlers<'template' | 'attachmentTemplate'> => ({
  TemplateCreated: step,
  TemplateDraftSaved: step,
  TemplatePublished: step,
  TemplateSlugChanged: step,
  TemplateDeleted: step,
  TemplateRestored: step,
});

const slimState = <Draft extends TemplateDraft, Shown>(
  { slim }: Pick<ListRules<Draft, Shown, ListItem>, 'slim'>,
  state: TemplateStateOf<Draft, Shown>,
): TemplateStateOf<Draft, Shown> =>
  state.template === undefined ? state : { ...state, template: { ...state.template, draft: slim(state.template.draft) } };

export const templatesProjection = makeProjection({
  name: TEMPLATES,
  kind: 'template',
  decider: templateDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: null }),
  item: (id, template) => templateListing(assertDefined(parseTemplateId(id), 'template id'), template),
});

export const attachmentTemplatesProjection = makeProjection({
  name: ATTACHMENT_TEMPLATES,
  kind: 'attachmentTemplate',
  decider: attachmentTemplateDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: { outputFormats: draft.schema.outputFormats, pages: [] } }),
  item: (id, template) => attachmentTemplateListing(assertDefined(parseAttachmentTemplateId(id), 'attachment template id'), template),
});
