/** Where the links of mails lead by which recipients unsubscribe (RFC 8058): a page that changes nothing, and the calls of its buttons. */
import type { FastifyReply } from 'fastify';
import type { Subscribed } from '../../commands/recipients/unsubscribe.js';
import { UNSUBSCRIBE_PATH } from '../../commands/recipients/links.js';
import type { App, HttpDeps } from '../server/context.js';
import { personPage, sendPersonPage } from '../server/forms.js';

type Button = Readonly<{ name: string; value: string; text: string; isMain: boolean }>;
type Page = Readonly<{ title: string; text: string; list: string; company: string; button: Button | undefined }>;

/** Whoever reads it knows the list and its sender, not the service. */
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

/** RFC 8058, section 3.1. */
const ONE_CLICK = ['List-Unsubscribe', 'One-Click'] as const;
const AGAIN = ['Subscribe', 'Again'] as const;

const button = ([name, value]: readonly [string, string], text: string, isMain: boolean): Button => ({ name, value, text, isMain });
const unsubscribeButton = button(ONE_CLICK, 'Unsubscribe', true);
const againButton = button(AGAIN, 'Subscribe again', false);

const asked = ({ list, company, isSubscribed }: Subscribed): Page =>
  isSubscribed
    ? { title: 'Unsubscribe?', text: 'You will get no more mails of the list', list, company, button: unsubscribeButton }
    : unsubscribed({ list, company });

const unsubscribed = ({ list, company }: Pick<Subscribed, 'list' | 'company'>): Page => ({
  title: 'You are unsubscribed',
  text: 'You get no more mails of the list',
  list,
  company,
  button: againButton,
});

const subscribedAgain = ({ list, company }: Subscribed): Page => ({
  title: 'You are subscribed',
  text: 'You get the mails of the list',
  list,
  company,
  button: button(ONE_CLICK, 'Unsubscribe', false),
});

const nothing = { list: '', company: '', button: undefined };

const send = (reply: FastifyReply, status: number, page: Page): FastifyReply => sendPersonPage(reply, status, fill(page));

const unknown: Page = { title: 'This link is not valid', text: 'It may have been cut short; open it from the mail once more.', ...nothing };

/** What came of it as a page. A link that was not made here tells nothing. */
const answer = async (
  reply: FastifyReply,
  result: Promise<Subscribed | undefined>,
  page: (found: Subscribed) => Page,
): Promise<FastifyReply> => {
  const found = await result;
  return found === undefined ? send(reply, 404, unknown) : send(reply, 200, page(found));
};

const FORM_BYTES_MAX = 4_096;

/** Whether a form of either type has that field with that value. */
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
  // In a scope of its own: of these calls no other takes forms.
  app.register(async (scope: App) => {
    const types = ['application/x-www-form-urlencoded', 'multipart/form-data'];
    scope.addContentTypeParser(types, { parseAs: 'string', bodyLimit: FORM_BYTES_MAX }, (_request, body, done) => done(null, body));

    scope.get(path, { config, schema }, ({ params }, reply) => answer(reply, commands.readSubscription(tokenOf(params)), asked));

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
