/** The page behind unsubscribe links, and the forms of its buttons (RFC 8058). GET changes nothing. */
import type { FastifyReply } from 'fastify';
import { type Subscription, UNSUBSCRIBE_PATH } from '../../commands/recipients/unsubscribe.js';
import type { App, HttpDeps } from '../server/context.js';
import { personPage, sendPersonPage } from '../server/forms.js';

type Button = Readonly<{ name: string; value: string; text: string; isMain: boolean }>;
type Page = Readonly<{ title: string; text: string; list: string; company: string; button: Button | undefined }>;

/** The page names the list and its sender, not this service, which the reader does not know. */
const fill = personPage<Page>(
  `<h1><%= it.title %></h1>
<p><%= it.text %><% if (it.list !== '') { %> <strong><%= it.list %></strong><% if (it.company !== '') { %> from <strong><%= it.company %></strong><% } %>.<% } %></p>
<% if (it.button !== undefined) { %>\
<form method="post">
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

const button = ([name, value]: readonly [string, string], text: string, isMain: boolean): Button => ({ name, value, text, isMain });
const unsubscribeButton = button(ONE_CLICK, 'Unsubscribe', true);
const againButton = button(AGAIN, 'Subscribe again', false);

const pageOf = ({ list, company, isSubscribed }: Subscription): Page =>
  isSubscribed
    ? { title: 'Unsubscribe?', text: 'You will get no more mails of the list', list, company, button: unsubscribeButton }
    : unsubscribed({ list, company });

const unsubscribed = ({ list, company }: Pick<Subscription, 'list' | 'company'>): Page => ({
  title: 'You are unsubscribed',
  text: 'You get no more mails of the list',
  list,
  company,
  button: againButton,
});

const subscribedAgain = ({ list, company }: Subscription): Page => ({
  title: 'You are subscribed',
  text: 'You get the mails of the list',
  list,
  company,
  button: button(ONE_CLICK, 'Unsubscribe', false),
});

const nothing = { list: '', company: '', button: undefined };

const send = (reply: FastifyReply, status: number, page: Page): FastifyReply => sendPersonPage(reply, status, fill(page));

const unknown: Page = { title: 'This link is not valid', text: 'It may have been cut short; open it from the mail once more.', ...nothing };

/** Answers with the page of the result, or 404 for an invalid token. */
const answer = async (
  reply: FastifyReply,
  result: Promise<Subscription | undefined>,
  page: (found: Subscription) => Page,
): Promise<FastifyReply> => {
  const found = await result;
  return found === undefined ? send(reply, 404, unknown) : send(reply, 200, page(found));
};

const FORM_BYTES_MAX = 4_096;

/** Whether a form, urlencoded or multipart, has that field with that value. */
const has = (body: unknown, [name, value]: readonly [string, string]): boolean => {
  if (typeof body !== 'string') return false;
  if (new URLSearchParams(body).get(name) === value) return true;
  const part = new RegExp(`name="?${name}"?[^\\r\\n]*\\r\\n(?:[^\\r\\n]+\\r\\n)*\\r\\n${value}\\r\\n--`, 'i');
  return part.test(body);
};

/** Registers /u/:token: no cookie, no redirect, no key. */
export const unsubscribeRoutes = (app: App, { commands }: Pick<HttpDeps, 'commands'>): void => {
  const path = `${UNSUBSCRIBE_PATH}:token`;
  const config = { access: 'public' } as const;
  const schema = { hide: true };
  const tokenOf = (params: unknown): string => (params as Readonly<{ token: string }>).token;
  // In its own scope: the parser for forms is for these routes only.
  app.register(async (scope: App) => {
    const types = ['application/x-www-form-urlencoded', 'multipart/form-data'];
    scope.addContentTypeParser(types, { parseAs: 'string', bodyLimit: FORM_BYTES_MAX }, (_request, body, done) => done(null, body));

    scope.get(path, { config, schema }, ({ params }, reply) => answer(reply, commands.readSubscription(tokenOf(params)), pageOf));

    scope.post(path, { config, schema }, ({ params, body, id }, reply) => {
      if (has(body, AGAIN)) return answer(reply, commands.subscribeAgain(tokenOf(params), id), subscribedAgain);
      if (has(body, ONE_CLICK)) return answer(reply, commands.unsubscribe(tokenOf(params), id), unsubscribed);
      return send(reply, 400, {
        title: 'Nothing was changed',
        text: 'The form must have the field List-Unsubscribe with the value One-Click (RFC 8058).',
        ...nothing,
      });
    });
  });
};
