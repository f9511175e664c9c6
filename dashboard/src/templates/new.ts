/** The content of a new template: empty, a sample of the service, or a file. */
import { ApiFault } from '../api/client';
import type { Choice, Values } from '../resources/resource';
import type { Content, Kind } from './content';

type Load = () => Promise<unknown>;

const mails = import.meta.glob('../../../samples/emails/*.json', { query: '?raw', import: 'default' });
const blocks = import.meta.glob('../../../samples/blocks/*.json', { query: '?raw', import: 'default' });
const documents = import.meta.glob('../../../samples/attachments/*.json', { query: '?raw', import: 'default' });

const samples: Readonly<Record<Kind, Readonly<Record<string, Load>>>> = {
  email: mails,
  attachment: documents,
  block: blocks,
};

const EMPTY = '';
const LAYOUT = 'layout';

const titleOf = (file: string): string => {
  const words = (/([^/]+)\.json$/.exec(file)?.[1] ?? file).replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Beginnings of a new template of the kind. */
export const beginningOf = (kind: Kind): readonly Choice[] => [
  { value: EMPTY, label: kind === 'block' ? 'an empty block' : 'nothing' },
  ...(kind === 'block' ? [{ value: LAYOUT, label: 'an empty layout' }] : []),
  ...Object.keys(samples[kind])
    .sort()
    .map((file) => ({ value: file, label: `the sample “${titleOf(file)}”` })),
];

const section = { id: 'main', type: 'main', components: [{ id: 'text', type: 'rich-text', content: '<p>Hello</p>' }] };

const emptyOf = (kind: Kind, beginning: string): Content => {
  if (kind === 'email')
    return { name: 'New email', subject: 'Hello', locale: 'en-US', variables: [], schema: { sections: [section] } };
  if (kind === 'attachment')
    return {
      name: 'New document',
      locale: 'en-US',
      variables: [],
      schema: { outputFormats: ['pdf'], pages: [{ pageId: 'page', pageName: 'Page 1', sections: [section] }] },
    };
  return beginning === LAYOUT
    ? { name: 'New layout', variables: [], schema: { sections: [{ id: 'content', type: 'slot' }] } }
    : { name: 'New block', variables: [], schema: { components: section.components } };
};

/** In: the text of a file. Throws an ApiFault that names the field `file` where it is no template. */
export const contentOfFile = (text: string): Content => {
  const refuse = (message: string): never => {
    throw new ApiFault(400, { code: 'FILE_INVALID', message, errors: [{ field: 'file', message }] });
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (fault) {
    return refuse(`is not JSON: ${fault instanceof Error ? fault.message : ''}`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return refuse('has no object, which a template is');
  return parsed as Content;
};

/** Fields of an export that speak of another template, which a new one does not have. */
const withoutOrigin = ({ $schema: _, publish: __, deletedAt: ___, sent30d: ____, ...content }: Content): Content =>
  content;

const textOf = (value: Values[string] | undefined): string => (typeof value === 'string' ? value.trim() : '');

/** In: the form of a new template. Out: the body that makes it, as a draft. Rejects with an ApiFault. */
export const newContent = async (kind: Kind, values: Values): Promise<Content> => {
  const { file } = values;
  const beginning = textOf(values['beginning']);
  const load = samples[kind][beginning];
  const given =
    file instanceof File
      ? contentOfFile(await file.text())
      : load === undefined
        ? emptyOf(kind, beginning)
        : (JSON.parse((await load()) as string) as Content);
  const { slug, ...content } = withoutOrigin(given);
  const name = textOf(values['name']);
  const wanted = textOf(values['slug']);
  return {
    ...content,
    ...(name === '' ? {} : { name }),
    // A name of one's own gives a slug of its own.
    ...(wanted === '' ? (name === '' && slug !== undefined ? { slug } : {}) : { slug: wanted }),
  };
};
