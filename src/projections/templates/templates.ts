/** The lists of templates: those of emails and those of attachments, each in a collection of its own, and when the deleted ones are removed. */
import {
  attachmentTemplateDecider,
  attachmentTemplateListing,
  type AttachmentTemplateListing,
  type AttachmentTemplateState,
} from '../../domain/templates/attachment-template.js';
import type { Recorded } from '../../domain/events.js';
import { assertDefined, parseAttachmentTemplateId, parseTemplateId, splitStream } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { foldForSearch } from '../../domain/core/search-text.js';
import type { AttachmentDraft, EmailDraft, TemplateDraft, TemplateEvent } from '../../domain/templates/events.js';
import type { TemplateDecider, TemplateOf, TemplateStateOf } from '../../domain/templates/decider.js';
import { templateDecider, templateListing, type TemplateListing, type TemplateState } from '../../domain/templates/email-template.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { timersOf } from '../../domain/core/timers.js';
import { declareProjection, type Handler, type Handlers, type Projection, type Step } from '../core/projection.js';
import { timersSpec, type TimerDocument } from '../core/timers.js';

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

/** `restoreMs`: for how long a deleted template can be restored. */
const makeProjection = <Draft extends TemplateDraft, Shown, Item extends ListItem>(
  rules: ListRules<Draft, Shown, Item>,
  restoreMs: number,
): Projection => {
  type ListedDocument = ListDocument<Item, TemplateStateOf<Draft, Shown>>;
  const after = (
    { event, position, metadata }: Recorded<TemplateEvent>,
    id: string,
    before: ListedDocument | undefined,
  ): Document | undefined => {
    // A write that was torn has removed it already: what came before the removal is folded again.
    if (before === undefined && event.type !== 'TemplateCreated') return undefined;
    if (event.type === 'TemplateRemoved' || event.type === 'StreamRetired') return undefined;
    const state = slimState(rules, rules.decider.evolve(before?.state ?? rules.decider.initialState, event));
    const common = { id, seq: before?.seq ?? position, position, state };
    // The first event has no draft yet: its document has no team, so no list finds it before the draft is there.
    if (state.template === undefined) return common as Document;
    const item = rules.item(id, state.template);
    const { deletedAt } = state.template;
    if (deletedAt !== null) return { ...common, item, deletedOf: metadata.teamId, deletedAt } as ListedDocument;
    return { ...common, item, team: metadata.teamId, text: textOf(item) } as ListedDocument;
  };
  const timers = timersOf(rules.kind);
  const step: Handler<TemplateEvent> = (recorded, document) => {
    const { id } = splitStream(recorded.stream);
    const listed: Step = { collection: rules.name, id, next: () => after(recorded, id, document as ListedDocument | undefined) };
    return [...timerSteps(timers, recorded, restoreMs), listed];
  };
  return declareProjection({
    name: rules.name,
    collections: [
      timersSpec(timers),
      {
        name: rules.name,
        version: 4,
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

/** The timer of a template stands from its deletion until it is restored or removed. */
const timerSteps = (collection: string, recorded: Recorded<TemplateEvent>, restoreMs: number): readonly Step[] => {
  const { event, stream, position, metadata } = recorded;
  const { id } = splitStream(stream);
  switch (event.type) {
    case 'TemplateDeleted': {
      // At the last millisecond it can still be restored.
      const dueAt = isoTime(Date.parse(event.data.at) + restoreMs + 1);
      const { teamId: team } = metadata;
      const timer: TimerDocument = { id, seq: position, position, kind: 'removal', key: stream, dueAt, priority: 'low', team };
      return [{ collection, id, document: timer }];
    }
    case 'TemplateRestored':
    case 'TemplateRemoved':
    case 'StreamRetired':
      return [{ collection, id, document: undefined }];
    case 'TemplateCreated':
    case 'TemplateDraftSaved':
    case 'TemplatePublished':
    case 'TemplateSlugChanged':
      return [];
  }
};

const textOf = ({ name, slug, description }: ListItem): string => [name, slug, description].map(foldForSearch).join('\n');

const templateHandlers = (step: Handler<TemplateEvent>): Handlers<'template' | 'attachmentTemplate'> => ({
  TemplateCreated: step,
  TemplateDraftSaved: step,
  TemplatePublished: step,
  TemplateSlugChanged: step,
  TemplateDeleted: step,
  TemplateRestored: step,
  TemplateRemoved: step,
  StreamRetired: step,
});

const slimState = <Draft extends TemplateDraft, Shown>(
  { slim }: Pick<ListRules<Draft, Shown, ListItem>, 'slim'>,
  state: TemplateStateOf<Draft, Shown>,
): TemplateStateOf<Draft, Shown> =>
  state.template === undefined ? state : { ...state, template: { ...state.template, draft: slim(state.template.draft) } };

const emailRules: ListRules<EmailDraft, Pick<EmailDraft, 'name' | 'subject' | 'from'>, TemplateListing> = {
  name: TEMPLATES,
  kind: 'template',
  decider: templateDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: null }),
  item: (id, template) => templateListing(assertDefined(parseTemplateId(id), 'template id'), template),
};

const attachmentRules: ListRules<AttachmentDraft, Pick<AttachmentDraft, 'name'>, AttachmentTemplateListing> = {
  name: ATTACHMENT_TEMPLATES,
  kind: 'attachmentTemplate',
  decider: attachmentTemplateDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: { outputFormats: draft.schema.outputFormats, pages: [] } }),
  item: (id, template) => attachmentTemplateListing(assertDefined(parseAttachmentTemplateId(id), 'attachment template id'), template),
};

export const templatesProjection = (restoreMs: number): Projection => makeProjection(emailRules, restoreMs);
export const attachmentTemplatesProjection = (restoreMs: number): Projection => makeProjection(attachmentRules, restoreMs);
