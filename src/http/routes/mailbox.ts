/** The mailbox as JSON, as files and as a page. On loopback only, without a key. */
import type { FastifyReply } from 'fastify';
import { idParams } from '../../api/common.js';
import {
  MailboxAttachmentParamsSchema,
  MailboxClearedSchema,
  MailboxHtmlQuerySchema,
  MailboxMessageSchema,
  MailboxPageSchema,
} from '../../api/mailbox.js';
import { PageOnlyQuerySchema } from '../../api/queries.js';
import { DomainError } from '../../domain/errors.js';
import { defaultLimits } from '../../domain/limits.js';
import type { Mailbox, MailboxMessage } from '../../domain/ports/mailbox.js';
import type { App } from '../context.js';
import { mailboxPage } from '../dashboard/page.js';
import { mailboxScript } from '../dashboard/script.js';
import { mailboxStyle } from '../dashboard/style.js';
import { disposition } from '../hooks/disposition.js';
import { loopbackOnly } from '../hooks/loopback-only.js';
import { MAIL_CSP, mailHtml } from '../hooks/mail-html.js';
import { coerceQuery } from '../hooks/validation.js';

const PAGE_CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** A file of a mail must never act on the page's origin, whatever type it claims. */
const FILE_CSP = "default-src 'none'; sandbox";

const tags = ['Mailbox'];
const config = { access: 'public' } as const;
const params = idParams('Id of the message');

const missing = (): DomainError => new DomainError('NOT_FOUND', 'There is no such message in the mailbox.');

const messageOf = async (mailbox: Mailbox, id: string): Promise<MailboxMessage> => {
  const message = await mailbox.get(id);
  if (message === undefined) throw missing();
  return message;
};

const MIME_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/i;

const sendFile = (reply: FastifyReply, type: string, content: Buffer | string, csp: string): FastifyReply =>
  reply.header('content-type', type).header('content-security-policy', csp).send(content);

const listRoutes = (app: App, mailbox: Mailbox): void => {
  app.get(
    '/mailbox/messages',
    {
      config,
      onRequest: loopbackOnly,
      preValidation: coerceQuery(PageOnlyQuerySchema),
      schema: {
        summary: 'List the mails of the mailbox',
        description: 'Newest first. Answers on loopback only.',
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
      return { data, meta: { page, limit, total, totalPages: Math.ceil(total / limit), totalIsLowerBound: false, nextCursor: null } };
    },
  );

  app.delete(
    '/mailbox/messages',
    {
      config,
      onRequest: loopbackOnly,
      schema: { summary: 'Empty the mailbox', operationId: 'clearMailbox', tags, response: { 200: MailboxClearedSchema } },
    },
    async () => ({ deleted: await mailbox.clear() }),
  );
};

const messageRoutes = (app: App, mailbox: Mailbox): void => {
  app.get(
    '/mailbox/messages/:id',
    {
      config: { ...config, unknownId: 'NOT_FOUND' },
      onRequest: loopbackOnly,
      schema: {
        summary: 'Read a mail of the mailbox',
        operationId: 'getMailboxMessage',
        tags,
        params,
        response: { 200: MailboxMessageSchema },
      },
    },
    async (request) => {
      const { to, cc, envelope, headers, attachments, ...rest } = await messageOf(mailbox, request.params.id);
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

const fileRoutes = (app: App, mailbox: Mailbox): void => {
  app.get(
    '/mailbox/messages/:id/raw',
    {
      config: { ...config, unknownId: 'NOT_FOUND', media: 'message/rfc822' },
      onRequest: loopbackOnly,
      schema: { summary: 'The mail as it came, byte for byte', operationId: 'getMailboxSource', tags, params },
    },
    async (request, reply) => {
      const raw = await mailbox.raw(request.params.id);
      if (raw === undefined) throw missing();
      return sendFile(reply, 'message/rfc822', raw, FILE_CSP);
    },
  );

  app.get(
    '/mailbox/messages/:id/attachments/:index',
    {
      config: { ...config, unknownId: 'NOT_FOUND', media: 'application/octet-stream' },
      onRequest: loopbackOnly,
      schema: { summary: 'Download an attachment', operationId: 'getMailboxAttachment', tags, params: MailboxAttachmentParamsSchema },
    },
    async (request, reply) => {
      const { id, index } = request.params;
      const found = /^\d{1,4}$/.test(index) ? await mailbox.attachment(id, Number(index)) : undefined;
      if (found === undefined) throw missing();
      const { contentType, filename } = found.attachment;
      reply.header('content-disposition', disposition('attachment', filename));
      return sendFile(reply, MIME_TYPE.test(contentType) ? contentType : 'application/octet-stream', found.content, FILE_CSP);
    },
  );
};

const pageRoutes = (app: App, mailbox: Mailbox, curl: string): void => {
  const page = mailboxPage(curl);
  const hidden = { hide: true } as const;
  app.get('/mailbox', { config, onRequest: loopbackOnly, schema: hidden }, (_request, reply) =>
    sendFile(reply, 'text/html; charset=utf-8', page, PAGE_CSP),
  );
  app.get('/mailbox/app.css', { config, onRequest: loopbackOnly, schema: hidden }, (_request, reply) =>
    sendFile(reply, 'text/css; charset=utf-8', mailboxStyle, FILE_CSP),
  );
  app.get('/mailbox/app.js', { config, onRequest: loopbackOnly, schema: hidden }, (_request, reply) =>
    sendFile(reply, 'text/javascript; charset=utf-8', mailboxScript, FILE_CSP),
  );
  app.get(
    '/mailbox/messages/:id/html',
    {
      config: { ...config, unknownId: 'NOT_FOUND' },
      onRequest: loopbackOnly,
      schema: { ...hidden, params, querystring: MailboxHtmlQuerySchema },
    },
    async (request, reply) => {
      const message = await messageOf(mailbox, request.params.id);
      return sendFile(reply, 'text/html; charset=utf-8', await mailHtml(mailbox, message, request.query.scheme === 'dark'), MAIL_CSP);
    },
  );
};

/** Registers everything under /mailbox. `curl`: a command line that sends a first mail, shown while the mailbox is empty. */
export const mailboxRoutes = (app: App, mailbox: Mailbox, curl: string): void => {
  listRoutes(app, mailbox);
  messageRoutes(app, mailbox);
  fileRoutes(app, mailbox);
  pageRoutes(app, mailbox, curl);
};
