/** The page behind unsubscribe links, and the forms of its buttons (RFC 8058). GET changes nothing. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Subscription, UNSUBSCRIBE_PATH } from '../../commands/recipients/unsubscribe.js';
import type { PageBrand } from '../../domain/teams/brand.js';
import type { App, HttpDeps } from '../server/context.js';
import {
  inScheme,
  knownLanguage,
  personPage,
  readerLanguage,
  sendPersonPage,
  sentenceOf,
  type PageLanguage,
} from '../server/forms.js';

type Button = Readonly<{ name: string; value: string; text: string; isMain: boolean }>;

/** `{list}` stands for the name of the list, with that of its sender (`listFrom`) where the mail named one. */
type Words = Readonly<
  Record<
    | 'listFrom'
    | 'isAsked'
    | 'willEnd'
    | 'hasEnded'
    | 'nothingComes'
    | 'isBack'
    | 'mailsCome'
    | 'unsubscribe'
    | 'again'
    | 'isInvalid'
    | 'openAgain'
    | 'isUnchanged'
    | 'formLacks',
    string
  >
>;

const words: Readonly<Record<PageLanguage, Words>> = {
  en: {
    listFrom: '{list} from {company}',
    isAsked: 'Unsubscribe?',
    willEnd: 'You will get no more mails of the list {list}.',
    hasEnded: 'You are unsubscribed',
    nothingComes: 'You get no more mails of the list {list}.',
    isBack: 'You are subscribed',
    mailsCome: 'You get the mails of the list {list}.',
    unsubscribe: 'Unsubscribe',
    again: 'Subscribe again',
    isInvalid: 'This link is not valid',
    openAgain: 'It may have been cut short; open it from the mail once more.',
    isUnchanged: 'Nothing was changed',
    formLacks: 'The form must have the field List-Unsubscribe with the value One-Click (RFC 8058).',
  },
  de: {
    listFrom: '{list} von {company}',
    isAsked: 'Abmelden?',
    willEnd: 'Sie erhalten dann keine E-Mails der Liste {list} mehr.',
    hasEnded: 'Sie sind abgemeldet',
    nothingComes: 'Sie erhalten keine E-Mails der Liste {list} mehr.',
    isBack: 'Sie sind angemeldet',
    mailsCome: 'Sie erhalten die E-Mails der Liste {list}.',
    unsubscribe: 'Abmelden',
    again: 'Wieder anmelden',
    isInvalid: 'Dieser Link ist nicht gültig',
    openAgain: 'Vielleicht wurde er abgeschnitten; öffnen Sie ihn noch einmal aus der E-Mail.',
    isUnchanged: 'Es wurde nichts geändert',
    formLacks: 'Das Formular braucht das Feld List-Unsubscribe mit dem Wert One-Click (RFC 8058).',
  },
  fr: {
    listFrom: '{list} de {company}',
    isAsked: 'Se désabonner ?',
    willEnd: 'Vous ne recevrez plus les e-mails de la liste {list}.',
    hasEnded: 'Vous êtes désabonné(e)',
    nothingComes: 'Vous ne recevez plus les e-mails de la liste {list}.',
    isBack: 'Vous êtes abonné(e)',
    mailsCome: 'Vous recevez les e-mails de la liste {list}.',
    unsubscribe: 'Se désabonner',
    again: 'S’abonner de nouveau',
    isInvalid: 'Ce lien n’est pas valide',
    openAgain: 'Il a peut-être été coupé ; ouvrez-le de nouveau depuis l’e-mail.',
    isUnchanged: 'Rien n’a été modifié',
    formLacks: 'Le formulaire doit avoir le champ List-Unsubscribe avec la valeur One-Click (RFC 8058).',
  },
  es: {
    listFrom: '{list} de {company}',
    isAsked: '¿Darse de baja?',
    willEnd: 'Dejará de recibir los correos de la lista {list}.',
    hasEnded: 'Se ha dado de baja',
    nothingComes: 'Ya no recibe los correos de la lista {list}.',
    isBack: 'Su suscripción está activa',
    mailsCome: 'Recibe los correos de la lista {list}.',
    unsubscribe: 'Darse de baja',
    again: 'Suscribirse de nuevo',
    isInvalid: 'Este enlace no es válido',
    openAgain: 'Puede que se haya cortado; ábralo de nuevo desde el correo.',
    isUnchanged: 'No ha cambiado nada',
    formLacks: 'El formulario debe tener el campo List-Unsubscribe con el valor One-Click (RFC 8058).',
  },
  pt: {
    listFrom: '{list} de {company}',
    isAsked: 'Cancelar a subscrição?',
    willEnd: 'Deixará de receber os e-mails da lista {list}.',
    hasEnded: 'A subscrição foi cancelada',
    nothingComes: 'Já não recebe os e-mails da lista {list}.',
    isBack: 'A subscrição está ativa',
    mailsCome: 'Recebe os e-mails da lista {list}.',
    unsubscribe: 'Cancelar a subscrição',
    again: 'Subscrever de novo',
    isInvalid: 'Esta ligação não é válida',
    openAgain: 'Pode ter sido cortada; abra-a de novo a partir do e-mail.',
    isUnchanged: 'Nada foi alterado',
    formLacks: 'O formulário tem de ter o campo List-Unsubscribe com o valor One-Click (RFC 8058).',
  },
  ar: {
    listFrom: '{list} من {company}',
    isAsked: 'هل تريد إلغاء الاشتراك؟',
    willEnd: 'لن تصلك بعد ذلك رسائل القائمة {list}.',
    hasEnded: 'أُلغي اشتراكك',
    nothingComes: 'لم تعد تصلك رسائل القائمة {list}.',
    isBack: 'أنت مشترك',
    mailsCome: 'تصلك رسائل القائمة {list}.',
    unsubscribe: 'إلغاء الاشتراك',
    again: 'الاشتراك من جديد',
    isInvalid: 'هذا الرابط غير صالح',
    openAgain: 'ربما قُطع جزء منه؛ افتحه من الرسالة مرة أخرى.',
    isUnchanged: 'لم يتغير شيء',
    formLacks: 'يجب أن يحتوي النموذج على الحقل List-Unsubscribe بالقيمة One-Click ‏(RFC 8058).',
  },
};

type Page = Readonly<{ title: keyof Words; text: keyof Words; button?: (words: Words) => Button }>;

/** The page names the list and its sender, not this service, which the reader does not know. */
const fill = personPage<Readonly<{ language: PageLanguage; html: string; button: Button | undefined }>>(
  `<h1><%= it.title %></h1>
<p><%~ it.html %></p>
<% if (it.button !== undefined) { %>\
<form method="post">
<input type="hidden" name="language" value="<%= it.language %>">
<input type="hidden" name="<%= it.button.name %>" value="<%= it.button.value %>">
<div class="buttons"><button type="submit"<% if (it.button.isMain) { %> class="main"<% } %>><%= it.button.text %></button></div>
</form>
<% } %>\
`,
  '',
);

/** The form field of RFC 8058, section 3.1. */
const ONE_CLICK = ['List-Unsubscribe', 'One-Click'] as const;
const AGAIN = ['Subscribe', 'Again'] as const;

const button = ([name, value]: readonly [string, string], text: string, isMain: boolean): Button => ({
  name,
  value,
  text,
  isMain,
});

const asking: Page = {
  title: 'isAsked',
  text: 'willEnd',
  button: ({ unsubscribe }) => button(ONE_CLICK, unsubscribe, true),
};
const unsubscribed: Page = {
  title: 'hasEnded',
  text: 'nothingComes',
  button: ({ again }) => button(AGAIN, again, false),
};
const subscribedAgain: Page = {
  title: 'isBack',
  text: 'mailsCome',
  button: ({ unsubscribe }) => button(ONE_CLICK, unsubscribe, false),
};
const unknown: Page = { title: 'isInvalid', text: 'openAgain' };
const unchanged: Page = { title: 'isUnchanged', text: 'formLacks' };

type Shown = Pick<Subscription, 'list' | 'company'> & Readonly<{ brand?: PageBrand | undefined }>;

const filled = (
  { title, text, button: buttonOf }: Page,
  language: PageLanguage,
  { list, company, brand }: Shown = { list: '', company: '' },
): string => {
  const said = words[language];
  const html = sentenceOf(company === '' ? said[text] : said[text].replace('{list}', said.listFrom), { list, company });
  return fill({ title: said[title], language, html, brand, button: buttonOf?.(said) });
};

const send = (reply: FastifyReply, status: number, page: Page, language: PageLanguage, shown?: Shown): FastifyReply =>
  sendPersonPage(reply, status, filled(page, language, shown), { brand: shown?.brand });

/** Shows in a frame how the page would look, in the language of the reader or in `known`. */
export const sendUnsubscribeExample = (
  request: FastifyRequest,
  reply: FastifyReply,
  {
    brand,
    known,
    scheme,
  }: Readonly<{ brand: PageBrand | undefined; known: string | undefined; scheme: 'light' | 'dark' | undefined }>,
): FastifyReply => {
  const language = knownLanguage(known) ?? readerLanguage(request);
  const html = filled(asking, language, { list: 'news', company: brand?.name ?? '', brand });
  return sendPersonPage(reply, 200, inScheme(html, scheme), { brand, isFramed: true });
};

type Deps = Pick<HttpDeps, 'commands'>;

/** Answers with the page of the result, or 404 for an invalid token. */
const answer = async (
  { commands }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  result: Promise<Subscription | undefined>,
  page: (found: Subscription) => Page,
): Promise<FastifyReply> => {
  const found = await result;
  // The form tells in which language its page was.
  const known = /(?:^|&)language=([a-z]{2})(?:&|$)/.exec(String(request.body))?.[1] ?? found?.locale;
  const language = readerLanguage(request, known);
  const teamId = found?.teamId ?? request.linkTeam;
  const brand = teamId === undefined ? undefined : await commands.brandOfPages(teamId);
  if (found === undefined) return send(reply, 404, unknown, language, { list: '', company: '', brand });
  return send(reply, 200, page(found), language, { ...found, brand });
};

const FORM_BYTES_MAX = 4_096;

/**
 * Whether a form, urlencoded or multipart, has that field with that value; line ends may follow it, and be LF alone.
 */
const has = (body: string, [name, value]: readonly [string, string]): boolean => {
  if (new URLSearchParams(body.trim()).get(name)?.trim() === value) return true;
  const part = new RegExp(`name="?${name}"?[^\\r\\n]*\\r?\\n(?:[^\\r\\n]+\\r?\\n)*\\r?\\n${value}\\r?\\n--`, 'i');
  return part.test(body);
};

/**
 * RFC 8058 asks for a form with the field; some mail programs post nothing. An empty post to the link is taken as a
 * request to unsubscribe.
 */
const asksToEnd = (body: string): boolean => body.trim() === '' || has(body, ONE_CLICK);

/** Registers /u/:token: no cookie, no redirect, no key. */
export const unsubscribeRoutes = (app: App, deps: Deps): void => {
  const { commands } = deps;
  const path = `${UNSUBSCRIBE_PATH}:token`;
  const config = { access: 'public', links: true } as const;
  const schema = { hide: true };
  const tokenOf = (params: unknown): string => (params as Readonly<{ token: string }>).token;
  // In its own scope: the parser for forms is for these routes only.
  app.register(async (scope: App) => {
    // Ignore the declared type of the body: some mail programs send none, or plain text.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: FORM_BYTES_MAX }, (_request, body, done) =>
      done(null, body),
    );

    const show = (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
      answer(
        deps,
        request,
        reply,
        commands.readSubscription(tokenOf(request.params), request.linkTeam),
        ({ isSubscribed }) => (isSubscribed ? asking : unsubscribed),
      );
    const act = (request: FastifyRequest, reply: FastifyReply): FastifyReply | Promise<FastifyReply> => {
      const { params, id, linkTeam } = request;
      const body = typeof request.body === 'string' ? request.body : '';
      if (has(body, AGAIN))
        return answer(
          deps,
          request,
          reply,
          commands.subscribeAgain(tokenOf(params), id, linkTeam),
          () => subscribedAgain,
        );
      if (asksToEnd(body))
        return answer(deps, request, reply, commands.unsubscribe(tokenOf(params), id, linkTeam), () => unsubscribed);
      return send(reply, 400, unchanged, readerLanguage(request));
    };
    for (const one of [path, `${path}/`]) {
      scope.get(one, { config, schema }, show);
      scope.post(one, { config, schema }, act);
    }
  });
};
