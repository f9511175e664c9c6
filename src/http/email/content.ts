/** The routes that show the mail of an accepted email again: its content, its source and its attachments. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { idParams } from '../../api/core/common.js';
import {
  CopyQuerySchema,
  SentAttachmentParamsSchema,
  SentContentSchema,
  SentPageQuerySchema,
  type SentContent,
} from '../../api/email-content.js';
import type { Caller } from '../../commands/core/caller.js';
import type { MailToRead, ReadFile } from '../../commands/email/content.js';
import { DomainError } from '../../domain/core/errors.js';
import { mediaTypeText, parseMediaType, safeFilename } from '../../domain/mime/attachment.js';
import { openFairSlots } from '../../shared/concurrency.js';
import { type App, callerOf, type HttpDeps } from '../server/context.js';
import { contentPolicy, disposition } from '../server/headers.js';
import { untilClosed } from '../server/hooks.js';
import { framed, inlineImages, withImages } from '../server/mail-html.js';
import { quietHtml, quietPolicy } from '../server/quiet-html.js';
import { coerceQuery } from '../server/validation.js';
import { emailIdOf } from './ids.js';

/** A file of a mail must never act on the service's origin, whatever type it claims. */
const FILE_CSP = contentPolicy({}, { sandbox: '' });

/** Files and sources that are read at once. Each may take some 100 MB while it is composed. */
const SLOTS = { slotsMax: 3, shareMax: 2, queueMax: 60 };
const RETRY_AFTER_SECONDS = 5;

const tags = ['Emails'];
const params = idParams('Email log id');
const access = 'emails:content';
const unknownId = 'EMAIL_NOT_FOUND';
const audited = { action: 'email.content_read', target: 'email', isOnce: true } as const;

type Slotted = <Made>(request: FastifyRequest, reply: FastifyReply, make: () => Promise<Made>) => Promise<Made>;

/** Pictures that one page shows; each is read anew from the mail. */
const PICTURES_MAX = 20;

/** Registers GET /api/emails/:id/content, /page, /source and /attachments/:index. */
export const emailContentRoutes = (app: App, { commands }: Pick<HttpDeps, 'commands'>): void => {
  const slotted = openMailSlots();
  app.get(
    '/api/emails/:id/content',
    {
      config: { access, audited, command: 'emailContent', unknownId },
      preValidation: coerceQuery(CopyQuerySchema),
      schema: {
        summary: 'Read the mail of an email',
        description:
          'Subject, headers, HTML and text as a recipient got them, without tracking. Archived or erased, the answer is 410 CONTENT_GONE.',
        operationId: 'getEmailContent',
        tags,
        params,
        querystring: CopyQuerySchema,
        response: { 200: SentContentSchema },
      },
    },
    (request) => commands.emailContent(callerOf(request), mailOf(request)),
  );

  pageRoute(app, commands, slotted);

  app.get(
    '/api/emails/:id/source',
    {
      config: {
        ...{ access, audited, command: 'emailSource', unknownId },
        codes: ['GENERATOR_BUSY'],
        media: 'message/rfc822',
      },
      preValidation: coerceQuery(CopyQuerySchema),
      schema: {
        summary: 'Download the source of an email',
        description:
          'The whole message (RFC 5322) with the Message-ID and Date that it left with, without tracking and without DKIM signatures.',
        operationId: 'getEmailSource',
        tags,
        params,
        querystring: CopyQuerySchema,
      },
    },
    async (request, reply) => {
      const mail = mailOf(request);
      const raw = await slotted(request, reply, () => commands.emailSource(callerOf(request), mail));
      return sendFile(reply, 'message/rfc822', `${mail.id}.eml`).send(raw);
    },
  );

  app.get(
    '/api/emails/:id/attachments/:index',
    {
      config: {
        ...{ access, audited, command: 'emailAttachment', unknownId },
        codes: ['GENERATOR_BUSY'],
        media: '*/*',
      },
      preValidation: coerceQuery(CopyQuerySchema),
      schema: {
        summary: 'Download an attachment of an email',
        description: 'Also the pictures inside the mail. Generated documents are kept for seven days.',
        operationId: 'getEmailAttachment',
        tags,
        params: SentAttachmentParamsSchema,
        querystring: CopyQuerySchema,
      },
    },
    async (request, reply) => {
      const { index } = request.params;
      const file = await slotted(request, reply, () =>
        commands.emailAttachment(callerOf(request), mailOf(request), placeOf(index)),
      );
      return sendAttachment(reply, file, index);
    },
  );
};

const pageRoute = (app: App, commands: HttpDeps['commands'], slotted: Slotted): void => {
  app.get(
    '/api/emails/:id/page',
    {
      config: {
        ...{ access, audited, command: 'emailContent', unknownId },
        codes: ['GENERATOR_BUSY'],
        media: 'text/html',
      },
      preValidation: coerceQuery(SentPageQuerySchema),
      schema: {
        summary: 'Show the mail of an email',
        description:
          'The HTML of the mail as a page for a sandboxed frame. Nothing of it acts: no script, no form, no picture of another host unless `pictures` is true. A link leads to a page of the dashboard, which asks before it opens the address.',
        operationId: 'showEmail',
        tags,
        params,
        querystring: SentPageQuerySchema,
      },
    },
    async (request, reply) => {
      const { scheme, pictures = false } = request.query;
      const caller = callerOf(request);
      const mail = mailOf(request);
      const html = await slotted(request, reply, async () => {
        const content = await commands.emailContent(caller, mail);
        return mailPage(app, content, pictures, (index) => pictureOf(commands, caller, mail, index));
      });
      return sendMailPage(reply, html, { pictures, isDark: scheme === 'dark' });
    },
  );
};

/** The HTML of a mail in which nothing acts. `pictureAt`: the bytes of an attachment, undefined where it is not kept. */
export const mailPage = async (
  app: App,
  { attachments, html }: Pick<SentContent, 'attachments' | 'html'>,
  pictures: boolean,
  pictureAt: (index: number | undefined) => Promise<Buffer | undefined>,
): Promise<string> => {
  const shown = attachments.filter(({ contentId }) => contentId !== null).slice(0, PICTURES_MAX);
  const images = await inlineImages(shown, (place) => pictureAt(shown[place]?.index));
  return quietHtml(withImages(html, images), {
    pictures,
    linkOf: (address) => `${app.ownPath('/app/leave')}#${encodeURIComponent(address)}`,
  });
};

/** In: the HTML that `mailPage` made, and how it is shown. */
export const sendMailPage = (
  reply: FastifyReply,
  html: string,
  { pictures, isDark }: Readonly<{ pictures: boolean; isDark: boolean }>,
): FastifyReply =>
  reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', quietPolicy(pictures))
    .header('x-dns-prefetch-control', 'off')
    .send(framed(html, isDark));

/** A picture that is not kept leaves its place empty. */
const pictureOf = async (
  commands: HttpDeps['commands'],
  caller: Caller,
  mail: MailToRead,
  index: number | undefined,
): Promise<Buffer | undefined> => {
  try {
    return (await commands.emailAttachment(caller, mail, index)).bytes;
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'CONTENT_GONE') return undefined;
    throw fault;
  }
};

type MailRequest = Readonly<{ params: Readonly<{ id: string }>; query: Readonly<{ recipient?: number }> }>;

const mailOf = ({ params: { id }, query: { recipient } }: MailRequest): MailToRead => ({
  id: emailIdOf(id),
  ...(recipient === undefined ? {} : { recipient }),
});

/** Makes what `make` makes while the team holds one of few slots. Rejects with GENERATOR_BUSY if too many wait. */
export const openMailSlots = (): Slotted => {
  const slots = openFairSlots(SLOTS);
  return async (request, reply, make) => {
    const { teamId } = callerOf(request);
    if ((await slots.acquire(teamId, untilClosed(reply))) !== 'acquired')
      throw new DomainError('GENERATOR_BUSY', 'Too many mails are being read at the moment; try again.', {
        retryAfterS: RETRY_AFTER_SECONDS,
      });
    try {
      return await make();
    } finally {
      slots.release(teamId);
    }
  };
};

/** In: the last part of the path. Out: the place of an attachment; undefined: none has it. */
export const placeOf = (index: string): number | undefined => (/^\d{1,4}$/.test(index) ? Number(index) : undefined);

/** Sends an attachment under its name and type, or under a harmless one. */
export const sendAttachment = (
  reply: FastifyReply,
  { filename, contentType, bytes }: ReadFile,
  index: string,
): FastifyReply => {
  const mediaType = parseMediaType(contentType.trim());
  const type = mediaType === undefined ? 'application/octet-stream' : mediaTypeText(mediaType);
  return sendFile(reply, type, safeFilename(filename) || `attachment-${index}`).send(bytes);
};

/** In: the media type and the name of a file of a mail. Out: the reply, ready for its bytes. */
const sendFile = (reply: FastifyReply, type: string, filename: string): FastifyReply =>
  reply
    .header('content-type', type)
    .header('content-security-policy', FILE_CSP)
    .header('content-disposition', disposition('attachment', filename));
