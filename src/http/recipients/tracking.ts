/** Routes of open and click tracking: the pixel and the links of mails, and the setting of a team. */
import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EmailId } from '../../domain/core/ids.js';
import { trackingExamples } from '../../api/examples.js';
import { TrackingSchema } from '../../api/recipients.js';
import { callerOf, type App, type HttpDeps } from '../server/context.js';
import { personPage, readerLanguage, sendPersonPage, type PageLanguage } from '../server/forms.js';
import { countFailed } from '../server/admission.js';

type ClickTarget = NonNullable<ReturnType<HttpDeps['tracking']['tokens']['openClick']>>;

type Deps = Pick<HttpDeps, 'tracking' | 'limiter' | 'commands'>;

/** A transparent GIF of one pixel as a latin1 string: Node writes a string in one piece with the headers. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64').toString('latin1');

const config = { access: 'public', forReaders: true, links: true } as const;
const hidden = { hide: true } as const;

type Words = Readonly<Record<'leadsNowhere' | 'openAgain', string>>;

const words: Readonly<Record<PageLanguage, Words>> = {
  en: {
    leadsNowhere: 'This link leads nowhere',
    openAgain: 'It was cut off or changed on its way. Open the email again and follow the link from there.',
  },
  de: {
    leadsNowhere: 'Dieser Link führt ins Leere',
    openAgain:
      'Er wurde unterwegs abgeschnitten oder verändert. Öffnen Sie die E-Mail noch einmal und folgen Sie dem Link von dort.',
  },
  fr: {
    leadsNowhere: 'Ce lien ne mène nulle part',
    openAgain: 'Il a été coupé ou modifié en chemin. Rouvrez l’e-mail et suivez le lien qui s’y trouve.',
  },
  es: {
    leadsNowhere: 'Este enlace no lleva a ninguna parte',
    openAgain: 'Se ha cortado o ha cambiado por el camino. Abra de nuevo el correo y siga el enlace desde allí.',
  },
  pt: {
    leadsNowhere: 'Esta ligação não leva a lado nenhum',
    openAgain: 'Foi cortada ou alterada no caminho. Abra de novo o e-mail e siga a ligação a partir daí.',
  },
  ar: {
    leadsNowhere: 'هذا الرابط لا يؤدي إلى أي مكان',
    openAgain: 'قُطع جزء منه أو تغيّر في الطريق. افتح الرسالة مرة أخرى واتبع الرابط منها.',
  },
};

/** The reader does not know this service, so the page does not name it. */
const fill = personPage<Readonly<{ text: string }>>('<h1><%= it.title %></h1>\n<p><%= it.text %></p>\n', '');

/** False for HEAD, and for what a browser or a mail program fetches before its user asks for it. */
const isSeen = ({ method, headers }: FastifyRequest): boolean =>
  method !== 'HEAD' &&
  !isAhead(headers['sec-purpose']) &&
  !isAhead(headers['purpose']) &&
  !isAhead(headers['x-purpose']) &&
  !isAhead(headers['x-moz']);

const isAhead = (header: string | readonly string[] | undefined): boolean =>
  header !== undefined && /prefetch|preview|prerender/i.test(String(header));

const visitorOf = ({ headers, ip, id }: FastifyRequest) => ({
  userAgent: headers['user-agent'],
  ipAddress: ip,
  requestId: id,
});

/** Registers /t/o/:token (the pixel), /t/c/:token (the links) and /api/tracking. */
export const trackingRoutes = (app: App, deps: Deps): void => {
  readerRoutes(app, deps);
  settingRoutes(app, deps);
};

const readerRoutes = (app: App, deps: Deps): void => {
  const { tokens, note } = deps.tracking;
  /** At the link domain of a team only its own emails count; elsewhere those of every team. */
  const isOfHost = async ({ linkTeam }: FastifyRequest, emailId: EmailId): Promise<boolean> =>
    linkTeam === undefined || (await deps.commands.teamOfEmail(emailId)) === linkTeam;

  app.get<{ Params: { token: string } }>('/t/o/:token', { config, schema: hidden }, (request, reply) => {
    const target = tokens.openOpen(request.params.token);
    const seen = (): void => {
      if (target !== undefined && isSeen(request)) note({ ...target, ...visitorOf(request) });
    };
    // Every token gets the same answer, so that guessing tells nothing.
    answer(reply, 200, { 'content-type': 'image/gif' }, PIXEL);
    if (target === undefined || request.linkTeam === undefined) return seen();
    // The picture needs no store; a store that is away costs the open alone.
    void isOfHost(request, target.emailId).then(
      (is) => (is ? seen() : undefined),
      () => undefined,
    );
  });

  const lead = (request: FastifyRequest, reply: FastifyReply, target: ClickTarget): void => {
    if (isSeen(request)) note({ ...target, ...visitorOf(request) });
    answer(reply, 302, { location: target.url }, '');
  };
  app.get<{ Params: { token: string } }>('/t/c/:token', { config, schema: hidden }, (request, reply) => {
    const target = tokens.openClick(request.params.token);
    if (target === undefined) return leadNowhere(deps, request, reply);
    if (request.linkTeam === undefined) return lead(request, reply, target);
    return isOfHost(request, target.emailId).then(async (is) => {
      if (is) lead(request, reply, target);
      else await leadNowhere(deps, request, reply);
      return reply;
    });
  });
};

/** Writes the answer to the connection directly: Fastify's own handling of answers would double the time. */
const answer = (
  reply: FastifyReply,
  status: number,
  headers: Readonly<Record<string, string>>,
  latin1: string,
): void => {
  const all = { ...reply.getHeaders(), ...headers, 'content-length': latin1.length } as OutgoingHttpHeaders;
  reply.hijack();
  reply.raw.writeHead(status, all);
  reply.raw.end(reply.request.method === 'HEAD' ? '' : latin1, 'latin1');
};

const leadNowhere = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  await countFailed(deps, request, reply);
  const language = readerLanguage(request);
  const { leadsNowhere: title, openAgain: text } = words[language];
  const brand = request.linkTeam === undefined ? undefined : await deps.commands.brandOfPages(request.linkTeam);
  return sendPersonPage(reply, 404, fill({ title, text, language, brand }), { brand });
};

const settingRoutes = (app: App, { commands }: Deps): void => {
  const tags = ['Tracking'];
  const access = 'tracking:manage';
  app.get(
    '/api/tracking',
    {
      config: { access, command: 'getTracking' },
      schema: {
        summary: 'Tracking of opens and clicks',
        description: 'Default for mails if neither the call nor the template sets it.',
        operationId: 'getTracking',
        tags,
        response: { 200: TrackingSchema },
      },
    },
    (request) => commands.getTracking(callerOf(request)),
  );

  app.put(
    '/api/tracking',
    {
      config: { access, command: 'setTracking', examples: trackingExamples },
      schema: {
        summary: 'Say what is recorded of readers',
        description:
          'It holds for mails that are accepted from now on; those that were accepted before stay as they are.',
        operationId: 'setTracking',
        tags,
        body: TrackingSchema,
        response: { 200: TrackingSchema },
      },
    },
    (request) => commands.setTracking(callerOf(request), request.body),
  );
};
