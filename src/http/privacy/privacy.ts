/** Routes that show, export and erase the data of an address. */
import { Readable } from 'node:stream';
import { idParams } from '../../api/core/common.js';
import { addressExamples } from '../../api/examples.js';
import {
  DataSubjectRequestSchema,
  ErasureReceiptSchema,
  RecipientParamsSchema,
  RecipientSummarySchema,
  RetentionTableSchema,
} from '../../api/privacy.js';
import { invalidAddresses, parseAddress } from '../../domain/mime/address.js';
import { erasureNotFound } from '../../domain/privacy/decider.js';
import { parseErasureId, type ErasureId } from '../../domain/core/ids.js';
import { retentionTable } from '../../projections/retention/retention.js';
import { callerOf, type App, type HttpDeps, OWN_WRITES_WAIT_MS } from '../server/context.js';
import { disposition } from '../server/headers.js';

type Deps = Pick<HttpDeps, 'commands' | 'queries' | 'limits'>;

const tags = ['Privacy'];
const access = 'privacy:manage';
const JSON_LINES = 'application/x-ndjson';

/** A malformed id is answered as an unknown one. */
const erasureIdOf = (text: string): ErasureId => {
  const id = parseErasureId(text);
  if (id === undefined) throw erasureNotFound();
  return id;
};

const erasureRoutes = (app: App, { commands }: Deps): void => {
  app.post(
    '/api/privacy/erase',
    {
      config: { access, command: 'eraseAddress', examples: addressExamples },
      schema: {
        summary: 'Erase an address',
        description:
          'Destroys what is personal of every email with that recipient, and cancels those that have not left; those with several recipients go on for the others. An address that is suppressed stays suppressed, by its HMAC alone. Where something has to wait the answer is `pending` and says for what; it is done as soon as it can be. An unknown address is answered the same, with nothing in it.',
        operationId: 'eraseAddress',
        tags,
        body: DataSubjectRequestSchema,
        response: { 200: ErasureReceiptSchema },
      },
    },
    (request) => commands.eraseAddress(callerOf(request), request.body),
  );

  app.get(
    '/api/privacy/erasures/:id',
    {
      config: { access, command: 'getErasure', unknownId: 'ERASURE_NOT_FOUND' },
      schema: {
        summary: 'How far an erasure has come',
        operationId: 'getErasure',
        tags,
        params: idParams('Id of the erasure'),
        response: { 200: ErasureReceiptSchema },
      },
    },
    (request) => commands.getErasure(callerOf(request), erasureIdOf(request.params.id)),
  );
};

/** Emails, and erasures, that one answer shows. */
const SHOWN_MAX = 20;

const recipientRoute = (app: App, { commands, queries }: Deps): void => {
  app.get(
    '/api/recipients/:address',
    {
      config: {
        audited: { action: 'recipient.read', target: 'recipient' },
        access: 'emails:read',
        command: 'readRecipient',
      },
      schema: {
        summary: 'Read about one address',
        description: `Its last ${SHOWN_MAX} emails, and whether the team writes to it: suppressions, unsubscribed lists and erasures. An address that nobody has written to is answered the same, with nothing in it.`,
        operationId: 'getRecipient',
        tags: ['Emails'],
        params: RecipientParamsSchema,
        response: { 200: RecipientSummarySchema },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const parsed = parseAddress(request.params.address);
      if (!parsed.ok) throw invalidAddresses([{ field: 'address', message: parsed.reason }]);
      await queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const { email, id, suppressions } = await commands.readRecipient(caller, parsed.address);
      request.auditedId = id;
      const [{ data: emails, meta }, erasures] = await Promise.all([
        queries.listEmails(caller.teamId, { recipient: email }, { page: 1, limit: SHOWN_MAX }),
        queries.erasuresOf(caller.teamId, id, SHOWN_MAX),
      ]);
      return {
        email,
        emails,
        emailsTotal: meta.total,
        emailsTotalIsLowerBound: meta.totalIsLowerBound,
        suppressions: suppressions.filter(({ reason }) => reason !== 'unsubscribe'),
        unsubscribes: suppressions.filter(({ reason }) => reason === 'unsubscribe'),
        erasures: [...erasures],
      };
    },
  );
};

const retentionRoute = (app: App, { limits }: Deps): void => {
  app.get(
    '/api/retention',
    {
      config: { access: 'team:read', codes: ['STORE_AWAY'] },
      schema: {
        summary: 'How long data is kept',
        description:
          'Each kind of data of a team, how long it is kept by the settings of the instance, and what happens then. For people, whatever their role.',
        operationId: 'getRetention',
        tags,
        response: { 200: RetentionTableSchema },
      },
    },
    () => ({ data: [...retentionTable(limits)] }),
  );
};

/** Registers the routes under /api/privacy, GET /api/recipients/:address and GET /api/retention. */
export const privacyRoutes = (app: App, deps: Deps): void => {
  recipientRoute(app, deps);
  erasureRoutes(app, deps);
  retentionRoute(app, deps);
  app.post(
    '/api/privacy/export',
    {
      config: {
        audited: { action: 'recipient.exported' },
        access,
        command: 'exportAddress',
        examples: addressExamples,
        media: JSON_LINES,
      },
      schema: {
        summary: 'Export what is held about an address',
        description:
          'A line of JSON for each thing, named by its `type`: the `address` itself, its `suppression`, each `bulkSend` whose emails are not all made, each `email`, the newest first, and each `webhookDelivery` of these emails. Of an email with several recipients what may belong to the others is left out. Written as it is read.',
        operationId: 'exportAddress',
        tags,
        body: DataSubjectRequestSchema,
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      await deps.queries.awaitOwnWrites(caller.teamId, OWN_WRITES_WAIT_MS);
      const lines = await deps.commands.exportAddress(caller, request.body, deps.queries);
      return reply
        .header('content-type', `${JSON_LINES}; charset=utf-8`)
        .header('content-disposition', disposition('attachment', 'address.jsonl'))
        .send(Readable.from(lines, { objectMode: false }));
    },
  );
};
