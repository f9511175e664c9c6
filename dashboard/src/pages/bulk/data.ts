/** Calls of the page of bulk sends, and how they wait where the service asks them to. */
import { useQuery } from '@tanstack/react-query';
import type {
  BulkDryRun,
  AcceptedBatch,
  GetTemplateVersionData,
  GetTemplateVersionResponse,
  ListAttachmentTemplatesData,
  ListAttachmentTemplatesResponse,
  ListTemplatesData,
  ListTemplatesResponse,
  PreviewTemplateData,
  PreviewTemplateResponse,
  SendBulkData,
} from '#api';
import { ApiFault, operation } from '../../api/client';
import type { Draft, Run } from './kept';
import type { Built, Recipient, Values } from './rows.js';

const listTemplates = operation<ListTemplatesData, ListTemplatesResponse>('GET', '/api/templates');
const listDocuments = operation<ListAttachmentTemplatesData, ListAttachmentTemplatesResponse>(
  'GET',
  '/api/templates/attachment',
);
const getVersion = operation<GetTemplateVersionData, GetTemplateVersionResponse>(
  'GET',
  '/api/templates/{id}/versions/{version}',
);
const preview = operation<PreviewTemplateData, PreviewTemplateResponse>('POST', '/api/templates/{id}/preview');
const bulk = operation<SendBulkData, BulkDryRun | AcceptedBatch>('POST', '/api/emails/send/bulk');

type Page<Item> = Readonly<{ data: readonly Item[]; meta: Readonly<{ nextCursor: string | null }> }>;

const PAGES_MAX = 10;

const allOf = async <Item>(read: (cursor: string | undefined) => Promise<Page<Item>>): Promise<readonly Item[]> => {
  const items: Item[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { data, meta } = await read(cursor);
    items.push(...data);
    if (meta.nextCursor === null) break;
    cursor = meta.nextCursor;
  }
  return items;
};

const pageQuery = (cursor: string | undefined) => ({ limit: 100, ...(cursor === undefined ? {} : { cursor }) });

/** Templates that are published, by name. */
export const useTemplates = (teamId: string) =>
  useQuery({
    queryKey: ['bulk-templates', teamId],
    queryFn: async ({ signal }) => {
      const all = await allOf((cursor) => listTemplates({ query: pageQuery(cursor) }, { teamId, signal }));
      return all
        .flatMap(({ id, name, slug, publishedVersion }) =>
          publishedVersion === null ? [] : [{ id, name, slug, publishedVersion }],
        )
        .sort((one, other) => one.name.localeCompare(other.name));
    },
  });

/** Attachment templates that are published. */
export const useDocuments = (teamId: string) =>
  useQuery({
    queryKey: ['bulk-documents', teamId],
    queryFn: async ({ signal }) => {
      const all = await allOf((cursor) => listDocuments({ query: pageQuery(cursor) }, { teamId, signal }));
      return all.filter(({ publishedVersion }) => publishedVersion !== null);
    },
  });

/** The variables of the template, in the version that is sent. */
export const useVersion = (teamId: string, template: Draft['template']) =>
  useQuery({
    queryKey: ['bulk-template', teamId, template],
    enabled: template !== undefined,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      getVersion({ path: { id: template?.id ?? '', version: String(template?.version) } }, { teamId, signal }),
  });

/** The mail of one recipient, made by the service. */
export const usePreview = (
  teamId: string,
  template: Draft['template'],
  recipient: Recipient | undefined,
  base: Values,
) => {
  const { locale, timeZone, variables } = recipient ?? {};
  const body = {
    variables: { ...base, ...variables },
    ...(locale === undefined ? {} : { locale }),
    ...(timeZone === undefined ? {} : { timeZone }),
    ...(template === undefined ? {} : { version: template.version }),
  };
  return useQuery({
    queryKey: ['bulk-preview', teamId, template?.id, body],
    enabled: template !== undefined && recipient !== undefined,
    retry: false,
    gcTime: 60_000,
    queryFn: ({ signal }) => preview({ path: { id: template?.id ?? '' }, body }, { teamId, signal }),
  });
};

type Call = SendBulkData['body'];

export const tagsOf = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(/[,\n]/)
      .map((tag) => tag.trim())
      .filter((tag) => tag !== ''),
  ),
];

export type Wanted = Readonly<{ draft: Draft; base: Values; parts: readonly (readonly Built[])[] }>;

/** The call at a place among those of a file. The same draft always makes the same call. */
export const callOf = ({ draft, base, parts }: Wanted, place: number, scheduledAt: string | undefined): Call => {
  const part = parts[place] ?? [];
  const tags = tagsOf(draft.tags);
  const batchName = batchNameOf(draft, place, parts.length);
  return {
    ...(draft.template === undefined ? {} : { templateId: draft.template.id, version: draft.template.version }),
    recipients: part.map(({ recipient }) => ({ ...recipient })),
    lines: part.map(({ line }) => line),
    ...(Object.keys(base).length === 0 ? {} : { baseVariables: { ...base } }),
    ...(draft.attachments.length === 0
      ? {}
      : {
          attachments: draft.attachments.map(({ id, isRequired }) => ({
            attachmentTemplateId: id,
            required: isRequired,
          })),
        }),
    ...(tags.length === 0 ? {} : { tags: [...tags] }),
    ...(batchName === '' ? {} : { batchName }),
    ...(scheduledAt === undefined ? {} : { scheduledAt }),
  };
};

const NAME_CHARS_MAX = 200;

const batchNameOf = ({ batchName, file }: Draft, place: number, parts: number): string => {
  const name = (batchName.trim() || (file?.name ?? ''))
    .replaceAll(/[\p{Cc}\s\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .slice(0, NAME_CHARS_MAX);
  return parts === 1 ? name : `${name} (${place + 1} of ${parts})`.trim();
};

/** `say` is told why the page waits. */
type Waiting = Readonly<{ teamId: string; signal: AbortSignal; say: (text: string) => void }>;

const ATTEMPTS_MAX = 6;

/** Answers that another attempt may mend; the service was not reached, is busy, or takes so many calls a minute. */
const isPassing = (fault: unknown): fault is ApiFault =>
  fault instanceof ApiFault && (fault.status === 0 || fault.status === 429 || fault.status >= 502);

/** Makes the call again after each fault that passes. Rejects with the last one. */
const patiently = async <Answer>(work: () => Promise<Answer>, { signal, say }: Waiting): Promise<Answer> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (fault) {
      if (!isPassing(fault) || (fault.status !== 429 && attempt >= ATTEMPTS_MAX)) throw fault;
      const seconds = Math.min(fault.retryAfterS ?? 2 ** attempt, 60);
      say(
        fault.status === 429
          ? `The service takes the next call in ${seconds} s.`
          : `${fault.message} The page tries again in ${seconds} s.`,
      );
      await pause(seconds * 1_000, signal);
    }
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(new DOMException('the page was left', 'AbortError'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal.addEventListener('abort', end, { once: true });
  });

/** The dry run of one call. */
export const dryRun = (call: Call, waiting: Waiting): Promise<BulkDryRun> =>
  patiently(
    async () =>
      (await bulk(
        { body: { ...call, dryRun: true } },
        { teamId: waiting.teamId, signal: waiting.signal },
      )) as BulkDryRun,
    waiting,
  );

/** Sends one call under a key of its own: made again after a broken connection, it sends nothing twice. */
export const sendPart = (call: Call, run: Run, place: number, waiting: Waiting): Promise<AcceptedBatch> =>
  patiently(
    async () =>
      (await bulk(
        { body: call },
        { teamId: waiting.teamId, signal: waiting.signal, idempotencyKey: `file-${run.id}-${place}` },
      )) as AcceptedBatch,
    waiting,
  );
