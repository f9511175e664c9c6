/**
 * The pages that the links in mails about accounts open. Opening one changes nothing, because programs open links too;
 * sending its form does. The form carries the token of the link, so that no cookie is needed.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fieldsOf, personPage, readerLanguage, readForms, sendPersonPage, type PageLanguage } from '../server/forms.js';
import { DomainError, type ErrorCode } from '../../domain/core/errors.js';
import { defaultLimits } from '../../domain/core/limits.js';
import type { UserAuthenticated } from '../../commands/core/caller.js';
import type { OpenedInvitation } from '../../commands/teams/invitations.js';
import { nameFault } from '../../shared/text.js';
import { callerWith } from '../server/admission.js';
import { countLogin, countLinkAttempt } from '../server/rates.js';
import { OWN_WRITES_WAIT_MS, type App, type HttpDeps } from '../server/context.js';
import { calledFrom } from '../server/headers.js';
import { statusOf } from '../server/errors.js';
import type { PageBrand } from '../../domain/teams/brand.js';
import type { TeamId } from '../../domain/core/ids.js';
import { askForLink } from './links.js';
import { filledIn, isTold, words, type AccountWords } from './texts.js';

type AccountDeps = Pick<HttpDeps, 'commands' | 'queries' | 'limiter' | 'logger'>;

/** `type` and `autocomplete`: as of HTML's input. A field with a value that cannot be edited is `readonly`. */
type Field = Readonly<{
  label: string;
  name: string;
  type: 'text' | 'email' | 'password';
  autocomplete: string;
  value?: string;
  isReadonly?: boolean;
  isOptional?: boolean;
  minLength?: number;
  maxLength?: number;
}>;

type Form = Readonly<{
  /** Above it, where a page has several. */
  heading?: string;
  action: string;
  hidden: Readonly<Record<string, string>>;
  fields: readonly Field[];
  button: string;
}>;

export type AccountPage = Readonly<{
  title: string;
  texts?: readonly string[];
  /** Fault of the form that was sent. */
  fault?: string;
  forms?: readonly Form[];
  /** Ways on, below the texts: paths of the service or whole addresses. */
  links?: readonly Readonly<{ href: string; label: string }>[];
  /** Below all. */
  note?: string;
  /** Whether the page shows the way to the one where other links are asked for. */
  leadsOn?: boolean;
  /** The team whose brand it has; default: the first team, which sends the mails about accounts. */
  teamId?: TeamId;
}>;

/** The language of the reader and its texts. */
export type Reader = Readonly<{ language: PageLanguage; said: AccountWords }>;

export const readerOf = (request: Pick<FastifyRequest, 'headers'>): Reader => {
  const language = readerLanguage(request);
  return { language, said: words[language] };
};

type Fields = Readonly<Record<string, string>>;

/** Sent form of a page. */
type Sent = Readonly<{ token: string; fields: Fields; request: FastifyRequest; reader: Reader }>;

/** One page: what it shows to who opens the link, and what its form does. */
type LinkPage = Readonly<{
  path: string;
  /** Use of the link, which is checked before the form is shown. Absent: `asks` checks it. */
  use?: 'verify' | 'reset' | 'address';
  /** `sent` and `fault`: of a form that was sent, and is shown again. */
  asks: (
    token: string,
    reader: Reader,
    again?: Readonly<{ fields: Fields; fault: DomainError }>,
  ) => AccountPage | Promise<AccountPage>;
  does: (sent: Sent) => Promise<AccountPage>;
}>;

const { passwordCharsMin, passwordCharsMax, userNameCharsMax } = defaultLimits;

/** Two passwords and a name whose every character is written as %XX of four bytes. */
const ACCOUNT_FORM_BYTES_MAX = 32_768;

const TOKEN_CHARS_MAX = 256;

const INVITATION_PATH = '/account/invitation';

const config = { access: 'public' } as const;

const schema = { hide: true };

/** After these faults the form is shown again. */
const correctable: ReadonlySet<ErrorCode> = new Set([
  'VALIDATION_ERROR',
  'INVALID_CREDENTIALS',
  'CODE_REQUIRED',
  'INVALID_CODE',
  'ADDRESS_TAKEN',
  'ADDRESS_NOT_VERIFIED',
  'LOGIN_PAUSED',
  'RATE_LIMIT_EXCEEDED',
]);

/** Registers /account and what is under it. */
export const accountPages = (app: App, deps: AccountDeps): void => {
  // In a scope of its own, for only these routes accept forms.
  app.register(async (scope: App) => {
    readForms(scope, ACCOUNT_FORM_BYTES_MAX);
    scope.get('/account', { config, schema }, async (request, reply) => {
      const reader = readerOf(request);
      return sendAccountPage(deps, reply, 200, { ...accountPage(reader), links: await waysIn(deps, reader) });
    });
    scope.post('/account', { config, schema }, (request, reply) => answerAsked(deps, request, reply));
    for (const page of [verifyPage(deps), resetPage(deps), addressPage(deps), invitationPage(deps)])
      linkPage(scope, deps, page);
  });
};

const linkPage = (scope: App, deps: AccountDeps, { path, use, asks, does }: LinkPage): void => {
  const form: LinkPage['asks'] = async (token, reader, again) => {
    if (use !== undefined) await deps.commands.checkLink(token, use);
    return asks(token, reader, again);
  };

  scope.get(path, { config, schema }, (request, reply) => {
    const token = tokenInLink(request);
    const reader = readerOf(request);
    return token === undefined
      ? sendAccountPage(deps, reply, 404, notWhole(reader))
      : shown(deps, reply, async () => form(token, reader));
  });

  scope.post(path, { config, schema }, (request, reply) => {
    const sent = sentForm(request);
    const reader = readerOf(request);
    if (sent === undefined) return sendAccountPage(deps, reply, 400, notWhole(reader));
    return shown(
      deps,
      reply,
      () => does({ ...sent, request, reader }),
      (fault) => form(sent.token, reader, { fields: sent.fields, fault }),
    );
  });
};

/** The ways to sign in by a provider, and with the token of an invitation to join its team. */
const waysIn = async (
  { commands }: AccountDeps,
  { language, said }: Reader,
  invitation?: string,
): Promise<NonNullable<AccountPage['links']>> => {
  const more = invitation === undefined ? '' : `?invitation=${encodeURIComponent(invitation)}`;
  const { data } = await commands.signInProviders();
  return data.map(({ id, label }) => ({
    href: `/api/auth/oidc/${id}/start${more}`,
    label: filledIn(language, invitation === undefined ? said.signInWith : said.joinWith, { provider: label }),
  }));
};

/** Answers the same, and as fast, whether or not somebody has the address. */
const answerAsked = async (deps: AccountDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const { ask, email = '' } = fieldsOf(request.body) ?? {};
  const command = ask === 'verification' ? 'sendVerifyLink' : 'sendResetLink';
  const reader = readerOf(request);
  const { said } = reader;
  return shown(
    deps,
    reply,
    async () => {
      await askForLink(deps, request, email, command);
      return { title: said.lookIntoMails, texts: [said.onItsWay], note: said.onlyNewest, leadsOn: true };
    },
    (fault) => ({ ...accountPage(reader), fault: inWords(fault, reader) }),
  );
};

/** Sends a page, or the page that says what is wrong; a fault that is not the caller's rejects. */
export const shown = async (
  deps: BrandDeps,
  reply: FastifyReply,
  page: () => Promise<AccountPage>,
  again?: (fault: DomainError) => AccountPage | Promise<AccountPage>,
  status = 200,
): Promise<FastifyReply> => {
  try {
    return await sendAccountPage(deps, reply, status, await page());
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const { retryAfterS } = fault.details;
    if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
    if (again !== undefined && correctable.has(fault.code))
      return shown(deps, reply, async () => again(fault), undefined, statusOf[fault.code]);
    const reader = readerOf(reply.request);
    return sendAccountPage(deps, reply, statusOf[fault.code], {
      title: reader.said.doesNotWork,
      texts: [inWords(fault, reader)],
      leadsOn: true,
    });
  }
};

const verifyPage = ({ commands }: AccountDeps): LinkPage => ({
  path: '/account/verify',
  use: 'verify',
  asks: (token, reader, again) => ({
    title: reader.said.verify,
    texts: [reader.said.whoRegistered],
    fault: again === undefined ? '' : inWords(again.fault, reader),
    forms: [
      {
        action: '/account/verify',
        hidden: { token },
        fields: passwordFields(reader, reader.said.password),
        button: reader.said.verifyButton,
      },
    ],
    note: reader.said.notRegistered,
  }),
  does: async ({ token, fields, request, reader }) => {
    await commands.verifyAddress(token, chosenPassword(fields, reader), calledFrom(request));
    const { verified: title, canSignIn, canClose: note } = reader.said;
    return { title, texts: [canSignIn], note };
  },
});

const resetPage = ({ commands, queries }: AccountDeps): LinkPage => ({
  path: '/account/reset',
  use: 'reset',
  asks: (token, reader, again) => ({
    title: reader.said.reset,
    texts: [reader.said.fewWords],
    fault: again === undefined ? '' : inWords(again.fault, reader),
    forms: [
      {
        action: '/account/reset',
        hidden: { token },
        fields: passwordFields(reader, reader.said.newPassword),
        button: reader.said.resetButton,
      },
    ],
  }),
  does: async ({ token, fields, request, reader }) => {
    await commands.resetPassword(token, chosenPassword(fields, reader), calledFrom(request), queries.sessionsOfUser);
    const { resetDone: title, allEnded, canClose: note } = reader.said;
    return { title, texts: [allEnded], note };
  },
});

const addressPage = (deps: AccountDeps): LinkPage => ({
  path: '/account/address',
  use: 'address',
  asks: (token, reader, again) => ({
    title: reader.said.confirmAddress,
    texts: [reader.said.givePassword],
    fault: again === undefined ? '' : inWords(again.fault, reader),
    forms: [
      {
        action: '/account/address',
        hidden: { token },
        fields: [passwordField(reader)],
        button: reader.said.confirmButton,
      },
    ],
    note: reader.said.notAsked,
  }),
  does: async ({ token, fields, request, reader: { language, said } }) => {
    await countLinkAttempt(deps, request, token);
    const { email } = await deps.commands.changeAddress(token, fields['password'] ?? '', calledFrom(request));
    return { title: said.addressChanged, texts: [filledIn(language, said.signInBy, { email })], note: said.canClose };
  },
});

/**
 * The page of an invitation: a person without an account registers, one with an account signs in; either joins the
 * team.
 */
const invitationPage = (deps: AccountDeps): LinkPage => ({
  path: INVITATION_PATH,
  asks: async (token, reader, again) => {
    const opened = await deps.commands.openInvitation(token);
    const form = formOf(token, opened, again?.fields['name'] ?? '', reader);
    return { ...pageOf(opened, form, reader, again?.fault), links: await waysIn(deps, reader, token) };
  },
  does: async (sent) => {
    const opened = await deps.commands.openInvitation(sent.token);
    await countLogin(deps, sent.request, opened.email);
    const teamId = opened.account === 'none' ? await register(deps, sent, opened) : await accept(deps, sent, opened);
    await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
    const { language, said } = sent.reader;
    const { team, role, email } = opened;
    return {
      title: filledIn(language, said.isMember, { team }),
      texts: [filledIn(language, said.roleAndSignIn, { role: said.roles[role], email })],
      note: said.canClose,
      teamId,
    };
  },
});

const pageOf = (
  { team, inviter, role, account, teamId }: OpenedInvitation,
  form: Form,
  reader: Reader,
  fault: DomainError | undefined,
): AccountPage => {
  const { language, said } = reader;
  return {
    title: filledIn(language, said.invited, { team }),
    texts: [
      filledIn(language, said.invites, { inviter, role: said.roles[role] }),
      account === 'none' ? said.choose : said.hasAccount,
    ],
    fault: fault === undefined ? '' : inWords(fault, reader),
    forms: [form],
    note: said.notKnown,
    teamId,
  };
};

const formOf = (token: string, { email, account }: OpenedInvitation, name: string, reader: Reader): Form => ({
  action: INVITATION_PATH,
  hidden: { token },
  ...(account === 'none'
    ? {
        fields: [
          emailField(email, reader, true),
          nameField(name, reader),
          ...passwordFields(reader, reader.said.newPassword),
        ],
        button: reader.said.join,
      }
    : {
        fields: [
          emailField(email, reader, true),
          passwordField(reader),
          ...(account === 'secondFactor' ? [codeField(reader)] : []),
        ],
        button: reader.said.signInAndJoin,
      }),
});

/** Out: the team. */
const register = async (
  { commands }: AccountDeps,
  { token, fields, request, reader }: Sent,
  { email, teamId }: OpenedInvitation,
) => {
  const name = (fields['name'] ?? '').trim();
  const fault =
    nameFault(name) ??
    ([...name].length > defaultLimits.userNameCharsMax
      ? `has more than ${defaultLimits.userNameCharsMax} characters`
      : undefined);
  if (name === '' || fault !== undefined)
    throw new DomainError(
      'VALIDATION_ERROR',
      fault === undefined || reader.language !== 'en' ? reader.said.nameMissing : `The name ${fault}.`,
    );
  await commands.register({ email, password: chosenPassword(fields, reader), name, token }, calledFrom(request));
  return teamId;
};

/** Signs in, accepts the invitation, and ends the session again. Out: the team. */
const accept = async (
  { commands, queries }: AccountDeps,
  { token, fields, request }: Sent,
  { email }: OpenedInvitation,
) => {
  const { password = '', code = '' } = fields;
  const credentials = { email, password, ...(code === '' ? {} : { code }) };
  const { accessToken } = await commands.login(credentials, calledFrom(request), queries.teamsOfUser);
  const admitted = (await commands.authenticate(accessToken, {
    asked: undefined,
    isNeeded: false,
  })) as UserAuthenticated;
  const caller = callerWith(admitted, request);
  try {
    return await commands.acceptInvitation(caller, token);
  } finally {
    await commands.logout(caller);
  }
};

const fill = personPage<
  Required<Omit<AccountPage, 'teamId'>> & Readonly<{ account: string; said: AccountWords }>
>(`<h1><%= it.title %></h1>
<% for (const text of it.texts) { %><p><%= text %></p>
<% } %>\
<% if (it.fault !== '') { %><p class="fault" role="alert"><%= it.fault %></p>
<% } %>\
<% for (const link of it.links) { %><p><a class="way" href="<%= link.href %>"><%= link.label %></a></p>
<% } %>\
<% for (const form of it.forms) { %>\
<% if (form.heading !== undefined) { %><h2><%= form.heading %></h2>
<% } %>\
<form method="post" action="<%= form.action %>">
<% for (const [name, value] of Object.entries(form.hidden)) { %><input type="hidden" name="<%= name %>" value="<%= value %>">
<% } %>\
<% for (const field of form.fields) { %>\
<label><%= field.label %><input type="<%= field.type %>" name="<%= field.name %>" autocomplete="<%= field.autocomplete %>"<%
if (field.value !== undefined) { %> value="<%= field.value %>"<% }
if (field.minLength !== undefined) { %> minlength="<%= field.minLength %>"<% }
if (field.maxLength !== undefined) { %> maxlength="<%= field.maxLength %>"<% }
if (field.isReadonly) { %> readonly<% }
if (!field.isOptional) { %> required<% } %>></label>
<% } %>\
<div class="buttons"><button type="submit" class="main"><%= form.button %></button></div>
</form>
<% } %>\
<% if (it.note !== '') { %><p class="soft"><%= it.note %></p>
<% } %>\
<% if (it.leadsOn) { %><p><a href="<%= it.account %>"><%= it.said.askAnother %></a></p>
<% } %>\
`);

type BrandDeps = Readonly<{ commands: Pick<HttpDeps['commands'], 'brandOfPages' | 'brandOfAccountPages'> }>;

const brandOf = ({ commands }: BrandDeps, teamId: TeamId | undefined): Promise<PageBrand | undefined> =>
  teamId === undefined ? commands.brandOfAccountPages() : commands.brandOfPages(teamId);

/** Sends the page in the language of the reader. Parts that are not given are left out. */
export const sendAccountPage = async (
  deps: BrandDeps,
  reply: FastifyReply,
  status: number,
  { teamId, ...page }: AccountPage,
): Promise<FastifyReply> => {
  const { ownPath } = reply.server;
  const forms = (page.forms ?? []).map((form) => ({ ...form, action: ownPath(form.action) }));
  const links = (page.links ?? []).map(({ href, label }) => ({
    href: href.startsWith('/') ? ownPath(href) : href,
    label,
  }));
  const brand = await brandOf(deps, teamId);
  const shownPage = { texts: [], fault: '', note: '', leadsOn: false, ...page, forms, links };
  const html = fill({ ...shownPage, ...readerOf(reply.request), brand, account: ownPath('/account') });
  return sendPersonPage(reply, status, html, { brand });
};

/** The page for a link without a well-formed token. */
const notWhole = ({ said }: Reader): AccountPage => ({ title: said.notWhole, texts: [said.cutShort], leadsOn: true });

/** The token in the link; undefined if it is not well-formed. Mail programs may have added other parameters. */
const tokenInLink = ({ query }: Pick<FastifyRequest, 'query'>): string | undefined =>
  wellFormed((query as Readonly<Record<string, unknown>>)['token']);

/** The fields of a form and the token of its link; undefined if the form is not from one of these pages. */
const sentForm = ({ body }: Pick<FastifyRequest, 'body'>): Readonly<{ token: string; fields: Fields }> | undefined => {
  const fields = fieldsOf(body);
  const token = wellFormed(fields?.['token']);
  return fields === undefined || token === undefined ? undefined : { token, fields };
};

const wellFormed = (token: unknown): string | undefined =>
  typeof token === 'string' && token.length <= TOKEN_CHARS_MAX && /^[A-Za-z0-9_-]+$/.test(token) ? token : undefined;

export const emailField = (value: string, { said }: Reader, isReadonly = false): Field => ({
  label: said.email,
  name: 'email',
  type: 'email',
  autocomplete: 'username',
  value,
  isReadonly,
  maxLength: 512,
});

const nameField = (value: string, { said }: Reader): Field => ({
  label: said.name,
  name: 'name',
  type: 'text',
  autocomplete: 'name',
  value,
  maxLength: userNameCharsMax,
});

const passwordBounds = { type: 'password', minLength: passwordCharsMin, maxLength: passwordCharsMax } as const;

/** A new password is typed twice, for with a mistyped one nobody could sign in. */
const passwordFields = ({ language, said }: Reader, label: string): readonly Field[] => [
  {
    label: filledIn(language, said.atLeast, { label, count: passwordCharsMin }),
    name: 'password',
    autocomplete: 'new-password',
    ...passwordBounds,
  },
  { label: said.again, name: 'again', autocomplete: 'new-password', ...passwordBounds },
];

export const passwordField = ({ said }: Reader): Field => ({
  label: said.password,
  name: 'password',
  type: 'password',
  autocomplete: 'current-password',
  maxLength: passwordCharsMax,
});

export const codeField = ({ said }: Reader): Field => ({
  label: said.code,
  name: 'code',
  type: 'text',
  autocomplete: 'one-time-code',
  maxLength: 32,
});

/** Throws VALIDATION_ERROR if the two differ. */
const chosenPassword = ({ password = '', again = '' }: Fields, { said }: Reader): string => {
  if (password !== again) throw new DomainError('VALIDATION_ERROR', said.passwordsDiffer);
  return password;
};

/** The text of a fault that the page shows: in the language of the reader, or as the service says it. */
export const inWords = ({ code, message, details }: DomainError, { said }: Reader): string => {
  if (said.faults !== undefined && isTold(code)) return said.faults[code];
  const [first] = details.errors ?? [];
  if (first === undefined) return message;
  if (said.faults !== undefined && first.field === 'password') return said.passwordRefused;
  return `The ${first.field} ${first.message}.`;
};

const askForm = (reader: Reader, heading: string, ask: string, button: string): Form => ({
  heading,
  action: '/account',
  hidden: { ask },
  fields: [emailField('', reader)],
  button,
});

const accountPage = (reader: Reader): AccountPage => {
  const { said } = reader;
  return {
    title: said.account,
    texts: [said.linkComes],
    forms: [
      askForm(reader, said.forgotten, 'password', said.sendLink),
      askForm(reader, said.notVerified, 'verification', said.sendAgain),
    ],
  };
};
