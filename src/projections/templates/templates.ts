/**
 * Read models of templates and of the gallery: the lists of email templates, attachment templates, blocks and assets,
 * what each team's gallery holds, and when deleted ones are removed.
 */
import type { AssetEvent, AssetUploaded, TemplateEvent, TemplateKind } from '../../domain/templates/events.js';
import { assetDecider, assetListing, type AssetListing, type AssetUsage } from '../../domain/templates/asset.js';
import type { Recorded } from '../../domain/events.js';
import { splitStream, assertDefined } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import { foldForSearch } from '../../domain/core/search-text.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import {
  declareProjection,
  type Handler,
  type Projection,
  type Step,
  removalSteps,
  type RemovalEffect,
  timersSpec,
  type Handlers,
} from '../core/projection.js';
import { attachmentTemplateDecider, attachmentTemplateRules } from '../../domain/templates/attachment-template.js';
import { blockDecider, blockRules, isLayout } from '../../domain/templates/block.js';
import {
  templateListing,
  type DraftOf,
  type TemplateDecider,
  type TemplateListing,
  type TemplateRules,
  type TemplateStateOf,
} from '../../domain/templates/decider.js';
import { templateDecider, templateRules } from '../../domain/templates/email-template.js';
import { isoTime } from '../../domain/core/time.js';

export const TEMPLATES = 'templates';
export const ATTACHMENT_TEMPLATES = 'attachmentTemplates';
export const BLOCKS = 'blocks';

/**
 * `state` is the fold of the stream, without the parts of the draft that no list shows. `team` is absent of a deleted
 * template, and `deletedOf` and `deletedAt` of a living one: each list finds its own by one field.
 */
export type TemplateDocument<K extends TemplateKind> = Document &
  Readonly<{
    team?: string;
    deletedOf?: string;
    deletedAt?: string;
    text?: string;
    status?: string;
    updatedAt?: string;
    item: TemplateListing<K>;
    state: TemplateStateOf<K>;
  }>;

/** How the templates of one kind are listed. `slim` takes out of a draft what its list does not show. */
type ListRules<K extends TemplateKind> = Readonly<{
  name: string;
  rules: TemplateRules<K>;
  decider: TemplateDecider<K>;
  slim: (draft: DraftOf<K>) => DraftOf<K>;
}>;

/** `restoreMs`: for how long a deleted template can be restored. */
const makeProjection = <K extends TemplateKind>(list: ListRules<K>, restoreMs: number): Projection => {
  type ListedDocument = TemplateDocument<K>;
  const after = (
    { event, position, metadata }: Recorded<TemplateEvent>,
    id: string,
    before: ListedDocument | undefined,
  ): Document | undefined => {
    // A torn write has removed the document already: the events before the removal are folded again.
    if (before === undefined && event.type !== 'TemplateCreated') return undefined;
    if (event.type === 'TemplateRemoved') return undefined;
    const state = slimState(list, list.decider.evolve(before?.state ?? list.decider.initialState, event));
    const common = { id, seq: before?.seq ?? position, position, state };
    // The first event has no draft yet: its document has no team, so no list finds it before the draft is there.
    if (state.template === undefined) return common as ListedDocument;
    const item = templateListing(list.rules, assertDefined(list.rules.parseId(id), 'template id'), state.template);
    const { deletedAt } = state.template;
    if (deletedAt !== null) return { ...common, item, deletedOf: metadata.teamId, deletedAt } as ListedDocument;
    const { status, updatedAt } = item;
    return { ...common, item, team: metadata.teamId, text: textOf(item), status, updatedAt } as ListedDocument;
  };
  const timers = timersOf(list.rules.streamKind);
  const step: Handler<TemplateEvent> = (recorded, document) => {
    const { id } = splitStream(recorded.stream);
    const listed: Step = {
      collection: list.name,
      id,
      next: () => after(recorded, id, document as ListedDocument | undefined),
    };
    return [...timerSteps(timers, recorded, restoreMs), listed];
  };
  return declareProjection({
    name: list.name,
    collections: [
      timersSpec(timers),
      {
        name: list.name,
        version: 5,
        fields: ['team', 'deletedOf', 'deletedAt', 'status', 'updatedAt'],
        indexes: [
          ['team'],
          ['team', 'updatedAt'],
          ['team', 'status'],
          ['team', 'status', 'updatedAt'],
          ['deletedOf', 'deletedAt'],
        ],
        search: { field: 'text', within: 'team' },
      },
    ],
    main: list.name,
    kinds: [list.rules.streamKind],
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
      const timer: TimerDocument = {
        id,
        seq: position,
        position,
        kind: 'removal',
        key: stream,
        dueAt,
        priority: 'low',
        team,
      };
      return [{ collection, id, document: timer }];
    }
    case 'TemplateRestored':
    case 'TemplateRemoved':
      return [{ collection, id, document: undefined }];
    default:
      return [];
  }
};

const textOf = ({ name, slug, description }: TemplateListing<TemplateKind>): string =>
  [name, slug, description].map(foldForSearch).join('\n');

const templateHandlers = (step: Handler<TemplateEvent>): Handlers<'template' | 'attachmentTemplate' | 'block'> => ({
  TemplateCreated: step,
  TemplateDraftSaved: step,
  TemplatePublished: step,
  TemplateSlugChanged: step,
  TemplateDeleted: step,
  TemplateRestored: step,
  TemplateRemoved: step,
});

const slimState = <K extends TemplateKind>(
  { slim }: Pick<ListRules<K>, 'slim'>,
  state: TemplateStateOf<K>,
): TemplateStateOf<K> =>
  state.template === undefined
    ? state
    : { ...state, template: { ...state.template, draft: slim(state.template.draft) } };

const emails: ListRules<'email'> = {
  name: TEMPLATES,
  rules: templateRules,
  decider: templateDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: null }),
};

const attachments: ListRules<'attachment'> = {
  name: ATTACHMENT_TEMPLATES,
  rules: attachmentTemplateRules,
  decider: attachmentTemplateDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: { outputFormats: draft.schema.outputFormats, pages: [] } }),
};

/** A draft keeps as much of its schema as tells a layout from a piece. */
const blocks: ListRules<'block'> = {
  name: BLOCKS,
  rules: blockRules,
  decider: blockDecider,
  slim: (draft) => ({ ...draft, variables: [], schema: isLayout(draft.schema) ? { sections: [] } : null }),
};

export const templatesProjection = (restoreMs: number): Projection => makeProjection(emails, restoreMs);
export const attachmentTemplatesProjection = (restoreMs: number): Projection => makeProjection(attachments, restoreMs);
export const blocksProjection = (restoreMs: number): Projection => makeProjection(blocks, restoreMs);

export const ASSETS = 'assets';
export const ASSET_USAGE = 'assetUsage';
const ASSET_TIMERS = timersOf('asset');

/**
 * `text`: the file name, for searches. A deleted asset has `deletedOf` in place of `team` and `text`: each list selects
 * by one field.
 */
export type AssetDocument = Document &
  Readonly<{ team?: string; text?: string; deletedOf?: string; deletedAt?: string; item: AssetListing }>;
/** Its id is that of the team. */
export type AssetUsageDocument = Document & Readonly<{ usage: AssetUsage }>;

/** An asset whose key is destroyed is shown no more, recorded as deleted or not. */
const step: Handler<AssetEvent> = (recorded, document) => {
  const { id } = splitStream(recorded.stream);
  const before = document as AssetDocument | undefined;
  const after = documentAfter(id, recorded, before);
  return [usageStep(recorded, before?.item, after?.item), { collection: ASSETS, id, next: () => after }];
};

const documentAfter = (
  id: string,
  { event, position, metadata: { teamId } }: Recorded<AssetEvent>,
  before: AssetDocument | undefined,
): AssetDocument | undefined => {
  const item = event.type === 'AssetUploaded' ? itemOf(id, event) : before?.item;
  if (item === undefined) return undefined;
  const common = { id, seq: before?.seq ?? position, position, item };
  switch (event.type) {
    case 'AssetUploaded':
    case 'AssetRestored':
      return { ...common, team: teamId, text: foldForSearch(item.filename) };
    case 'AssetTrashed':
      return { ...common, deletedOf: teamId, deletedAt: event.data.at };
    case 'AssetDeleted':
      return undefined;
  }
};

/**
 * The list of assets, and what the gallery of each team holds. `restoreMs`: for how long a deleted asset can be
 * restored.
 */
export const assetsProjection = (restoreMs: number): Projection => {
  const handler: Handler<AssetEvent> = (recorded, document) => [
    ...removalSteps(ASSET_TIMERS, recorded, restoreMs, effects[recorded.event.type]),
    ...step(recorded, document),
  ];
  return declareProjection({
    name: 'assets',
    collections: [
      timersSpec(ASSET_TIMERS),
      { name: ASSET_USAGE, version: 2, fields: [], indexes: [] },
      {
        name: ASSETS,
        version: 4,
        fields: ['team', 'deletedOf', 'deletedAt'],
        indexes: [['team'], ['deletedOf', 'deletedAt']],
        search: { field: 'text', within: 'team' },
        personal: ['item', 'text'],
      },
    ],
    main: ASSETS,
    kinds: ['asset'],
    decrypts: ['AssetUploaded'],
    related: ({ metadata }) => [{ collection: ASSET_USAGE, id: metadata.teamId }],
    on: { AssetUploaded: handler, AssetTrashed: handler, AssetRestored: handler, AssetDeleted: handler },
  });
};

const effects: Readonly<Partial<Record<AssetEvent['type'], RemovalEffect>>> = {
  AssetTrashed: 'begins',
  AssetRestored: 'ends',
  AssetDeleted: 'ends',
};

const itemOf = (id: string, event: AssetUploaded): AssetListing | undefined => {
  const asset = assetDecider.evolve(undefined, event);
  return asset?.description === undefined ? undefined : assetListing(id, asset, asset.description);
};

/**
 * Counts what comes and what goes for good: an asset that can be restored takes room. The position moves with each
 * event, however little of that a rebuild still sees.
 */
const usageStep = (
  { metadata, position }: Recorded,
  before: AssetListing | undefined,
  after: AssetListing | undefined,
): Step => {
  const id = metadata.teamId;
  const next = (document: Document | undefined): AssetUsageDocument => {
    const known = document as AssetUsageDocument | undefined;
    const usage: AssetUsage = {
      count: (known?.usage.count ?? 0) + (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1),
      sizeBytes: (known?.usage.sizeBytes ?? 0) + (after?.sizeBytes ?? 0) - (before?.sizeBytes ?? 0),
    };
    return { id, seq: known?.seq ?? position, position, usage };
  };
  return { collection: ASSET_USAGE, id, next };
};
