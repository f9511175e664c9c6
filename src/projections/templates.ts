/** The list of templates. */
import type { TemplateEvent } from '../domain/template/events.js';
import type { TemplateListItem } from '../domain/template/records.js';
import { evolveTemplate, templateListItem, type TemplateState } from '../domain/template/state.js';
import { must, parseTemplateId, splitStream } from '../domain/ids.js';
import type { Document } from '../domain/ports/documents.js';
import { eventByEvent, type Projection } from './projection.js';

export const TEMPLATES = 'templates';

/** `state` is the fold of the stream, without the parts of the draft that no list shows. */
export type TemplateDocument = Document & Readonly<{ team: string; text: string; item: TemplateListItem; state: TemplateState }>;

export const templatesProjection: Projection = {
  name: 'templates',
  collections: [{ name: TEMPLATES, version: 1, fields: ['team'], indexes: [['team']], search: 'text', searchScope: 'team' }],
  kinds: ['template'],
  opens: [],
  reads: (batch) => batch.map(({ stream }) => ({ collection: TEMPLATES, id: splitStream(stream).id })),
  fold: eventByEvent(({ event, stream, position, metadata }, find) => {
    const { id } = splitStream(stream);
    const before = find(TEMPLATES, id) as TemplateDocument | undefined;
    const folded = evolveTemplate(before?.state ?? { created: undefined, template: undefined }, event as TemplateEvent);
    const state = slim(folded);
    if (state.template !== undefined && state.template.deletedAt !== null) return [{ collection: TEMPLATES, id, document: undefined }];
    const common = { id, seq: before?.seq ?? position, position, state };
    // The first event has no draft yet: its document has no team, so no list finds it before the draft is there.
    if (state.template === undefined) return [{ collection: TEMPLATES, id, document: common as Document }];
    const item = templateListItem(must(parseTemplateId(id), 'template id'), state.template);
    const document = { ...common, item, team: metadata.teamId, text: `${item.name}\n${item.slug}\n${item.description}` };
    return [{ collection: TEMPLATES, id, document: document as TemplateDocument }];
  }),
};

const slim = (state: TemplateState): TemplateState =>
  state.template === undefined
    ? state
    : { ...state, template: { ...state.template, draft: { ...state.template.draft, variables: [], schema: null } } };
