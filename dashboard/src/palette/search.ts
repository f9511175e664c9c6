/** Finds things of the team by a text: emails, templates, domains, keys, bulk sends. */
import type {
  ListApiKeysData,
  ListApiKeysResponse,
  ListAttachmentTemplatesData,
  ListAttachmentTemplatesResponse,
  ListBatchesData,
  ListBatchesResponse,
  ListDomainsData,
  ListDomainsResponse,
  ListEmailsData,
  ListEmailsResponse,
  ListTemplatesData,
  ListTemplatesResponse,
} from '#api';
import { operation, type Options } from '../api/client';
import type { Team } from '../api/queries';
import type { Permission } from '../resources/resource';
import { type Entry, fitting } from './entries';

const emails = operation<ListEmailsData, ListEmailsResponse>('GET', '/api/emails');
const templates = operation<ListTemplatesData, ListTemplatesResponse>('GET', '/api/templates');
const documents = operation<ListAttachmentTemplatesData, ListAttachmentTemplatesResponse>(
  'GET',
  '/api/templates/attachment',
);
const domains = operation<ListDomainsData, ListDomainsResponse>('GET', '/api/domains');
const keys = operation<ListApiKeysData, ListApiKeysResponse>('GET', '/api/api-keys');
const batches = operation<ListBatchesData, ListBatchesResponse>('GET', '/api/emails/batches');

const FOUND_MAX = 5;
/** Lists without a search of their own are read so far. */
const READ_MAX = 100;

export type Found = Readonly<{
  groups: readonly Readonly<{ name: string; entries: readonly Entry[] }>[];
  /** A list could not be read. */
  isPartial: boolean;
}>;

type Source = Readonly<{
  name: string;
  needs: Permission;
  find: (text: string, options: Options) => Promise<readonly Entry[]>;
}>;

const first = <One>(all: readonly One[]): readonly One[] => all.slice(0, FOUND_MAX);

const sources: readonly Source[] = [
  {
    name: 'Emails',
    needs: 'emails:read',
    find: async (text, options) =>
      (await emails({ query: { search: text, limit: FOUND_MAX } }, options)).data.map(
        ({ id, subject, to, status }) => ({
          id,
          title: subject ?? 'An email whose subject was destroyed',
          hint: [to?.email, status].filter(Boolean).join(' · '),
          href: `/emails/${id}`,
        }),
      ),
  },
  {
    name: 'Templates',
    needs: 'templates:read',
    find: async (text, options) => {
      const query = { search: text, limit: FOUND_MAX };
      const [ofEmails, ofDocuments] = await Promise.all([templates({ query }, options), documents({ query }, options)]);
      return [
        ...ofEmails.data.map(({ id, name, slug }) => ({
          ...{ id, title: name, hint: `email · ${slug}` },
          href: `/templates/emails/${id}`,
        })),
        ...ofDocuments.data.map(({ id, name, slug }) => ({
          ...{ id, title: name, hint: `document · ${slug}` },
          href: `/templates/documents/${id}`,
        })),
      ];
    },
  },
  {
    name: 'Sender domains',
    needs: 'domains:manage',
    find: async (text, options) => {
      const all = (await domains({}, options)).data.map(({ id, domain, status }) => ({
        ...{ id, title: domain, hint: status },
        href: `/domains/${id}`,
      }));
      return first(fitting(all, text));
    },
  },
  {
    name: 'API keys',
    needs: 'api-keys:manage',
    find: async (text, options) => {
      const all = (await keys({ query: { limit: READ_MAX } }, options)).data.map(({ id, name }) => ({
        ...{ id, title: name },
        href: `/api-keys/${id}`,
      }));
      return first(fitting(all, text));
    },
  },
  {
    name: 'Bulk sends',
    needs: 'emails:read',
    find: async (text, options) => {
      const all = (await batches({ query: { limit: READ_MAX } }, options)).data.map((batch) => ({
        ...{ id: batch.batchId, title: batch.batchName ?? batch.batchId, hint: batch.status },
        href: `/batches/${batch.batchId}`,
      }));
      return first(fitting(all, text));
    },
  },
];

/** In: a text of two letters or more. A list that cannot be read leaves the others. */
export const findThings = async (text: string, team: Team, signal: AbortSignal): Promise<Found> => {
  const asked = sources.filter(({ needs }) => team.permissions.includes(needs));
  const answers = await Promise.allSettled(asked.map(({ find }) => find(text, { teamId: team.id, signal })));
  signal.throwIfAborted();
  return {
    groups: answers.flatMap((answer, at) =>
      answer.status === 'fulfilled' && answer.value.length > 0
        ? [{ name: asked[at]?.name ?? '', entries: answer.value }]
        : [],
    ),
    isPartial: answers.some(({ status }) => status === 'rejected'),
  };
};
