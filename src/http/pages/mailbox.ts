/**
 * The routes of the built-in mailbox: its mails as JSON and files, and its page, for a browser that has opened its link
 * or a caller with a key.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { idParams } from '../../api/core/common.js';
import {
  MailboxAttachmentParamsSchema,
  MailboxClearedSchema,
  MailboxHtmlQuerySchema,
  MailboxLinkQuerySchema,
  MailboxMessageSchema,
  MailboxPageSchema,
} from '../../api/mailbox.js';
import { PageOnlyQuerySchema } from '../../api/core/queries.js';
import { DomainError } from '../../domain/core/errors.js';
import { defaultLimits } from '../../domain/core/limits.js';
import type { Mailbox, MailboxMessage } from '../../domain/ports/mailbox.js';
import type { App, HttpDeps } from '../server/context.js';
import { CLOSED_CSP, closedPage, mailboxPage, firstMailCurl } from './page.js';
import { mailboxScript, mailboxStyle } from './client.js';
import { contentPolicy, disposition } from '../server/headers.js';
import { MAIL_CSP, mailHtml } from '../server/mail-html.js';
import { MAILBOX_PATH, mailboxCookie, ownPageOnly } from '../server/cookies.js';
import type { Commands } from '../../commands/index.js';
import { coerceQuery } from '../server/validation.js';

type Reading = Readonly<{ mails: Mailbox; isConfidentialMail: Commands['isConfidentialMail'] }>;

type MailboxDeps = Pick<HttpDeps, 'settings' | 'commands'> & Readonly<{ mailbox: NonNullable<HttpDeps['mailbox']> }>;

const PAGE_CSP = contentPolicy({
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'frame-src': "'self'",
});
/** A file of a mail must never act on the page's origin, whatever type it claims. */
const FILE_CSP = contentPolicy({}, { sandbox: '' });

const MIME_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/i;

const tags = ['Mailbox'];
const config = { access: 'emails:read', mailbox: true } as const;
const params = idParams('Id of the message');

/** Registers everything under /mailbox. */
export const mailboxRoutes = (app: App, deps: MailboxDeps): void => {
  const { mails } = deps.mailbox;
  const reading: Reading = { mails, isConfidentialMail: deps.commands.isConfidentialMail };
  void app.register(async (scope) => {
    scope.addHook('onRequest', ownPageOnly(deps.settings));
    scope.setErrorHandler(closedForPeople);
    listRoutes(scope, mails);
    messageRoutes(scope, reading);
    fileRoutes(scope, reading);
    linkRoute(scope, deps);
    pageRoutes(scope, reading);
  });
};

const missing = (): DomainError => new DomainError('NOT_FOUND', 'There is no such message in the mailbox.');

/** The link is shown to the operator alone, so a request by it sees every mail whole. */
const isByLink = ({ caller }: Pick<FastifyRequest, 'caller'>): boolean => caller === null;

const notShown = (): DomainError =>
  new DomainError(
    'NOT_FOUND',
    'This mail contains a link or code that signs somebody in. Open the mailbox by its link to read it; API keys cannot read it.',
  );

const messageOf = async (mailbox: Mailbox, id: string): Promise<MailboxMessage> => {
  const message = await mailbox.get(id);
  if (message === undefined) throw missing();
  return message;
};

const isHidden = async (
  { isConfidentialMail }: Reading,
  request: FastifyRequest,
  { headers }: MailboxMessage,
): Promise<boolean> => {
  if (isByLink(request)) return false;
  for (const { name, value } of headers)
    if (name.toLowerCase() === 'message-id' && (await isConfidentialMail(value))) return true;
  return false;
};

/** Throws NOT_FOUND if the caller may not see the contents of the mail. */
const openMessage = async (reading: Reading, request: FastifyRequest, id: string): Promise<MailboxMessage> => {
  const message = await messageOf(reading.mails, id);
  if (await isHidden(reading, request, message)) throw notShown();
  return message;
};

const sendFile = (reply: FastifyReply, type: string, content: Buffer | string, csp: string): FastifyReply =>
  reply.header('content-type', type).header('content-security-policy', csp).send(content);

const listRoutes = (app: App, mailbox: Mailbox): void => {
  app.get(
    '/mailbox/messages',
    {
      config,
      preValidation: coerceQuery(PageOnlyQuerySchema),
      schema: {
        summary: 'List the mails of the mailbox',
        description: 'Newest first.',
        operationId: 'listMailboxMessages',
        tags,
        querystring: PageOnlyQuerySchema,
        response: { 200: MailboxPageSchema },
      },
    },
    async (request) => {
      const { page = 1, limit = defaultLimits.pageSizeDefault } = request.query;
      const { entries, total } = await mailbox.list({ page, limit });
      const data = entries.map(({ id, from, to, subject, receivedAt, sizeBytes }) => ({
        id,
        from,
        to: [...to],
        subject,
        receivedAt,
        sizeBytes,
      }));
      return {
        data,
        meta: { page, limit, total, totalPages: Math.ceil(total / limit), totalIsLowerBound: false, nextCursor: null },
      };
    },
  );

  app.delete(
    '/mailbox/messages',
    {
      config: { access: 'emails:delete', mailbox: true },
      schema: {
        summary: 'Empty the mailbox',
        operationId: 'clearMailbox',
        tags,
        response: { 200: MailboxClearedSchema },
      },
    },
    async () => ({ deleted: await mailbox.clear() }),
  );
};

const messageRoutes = (app: App, reading: Reading): void => {
  app.get(
    '/mailbox/messages/:id',
    {
      config: { ...config, unknownId: 'NOT_FOUND' },
      schema: {
        summary: 'Read a mail of the mailbox',
        operationId: 'getMailboxMessage',
        tags,
        params,
        response: { 200: MailboxMessageSchema },
      },
    },
    async (request) => {
      const message = await messageOf(reading.mails, request.params.id);
      const shown = (await isHidden(reading, request, message))
        ? { ...message, html: null, text: null, attachments: [] }
        : message;
      const { to, cc, envelope, headers, attachments, ...rest } = shown;
      return {
        ...rest,
        to: [...to],
        cc: [...cc],
        headers: [...headers],
        attachments: [...attachments],
        envelope: { from: envelope.from, to: [...envelope.to] },
      };
    },
  );
};

const fileRoutes = (app: App, reading: Reading): void => {
  const { mails: mailbox } = reading;
  app.get(
    '/mailbox/messages/:id/raw',
    {
      config: { ...config, unknownId: 'NOT_FOUND', media: 'message/rfc822' },
      schema: { summary: 'The mail as it came, byte for byte', operationId: 'getMailboxSource', tags, params },
    },
    async (request, reply) => {
      await openMessage(reading, request, request.params.id);
      const raw = await mailbox.raw(request.params.id);
      if (raw === undefined) throw missing();
      return sendFile(reply, 'message/rfc822', raw, FILE_CSP);
    },
  );

  app.get(
    '/mailbox/messages/:id/attachments/:index',
    {
      config: { ...config, unknownId: 'NOT_FOUND', media: 'application/octet-stream' },
      schema: {
        summary: 'Download an attachment',
        operationId: 'getMailboxAttachment',
        tags,
        params: MailboxAttachmentParamsSchema,
      },
    },
    async (request, reply) => {
      const { id, index } = request.params;
      await openMessage(reading, request, id);
      const found = /^\d{1,4}$/.test(index) ? await mailbox.attachment(id, Number(index)) : undefined;
      if (found === undefined) throw missing();
      const { contentType, filename } = found.attachment;
      reply.header('content-disposition', disposition('attachment', filename));
      return sendFile(
        reply,
        MIME_TYPE.test(contentType) ? contentType : 'application/octet-stream',
        found.content,
        FILE_CSP,
      );
    },
  );
};

/** The page, and the link that opens it: the token goes into a cookie and out of the address. */
const linkRoute = (app: App, { settings, mailbox: { token } }: MailboxDeps): void => {
  const page = mailboxPage(firstMailCurl(settings.publicUrl), app.ownPath);
  const cookie = mailboxCookie(token, settings.port);
  app.get(MAILBOX_PATH, { config, schema: { hide: true, querystring: MailboxLinkQuerySchema } }, (request, reply) => {
    if (request.query.token === undefined) return sendFile(reply, 'text/html; charset=utf-8', page, PAGE_CSP);
    if (cookie.opensLink(request)) reply.header('set-cookie', cookie.setCookie(request));
    return reply.redirect(app.ownPath(MAILBOX_PATH), 303);
  });
};

const pageRoutes = (app: App, reading: Reading): void => {
  const hidden = { hide: true } as const;
  app.get('/mailbox/app.css', { config, schema: hidden }, (_request, reply) =>
    sendFile(reply, 'text/css; charset=utf-8', mailboxStyle, FILE_CSP),
  );
  app.get('/mailbox/app.js', { config, schema: hidden }, (_request, reply) =>
    sendFile(reply, 'text/javascript; charset=utf-8', mailboxScript, FILE_CSP),
  );
  app.get(
    '/mailbox/messages/:id/html',
    {
      config: { ...config, unknownId: 'NOT_FOUND' },
      schema: { ...hidden, params, querystring: MailboxHtmlQuerySchema },
    },
    async (request, reply) => {
      const message = await openMessage(reading, request, request.params.id);
      return sendFile(
        reply,
        'text/html; charset=utf-8',
        await mailHtml(reading.mails, message, request.query.scheme === 'dark'),
        MAIL_CSP,
      );
    },
  );
};

/** Answers a browser without the link with a page that says what to do; other errors are answered as everywhere. */
const closedForPeople = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  if (error.code !== 'UNAUTHORIZED' || request.headers.accept?.includes('text/html') !== true) throw error;
  reply.code(401).header('www-authenticate', 'Bearer realm="sealpost"');
  return sendFile(reply, 'text/html; charset=utf-8', closedPage(request.server.ownPath), CLOSED_CSP);
};
