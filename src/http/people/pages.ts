/**
 * The pages that the links in mails about accounts open. Opening one changes nothing, because programs open links too;
 * sending its form does. The form carries the token of the link, so that no cookie is needed.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { personPage, sendPersonPage, fieldsOf, readForms } from '../server/forms.js';
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
import { askForLink } from './links.js';

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
}>;

type Fields = Readonly<Record<string, string>>;

/** Sent form of a page. */
type Sent = Readonly<{ token: string; fields: Fields; request: FastifyRequest }>;

/** One page: what it shows to who opens the link, and what its form does. */
type LinkPage = Readonly<{
  path: string;
  /** Use of the link, which is checked before the form is shown. Absent: `asks` checks it. */
  use?: 'verify' | 'reset' | 'address';
  /** `sent` and `fault`: of a form that was sent, and is shown again. */
  asks: (token: string, again?: Readonly<{ fields: Fields; fault: DomainError }>) => AccountPage | Promise<AccountPage>;
  does: (sent: Sent) => Promise<AccountPage>;
}>;

const { passwordCharsMin, passwordCharsMax, userNameCharsMax } = defaultLimits;

/** Two passwords and a name whose every character is written as %XX of four bytes. */
const ACCOUNT_FORM_BYTES_MAX = 32_768;

const TOKEN_CHARS_MAX = 256;

const INVITATION_PATH = '/account/invitation';

const CLOSE_NOTE = 'You can close this page.';

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
    scope.get('/account', { config, schema }, async (_request, reply) =>
      sendAccountPage(reply, 200, { ...accountPage, links: await waysIn(deps) }),
    );
    scope.post('/account', { config, schema }, (request, reply) => answerAsked(deps, request, reply));
    for (const page of [verifyPage(deps), resetPage(deps), addressPage(deps), invitationPage(deps)])
      linkPage(scope, deps, page);
  });
};

const linkPage = (scope: App, { commands }: AccountDeps, { path, use, asks, does }: LinkPage): void => {
  const form: LinkPage['asks'] = async (token, again) => {
    if (use !== undefined) await commands.checkLink(token, use);
    return asks(token, again);
  };

  scope.get(path, { config, schema }, (request, reply) => {
    const token = tokenInLink(request);
    return token === undefined ? sendAccountPage(reply, 404, notWhole) : shown(reply, async () => form(token));
  });

  scope.post(path, { config, schema }, (request, reply) => {
    const sent = sentForm(request);
    if (sent === undefined) return sendAccountPage(reply, 400, notWhole);
    return shown(
      reply,
      () => does({ ...sent, request }),
      (fault) => form(sent.token, { fields: sent.fields, fault }),
    );
  });
};

/** The ways to sign in by a provider, and with the token of an invitation to join its team. */
const waysIn = async ({ commands }: AccountDeps, invitation?: string): Promise<NonNullable<AccountPage['links']>> => {
  const more = invitation === undefined ? '' : `?invitation=${encodeURIComponent(invitation)}`;
  const { data } = await commands.signInProviders();
  return data.map(({ id, label }) => ({
    href: `/api/auth/oidc/${id}/start${more}`,
    label: `${invitation === undefined ? 'Sign in' : 'Join'} with ${label}`,
  }));
};

/** Answers the same, and as fast, whether or not somebody has the address. */
const answerAsked = async (deps: AccountDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const { ask, email = '' } = fieldsOf(request.body) ?? {};
  const command = ask === 'verification' ? 'sendVerifyLink' : 'sendResetLink';
  return shown(
    reply,
    async () => {
      await askForLink(deps, request, email, command);
      return {
        title: 'Look into your mails',
        texts: ['If a user has this address, a mail with a link is on its way to it.'],
        note: 'Only the newest link is good. If no mail comes, look at the address once more, and into the folder for spam.',
        leadsOn: true,
      };
    },
    (fault) => ({ ...accountPage, fault: inWords(fault) }),
  );
};

/** Sends a page, or the page that says what is wrong; a fault that is not the caller's rejects. */
export const shown = async (
  reply: FastifyReply,
  page: () => Promise<AccountPage>,
  again?: (fault: DomainError) => AccountPage | Promise<AccountPage>,
  status = 200,
): Promise<FastifyReply> => {
  try {
    return sendAccountPage(reply, status, await page());
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    const { retryAfterS } = fault.details;
    if (retryAfterS !== undefined) reply.header('retry-after', retryAfterS);
    if (again !== undefined && correctable.has(fault.code))
      return shown(reply, async () => again(fault), undefined, statusOf[fault.code]);
    return sendAccountPage(reply, statusOf[fault.code], {
      title: 'This does not work',
      texts: [inWords(fault)],
      leadsOn: true,
    });
  }
};

const verifyPage = ({ commands }: AccountDeps): LinkPage => ({
  path: '/account/verify',
  use: 'verify',
  asks: (token, again) => ({
    title: 'Verify your address',
    texts: [
      'Somebody registered with this address. If it was you, give your password, or choose another one; after that you can sign in.',
    ],
    fault: again === undefined ? '' : inWords(again.fault),
    forms: [
      {
        action: '/account/verify',
        hidden: { token },
        fields: passwordFieldsNamed('Password'),
        button: 'Verify the address',
      },
    ],
    note: 'If you did not register, close this page: nothing has happened.',
  }),
  does: async ({ token, fields, request }) => {
    await commands.verifyAddress(token, chosenPassword(fields), calledFrom(request));
    return {
      title: 'Your address is verified',
      texts: ['You can sign in now, with your address and your password.'],
      note: CLOSE_NOTE,
    };
  },
});

const resetPage = ({ commands, queries }: AccountDeps): LinkPage => ({
  path: '/account/reset',
  use: 'reset',
  asks: (token, again) => ({
    title: 'Choose another password',
    texts: ['A few words in a row make a good one. Wherever you are signed in, you will have to sign in again.'],
    fault: again === undefined ? '' : inWords(again.fault),
    forms: [{ action: '/account/reset', hidden: { token }, fields: newPasswordFields, button: 'Set the password' }],
  }),
  does: async ({ token, fields, request }) => {
    await commands.resetPassword(token, chosenPassword(fields), calledFrom(request), queries.sessionsOfUser);
    return {
      title: 'Your password is changed',
      texts: ['Every session has ended. Sign in with the new password.'],
      note: CLOSE_NOTE,
    };
  },
});

const addressPage = (deps: AccountDeps): LinkPage => ({
  path: '/account/address',
  use: 'address',
  asks: (token, again) => ({
    title: 'Confirm your new address',
    texts: [
      'Give the password of your account. From then on you sign in by this address, and no longer by the one before.',
    ],
    fault: again === undefined ? '' : inWords(again.fault),
    forms: [{ action: '/account/address', hidden: { token }, fields: [passwordField], button: 'Confirm the address' }],
    note: 'If you did not ask for this, close this page: nothing has happened.',
  }),
  does: async ({ token, fields, request }) => {
    await countLinkAttempt(deps, request, token);
    const { email } = await deps.commands.changeAddress(token, fields['password'] ?? '', calledFrom(request));
    return { title: 'Your address is changed', texts: [`From now on you sign in by ${email}.`], note: CLOSE_NOTE };
  },
});

/**
 * The page of an invitation: a person without an account registers, one with an account signs in; either joins the
 * team.
 */
const invitationPage = (deps: AccountDeps): LinkPage => ({
  path: INVITATION_PATH,
  asks: async (token, again) => {
    const opened = await deps.commands.openInvitation(token);
    return {
      ...pageOf(opened, formOf(token, opened, again?.fields['name'] ?? ''), again?.fault),
      links: await waysIn(deps, token),
    };
  },
  does: async (sent) => {
    const opened = await deps.commands.openInvitation(sent.token);
    await countLogin(deps, sent.request, opened.email);
    const teamId = opened.account === 'none' ? await register(deps, sent, opened) : await accept(deps, sent, opened);
    await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
    return {
      title: `You are a member of ${opened.team}`,
      texts: [`Your role is ${opened.role}. Sign in with ${opened.email}.`],
      note: CLOSE_NOTE,
    };
  },
});

const pageOf = (
  { team, inviter, role, account }: OpenedInvitation,
  form: Form,
  fault: DomainError | undefined,
): AccountPage => ({
  title: `You are invited to ${team}`,
  texts: [
    `${inviter} invites you to join the team, with the role ${role}.`,
    account === 'none'
      ? 'Choose a name and a password, and you are in.'
      : 'You have an account with this address: sign in to join.',
  ],
  fault: fault === undefined ? '' : inWords(fault),
  forms: [form],
  note: 'If you do not know what this is about, close this page: nothing has happened.',
});

const formOf = (token: string, { email, account }: OpenedInvitation, name: string): Form => ({
  action: INVITATION_PATH,
  hidden: { token },
  ...(account === 'none'
    ? { fields: [emailField(email, true), nameField(name), ...newPasswordFields], button: 'Join the team' }
    : {
        fields: [emailField(email, true), passwordField, ...(account === 'secondFactor' ? [codeField] : [])],
        button: 'Sign in and join',
      }),
});

/** Out: the team. */
const register = async (
  { commands }: AccountDeps,
  { token, fields, request }: Sent,
  { email, teamId }: OpenedInvitation,
) => {
  const name = (fields['name'] ?? '').trim();
  const fault =
    nameFault(name) ??
    ([...name].length > defaultLimits.userNameCharsMax
      ? `has more than ${defaultLimits.userNameCharsMax} characters`
      : undefined);
  if (name === '' || fault !== undefined)
    throw new DomainError('VALIDATION_ERROR', `The name ${fault ?? 'is missing'}.`);
  await commands.register({ email, password: chosenPassword(fields), name, token }, calledFrom(request));
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

const fill = personPage<Required<AccountPage> & Readonly<{ account: string }>>(`<h1><%= it.title %></h1>
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
<% if (it.leadsOn) { %><p><a href="<%= it.account %>">Ask for another link</a></p>
<% } %>\
`);

/** Sends the page. Parts that are not given are left out. */
export const sendAccountPage = (reply: FastifyReply, status: number, page: AccountPage): FastifyReply => {
  const { ownPath } = reply.server;
  const forms = (page.forms ?? []).map((form) => ({ ...form, action: ownPath(form.action) }));
  const links = (page.links ?? []).map(({ href, label }) => ({
    href: href.startsWith('/') ? ownPath(href) : href,
    label,
  }));
  return sendPersonPage(
    reply,
    status,
    fill({ texts: [], fault: '', note: '', leadsOn: false, ...page, forms, links, account: ownPath('/account') }),
  );
};

/** The page for a link without a well-formed token. */
const notWhole: AccountPage = {
  title: 'This link is not whole',
  texts: ['It may have been cut short. Open it from the mail once more, or copy the whole address.'],
  leadsOn: true,
};

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

export const emailField = (value: string, isReadonly = false): Field => ({
  label: 'Email address',
  name: 'email',
  type: 'email',
  autocomplete: 'username',
  value,
  isReadonly,
  maxLength: 512,
});

const nameField = (value: string): Field => ({
  label: 'Your name',
  name: 'name',
  type: 'text',
  autocomplete: 'name',
  value,
  maxLength: userNameCharsMax,
});

const passwordBounds = { type: 'password', minLength: passwordCharsMin, maxLength: passwordCharsMax } as const;

/** A new password is typed twice, for with a mistyped one nobody could sign in. */
const passwordFieldsNamed = (name: string): readonly Field[] => [
  {
    label: `${name}, at least ${passwordCharsMin} characters`,
    name: 'password',
    autocomplete: 'new-password',
    ...passwordBounds,
  },
  { label: 'The password once more', name: 'again', autocomplete: 'new-password', ...passwordBounds },
];

const newPasswordFields = passwordFieldsNamed('New password');

export const passwordField: Field = {
  label: 'Password',
  name: 'password',
  type: 'password',
  autocomplete: 'current-password',
  maxLength: passwordCharsMax,
};

export const codeField: Field = {
  label: 'Code of your second factor',
  name: 'code',
  type: 'text',
  autocomplete: 'one-time-code',
  maxLength: 32,
};

/** Throws VALIDATION_ERROR if the two differ. */
const chosenPassword = ({ password = '', again = '' }: Fields): string => {
  if (password !== again) throw new DomainError('VALIDATION_ERROR', 'The two passwords are not the same.');
  return password;
};

/** The text of a fault that the page shows. */
export const inWords = ({ message, details }: DomainError): string => {
  const [first] = details.errors ?? [];
  return first === undefined ? message : `The ${first.field} ${first.message}.`;
};

const askForm = (heading: string, ask: string, button: string): Form => ({
  heading,
  action: '/account',
  hidden: { ask },
  fields: [emailField('')],
  button,
});

const accountPage: AccountPage = {
  title: 'Your account',
  texts: ['A mail with a link comes to your address, and the link does the rest.'],
  forms: [
    askForm('Have you forgotten your password?', 'password', 'Send a link'),
    askForm('Is your address not verified yet?', 'verification', 'Send a link once more'),
  ],
};
