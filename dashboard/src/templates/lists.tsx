/** The lists of templates, documents and blocks, and the form of a new one. */
import type { ReactNode } from 'react';
import { ApiFault, type Options } from '../api/client';
import { Person } from '../pages/person';
import type { StepsPage } from '../pages/registry';
import { resourcePages } from '../resources/pages';
import type { Act, Column, Field, ListQuery, Page, Resource, Scope } from '../resources/resource';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';
import { type Item, type Kind, stateOf } from './content';
import { apiOf, blockUsage, templatePath, wordsOf } from './kinds';
import { beginningOf, newContent } from './new';

/** Names the author of a draft. */
export const Author = ({ by }: Readonly<{ by: string | null }>): ReactNode => {
  if (by === null) return '';
  const user = /^user:(.+)$/.exec(by)?.[1];
  if (user !== undefined) return <Person id={user} />;
  if (/^(?:apiKey:|key_)/.test(by)) return 'an API key';
  return by.startsWith('grant:') ? 'an app' : by === 'system' ? 'sealpost' : 'the command line';
};

const statusFilter: Field = {
  name: 'status',
  label: 'State',
  kind: 'select',
  choices: [
    { value: '', label: 'all' },
    { value: 'published', label: 'published' },
    { value: 'draft', label: 'draft or changed' },
  ],
};

const showFilter = (kind: Kind): Field => ({
  name: 'show',
  label: 'Show',
  kind: 'select',
  choices: [
    { value: '', label: kind === 'email' ? 'yours' : 'in use' },
    ...(kind === 'email' ? [{ value: 'service', label: 'mails of sealpost' }] : []),
    { value: 'deleted', label: 'deleted' },
  ],
});

/** Mails about accounts, which sealpost itself sends. One that somebody has changed is theirs. */
const isOfService = ({ slug, updatedBy }: Item): boolean => updatedBy === 'system' && slug.startsWith('account-');

/** A page of the list; the service finds words of a name in the order in which templates were made. */
const listPage = async (kind: Kind, query: ListQuery, options: Options): Promise<Page<Item>> => {
  const { show, sort, search = show === 'service' ? 'account' : undefined, ...paging } = query;
  const asked = {
    ...paging,
    ...(search === undefined ? (sort === undefined ? {} : { sort }) : { search }),
    ...(show === 'deleted' ? { deleted: 'true' } : {}),
  };
  const page = await apiOf[kind].list(asked, options);
  return kind !== 'email' || show === 'deleted'
    ? page
    : { ...page, data: page.data.filter((item) => isOfService(item) === (show === 'service')) };
};

const sortFilter: Field = {
  name: 'sort',
  label: 'Order',
  kind: 'select',
  choices: [
    { value: '', label: 'newest first' },
    { value: 'updatedAt', label: 'last changed first' },
  ],
};

const outputNames: Readonly<Record<string, string>> = { email: 'mail', pdf: 'PDF', excel: 'workbook' };

const namesOf = (outputs: readonly string[] = []): string => outputs.map((one) => outputNames[one] ?? one).join(', ');

const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

const ownColumns: Readonly<Record<Kind, readonly Column<Item>[]>> = {
  email: [
    { name: 'Sent in 30 days', cell: ({ sent30d = 0 }) => sent30d.toLocaleString(), isEnd: true },
    {
      name: 'Last sent',
      cell: ({ lastSentOn }) =>
        lastSentOn === null || lastSentOn === undefined ? (
          ''
        ) : (
          <time dateTime={lastSentOn}>{day.format(new Date(lastSentOn))}</time>
        ),
    },
  ],
  attachment: [{ name: 'Files', cell: ({ outputFormats }) => namesOf(outputFormats) }],
  block: [
    { name: 'Kind', cell: ({ isLayout }) => (isLayout === true ? 'layout' : 'block') },
    { name: 'Stands in', cell: ({ outputs }) => namesOf(outputs), isWide: true },
  ],
};

const about: Readonly<Record<Kind, string>> = {
  email: 'Mails that your programs send by name. A change is sent once it is published.',
  attachment: 'Documents that sealpost makes as PDF or workbook, and attaches to mails.',
  block: 'Headers, footers and layouts that templates share.',
};

const isThere = ({ deletedAt }: Item): boolean => deletedAt === undefined;

/** Says which calls stop working when a template goes. */
export const deletionText = (kind: Kind, item: Item): ReactNode => (
  <>
    <p>
      {kind === 'block'
        ? 'Templates that name it can be saved and sent no more. A block that a draft or a newest version names is kept.'
        : `Calls that name “${item.slug}” are refused from then on. Emails already accepted are still sent.`}
      {item.sent30d === undefined || item.sent30d === 0
        ? null
        : ` ${item.sent30d.toLocaleString()} emails of the last 30 days were made from it.`}
    </p>
    <p>For 30 days it can be restored, with its versions.</p>
  </>
);

/** Deletes a template. Rejects for a block in use with a fault that names the templates. */
export const removeTemplate = async (kind: Kind, { id, name }: Item, { teamId }: Scope): Promise<string> => {
  try {
    await apiOf[kind].remove(id, { teamId });
  } catch (fault) {
    if (!(fault instanceof ApiFault) || fault.code !== 'BLOCK_IN_USE') throw fault;
    const { data } = await blockUsage({ path: { id } }, { teamId });
    const users = data.filter(({ current }) => current).map((one) => `${one.name} (${one.type})`);
    throw new ApiFault(fault.status, { code: fault.code, message: `${name} is used by ${users.join(', ')}.` });
  }
  return `${name} is deleted.`;
};

const actsOf = (kind: Kind): readonly Act<Item>[] => [
  {
    label: 'Restore',
    needs: 'templates:write',
    isFor: (item) => !isThere(item),
    fields: ({ slug }) => [
      { name: 'slug', label: 'Slug', initial: slug, isRequired: true, hint: 'Another, where it is taken by now' },
    ],
    run: async ({ id, name, slug: former }, { slug }, { teamId }) => {
      const asked = String(slug).trim();
      await apiOf[kind].restore(id, asked === former ? {} : { slug: asked }, { teamId });
      return { say: `${name} is restored.` };
    },
  },
];

const listResource = (kind: Kind): Resource<Item> => {
  const { path, one, many } = wordsOf[kind];
  return {
    path,
    one,
    many,
    needs: 'templates:read',
    about: about[kind],
    idOf: ({ id }) => id,
    titleOf: ({ name }) => name,
    list: (query, { teamId }, signal) => listPage(kind, query, { teamId, signal }),
    get: (id, { teamId }, signal) => apiOf[kind].get(id, { teamId, signal }),
    hasPage: isThere,
    filters: [
      { name: 'search', label: 'Name or slug', placeholder: 'order' },
      statusFilter,
      sortFilter,
      showFilter(kind),
    ],
    columns: [
      { name: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
      { name: 'Slug', cell: ({ slug }) => <code>{slug}</code> },
      { name: 'State', cell: (item) => <StatusBadge status={stateOf(item)} /> },
      ...ownColumns[kind],
      { name: 'Changed', cell: ({ updatedAt }) => <Moment at={updatedAt} /> },
      { name: 'By', cell: ({ updatedBy }) => <Author by={updatedBy} />, isWide: true },
    ],
    create: {
      label: `New ${one}`,
      needs: 'templates:write',
      fields: () => [
        {
          name: 'name',
          label: 'Name',
          hint: 'Shown in lists; default: that of the sample or of the file',
        },
        {
          name: 'slug',
          label: 'Slug',
          hint: 'Calls of your programs name it; default: made of the name. Lower-case letters, digits and hyphens',
        },
        { name: 'beginning', label: 'Begins with', kind: 'select', choices: beginningOf(kind) },
        {
          name: 'file',
          label: 'A file in place of that',
          kind: 'file',
          accept: '.json,application/json',
          hint: 'An export of this or another sealpost',
        },
      ],
      run: async (values, { teamId }) => {
        const content = await newContent(kind, values);
        const { id, name } = await apiOf[kind].create(content, { teamId });
        return { say: `${name} is a draft. It can be sent once it is published.`, open: templatePath(kind, id) };
      },
    },
    acts: actsOf(kind),
    ...(kind === 'email'
      ? { links: [{ label: 'Import', href: `${path}/import`, needs: 'templates:write' as const }] }
      : {}),
  };
};

export const listOf: Readonly<Record<Kind, StepsPage>> = {
  email: resourcePages(listResource('email')),
  attachment: resourcePages(listResource('attachment')),
  block: resourcePages(listResource('block')),
};
