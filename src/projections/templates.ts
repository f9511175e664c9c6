/** The lists of templates: those of emails and those of attachments, each in a collection of its own. */
import {
  attachmentTemplateDecider,
  attachmentTemplateListing,
  type AttachmentTemplateListing,
  type AttachmentTemplateState,
} from '../domain/attachment-template/state.js';
import { assertDefined, parseAttachmentTemplateId, parseTemplateId, splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/read-models.js';
import type { TemplateDraft, TemplateEvent } from '../domain/template/events.js';
import type { TemplateDecider, TemplateOf, TemplateStateOf } from '../domain/template/lifecycle.js';
import { templateDecider, templateListing, type TemplateListing, type TemplateState } from '../domain/template/state.js';
import { eventByEvent, eventsRead, type Projection } from './projection.js';

export const TEMPLATES = 'templates';
export const ATTACHMENT_TEMPLATES = 'attachmentTemplates';

type ListItem = Readonly<{ name: string; slug: string; description: string }>;

/** `state` is the fold of the stream, without the parts of the draft that no list shows. */
type ListDocument<Item, State> = Document & Readonly<{ team: string; text: string; item: Item; state: State }>;
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

const makeProjection = <Draft extends TemplateDraft, Shown, Item extends ListItem>(rules: ListRules<Draft, Shown, Item>): Projection => ({
  name: rules.name,
  collections: [{ name: rules.name, version: 1, fields: ['team'], indexes: [['team']], search: { field: 'text', within: 'team' } }],
  ...eventsRead(rules.kind, {
    TemplateCreated: 'data',
    TemplateDraftSaved: 'data',
    TemplatePublished: 'data',
    TemplateSlugChanged: 'data',
    TemplateDeleted: 'data',
  }),
  reads: (batch) => batch.map(({ stream }) => ({ collection: rules.name, id: splitStream(stream).id })),
  fold: eventByEvent(({ event, stream, position, metadata }, find) => {
    const { id } = splitStream(stream);
    const before = find(rules.name, id) as ListDocument<Item, TemplateStateOf<Draft, Shown>> | undefined;
    const state = slimState(rules, rules.decider.evolve(before?.state ?? rules.decider.initialState, event as TemplateEvent));
    if (state.template !== undefined && state.template.deletedAt !== null)
      return [{ collection: rules.name, id, position, document: undefined }];
    const common = { id, seq: before?.seq ?? position, position, state };
    // The first event has no draft yet: its document has no team, so no list finds it before the draft is there.
    if (state.template === undefined) return [{ collection: rules.name, id, position, document: common as Document }];
    const item = rules.item(id, state.template);
    const document = { ...common, item, team: metadata.teamId, text: `${item.name}\n${item.slug}\n${item.description}` };
    return [{ collection: rules.name, id, position, document: document as ListDocument<Item, TemplateStateOf<Draft, Shown>> }];
  }),
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
