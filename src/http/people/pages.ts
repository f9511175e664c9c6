/**
 * The pages to which the links of mails about accounts lead. To open one does nothing, for programs open links too; its form does. No cookie
 * is needed: whoever sends the form shows what the link carried.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, type ErrorCode } from '../../domain/core/errors.js';
import type { App, HttpDeps } from '../server/context.js';
import { statusOf } from '../server/errors.js';
import { countLinkAttempt } from '../server/login-pauses.js';
import { fieldsOf, readForms } from '../server/form.js';
import { askForLink } from './links.js';
import { calledFrom } from '../server/called-from.js';
import {
  ACCOUNT_FORM_BYTES_MAX,
  chosenPassword,
  emailField,
  inWords,
  newPasswordFields,
  passwordField,
  passwordFieldsNamed,
  sentForm,
  tokenInLink,
  type Fields,
} from './fields.js';
import { invitationPage } from './invitation.js';
import { notWhole, sendAccountPage, type AccountPage, type Form } from './page-layout.js';

export type AccountDeps = Pick<HttpDeps, 'commands' | 'queries' | 'limiter' | 'logger'>;

/** What was sent with the form of a page. */
export type Sent = Readonly<{ token: string; fields: Fields; request: FastifyRequest }>;

/** One page: what it shows to who opens the link, and what its form does. */
export type LinkPage = Readonly<{
  path: string;
  /** `sent` and `fault`: of a form that was sent, and is shown again. */
  asks: (token: string, again?: Readonly<{ fields: Fields; fault: DomainError }>) => AccountPage | Promise<AccountPage>;
  does: (sent: Sent) => Promise<AccountPage>;
}>;

const config = { access: 'public' } as const;
const schema = { hide: true };

/** Registers /account and what is under it. */
export const accountPages = (app: App, deps: AccountDeps): void => {
  // In a scope of its own: of these calls no other takes forms.
  app.register(async (scope: App) => {
    readForms(scope, ACCOUNT_FORM_BYTES_MAX);
    scope.get('/account', { config, schema }, (_request, reply) => sendAccountPage(reply, 200, accountPage));
    scope.post('/account', { config, schema }, (request, reply) => answerAsked(deps, request, reply));
    for (const page of [verifyPage(deps), resetPage(deps), addressPage(deps), invitationPage(deps)]) linkPage(scope, page);
  });
};

const linkPage = (scope: App, { path, asks, does }: LinkPage): void => {
  scope.get(path, { config, schema }, (request, reply) => {
    const token = tokenInLink(request);
    return token === undefined ? sendAccountPage(reply, 404, notWhole) : shown(reply, async () => asks(token));
  });

  scope.post(path, { config, schema }, (request, reply) => {
    const form = sentForm(request);
    if (form === undefined) return sendAccountPage(reply, 400, notWhole);
    return shown(
      reply,
      () => does({ ...form, request }),
      (fault) => asks(form.token, { fields: form.fields, fault }),
    );
  });
};

/** After these the form is worth another try. */
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

/** What a person can do something about is told on a page. */
const shown = async (
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
    if (again !== undefined && correctable.has(fault.code)) return shown(reply, async () => again(fault), undefined, statusOf[fault.code]);
    return sendAccountPage(reply, statusOf[fault.code], { title: 'This does not work', texts: [inWords(fault)], leadsOn: true });
  }
};

const verifyPage = ({ commands }: AccountDeps): LinkPage => ({
  path: '/account/verify',
  asks: (token, again) => ({
    title: 'Verify your address',
    texts: ['Somebody registered with this address. If it was you, give your password, or choose another one; after that you can sign in.'],
    fault: again === undefined ? '' : inWords(again.fault),
    forms: [{ action: '/account/verify', hidden: { token }, fields: passwordFieldsNamed('Password'), button: 'Verify the address' }],
    note: 'If you did not register, close this page: nothing has happened.',
  }),
  does: async ({ token, fields, request }) => {
    await commands.verifyAddress(token, chosenPassword(fields), calledFrom(request));
    return { title: 'Your address is verified', texts: ['You can sign in now, with your address and your password.'], note: CLOSE };
  },
});

const CLOSE = 'You can close this page.';

const resetPage = ({ commands, queries }: AccountDeps): LinkPage => ({
  path: '/account/reset',
  asks: (token, again) => ({
    title: 'Choose another password',
    texts: ['A few words in a row make a good one. Wherever you are signed in, you will have to sign in again.'],
    fault: again === undefined ? '' : inWords(again.fault),
    forms: [{ action: '/account/reset', hidden: { token }, fields: newPasswordFields, button: 'Set the password' }],
  }),
  does: async ({ token, fields, request }) => {
    await commands.resetPassword(token, chosenPassword(fields), calledFrom(request), queries.sessionsOfUser);
    return { title: 'Your password is changed', texts: ['Every session has ended. Sign in with the new password.'], note: CLOSE };
  },
});

const addressPage = (deps: AccountDeps): LinkPage => ({
  path: '/account/address',
  asks: (token, again) => ({
    title: 'Confirm your new address',
    texts: ['Give the password of your account. From then on you sign in by this address, and no longer by the one before.'],
    fault: again === undefined ? '' : inWords(again.fault),
    forms: [{ action: '/account/address', hidden: { token }, fields: [passwordField], button: 'Confirm the address' }],
    note: 'If you did not ask for this, close this page: nothing has happened.',
  }),
  does: async ({ token, fields, request }) => {
    await countLinkAttempt(deps, request, token);
    const { email } = await deps.commands.changeAddress(token, fields['password'] ?? '', calledFrom(request));
    return { title: 'Your address is changed', texts: [`From now on you sign in by ${email}.`], note: CLOSE };
  },
});

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

/** The same for everybody, as fast for everybody. */
const answerAsked = async (deps: AccountDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const { ask, email = '' } = fieldsOf(request.body) ?? {};
  const command = ask === 'verification' ? 'sendVerifyLink' : 'sendResetLink';
  return shown(
    reply,
    async () => {
      await askForLink(deps, request, email, command);
      return {
        title: 'Look into your mails',
        texts: ['Where a user has this address, a mail with a link is on its way to it.'],
        note: 'Only the newest link is good. If no mail comes, look at the address once more, and into the folder for spam.',
        leadsOn: true,
      };
    },
    (fault) => ({ ...accountPage, fault: inWords(fault) }),
  );
};
