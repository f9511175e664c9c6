/** The page of an invitation: whoever has no account with its address makes one, whoever has one signs in; either joins the team. */
import type { AccountDeps, LinkPage, Sent } from './pages.js';
import type { UserAuthenticated } from '../../commands/core/caller.js';
import type { OpenedInvitation } from '../../commands/teams/invitations.js';
import { DomainError } from '../../domain/core/errors.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { nameFault } from '../../shared/text.js';
import { callerWith } from '../server/admission.js';
import { countLogin } from '../server/login-pauses.js';
import { OWN_WRITES_WAIT_MS } from '../server/own-writes.js';
import { calledFrom } from '../server/called-from.js';
import { chosenPassword, codeField, emailField, inWords, nameField, newPasswordFields, passwordField } from './fields.js';
import type { AccountPage, Form } from './page-layout.js';

const PATH = '/account/invitation';

/** In: what the pages call. Out: the page, and what its form does. */
export const invitationPage = (deps: AccountDeps): LinkPage => ({
  path: PATH,
  asks: async (token, again) => {
    const opened = await deps.commands.openInvitation(token);
    return pageOf(opened, formOf(token, opened, again?.fields['name'] ?? ''), again?.fault);
  },
  does: async (sent) => {
    const opened = await deps.commands.openInvitation(sent.token);
    await countLogin(deps, sent.request, opened.email);
    const teamId = opened.account === 'none' ? await register(deps, sent, opened) : await accept(deps, sent, opened);
    await deps.queries.awaitOwnWrites(teamId, OWN_WRITES_WAIT_MS);
    return {
      title: `You are a member of ${opened.team}`,
      texts: [`Your role is ${opened.role}. Sign in with ${opened.email}.`],
      note: CLOSE,
    };
  },
});

const CLOSE = 'You can close this page.';

const pageOf = ({ team, inviter, role, account }: OpenedInvitation, form: Form, fault: DomainError | undefined): AccountPage => ({
  title: `You are invited to ${team}`,
  texts: [
    `${inviter} invites you to join the team, with the role ${role}.`,
    account === 'none' ? 'Choose a name and a password, and you are in.' : 'You have an account with this address: sign in to join.',
  ],
  fault: fault === undefined ? '' : inWords(fault),
  forms: [form],
  note: 'If you do not know what this is about, close this page: nothing has happened.',
});

const formOf = (token: string, { email, account }: OpenedInvitation, name: string): Form => ({
  action: PATH,
  hidden: { token },
  ...(account === 'none'
    ? { fields: [emailField(email, true), nameField(name), ...newPasswordFields], button: 'Join the team' }
    : {
        fields: [emailField(email, true), passwordField, ...(account === 'secondFactor' ? [codeField] : [])],
        button: 'Sign in and join',
      }),
});

/** Out: the team. */
const register = async ({ commands }: AccountDeps, { token, fields, request }: Sent, { email, teamId }: OpenedInvitation) => {
  const name = (fields['name'] ?? '').trim();
  const fault =
    nameFault(name) ??
    ([...name].length > defaultLimits.userNameCharsMax ? `has more than ${defaultLimits.userNameCharsMax} characters` : undefined);
  if (name === '' || fault !== undefined) throw new DomainError('VALIDATION_ERROR', `The name ${fault ?? 'is missing'}.`);
  await commands.register({ email, password: chosenPassword(fields), name, token }, calledFrom(request));
  return teamId;
};

/** The session of the sign-in ends with the acceptance. */
const accept = async ({ commands, queries }: AccountDeps, { token, fields, request }: Sent, { email }: OpenedInvitation) => {
  const { password = '', code = '' } = fields;
  const credentials = { email, password, ...(code === '' ? {} : { code }) };
  const { accessToken } = await commands.login(credentials, calledFrom(request), queries.teamsOfUser);
  const admitted = (await commands.authenticate(accessToken, { asked: undefined, isNeeded: false })) as UserAuthenticated;
  const caller = callerWith(admitted, request);
  try {
    return await commands.acceptInvitation(caller, token);
  } finally {
    await commands.logout(caller);
  }
};
