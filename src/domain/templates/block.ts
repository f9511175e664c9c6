/** Blocks: pieces of mails and documents that templates include, with the rules of their kind. */
import { DomainError } from '../core/errors.js';
import { blockSlugStream, blockStream, parseBlockId } from '../core/ids.js';
import { isJsonObject, type Json } from '../core/json.js';
import type { BlockContent } from '../rendering/content.js';
import { blocksPart, makeTemplateDecider, type TemplateRules } from './decider.js';
import type { BlockDraft } from './events.js';

export const blockRules: TemplateRules<'block'> = {
  kind: 'block',
  streamKind: 'block',
  resource: undefined,
  parseId: parseBlockId,
  stream: blockStream,
  slugStream: blockSlugStream,
  isDraft: (draft): draft is BlockDraft => 'outputs' in draft,
  shown: ({ name, schema }) => ({ name, ...blocksPart({ schema }) }),
  named: ({ name }) => ({ name }),
  listed: ({ outputs, schema }) => ({ outputs: [...outputs], isLayout: isLayout(schema) }),
  recorded: () => ({}),
  notFound: () =>
    new DomainError('BLOCK_NOT_FOUND', 'There is no block with this id or slug. GET /api/blocks lists yours.'),
  unpublished: 'This block has no published version yet. POST /api/blocks/:id/publish makes its draft one.',
};

export const blockDecider = makeTemplateDecider(blockRules);

/** True for the schema of a block whose slot takes the sections of a template. */
export const isLayout = (schema: unknown): boolean => isJsonObject(schema as Json) && 'sections' in (schema as object);

/** The content of a draft, which was checked before it was saved. */
export const contentOfBlock = ({ variables, schema, locale, translations }: BlockDraft): BlockContent => ({
  variables: variables as BlockContent['variables'],
  schema: schema as BlockContent['schema'],
  locale,
  ...(translations === undefined ? {} : { translations }),
});
