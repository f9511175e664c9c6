/** The account of the person: profile, password, second factor, where they are signed in, identities, apps, teams. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type {
  AskAddressChangeData,
  AskAddressChangeResponse,
  BeginIdentityLinkData,
  BeginIdentityLinkResponse,
  ChangePasswordData,
  ChangePasswordResponse,
  ConfirmSecondFactorData,
  ConfirmSecondFactorResponse,
  CreateTeamData,
  CreateTeamResponse,
  EraseOwnUserData,
  EraseOwnUserResponse,
  GetOwnUserResponse,
  ListGrantsData,
  ListGrantsResponse,
  ListIdentitiesData,
  ListIdentitiesResponse,
  ListSessionsData,
  ListSessionsResponse,
  ListSignInProvidersData,
  ListSignInProvidersResponse,
  ListTeamsData,
  ListTeamsResponse,
  PrepareSecondFactorData,
  PrepareSecondFactorResponse,
  RemoveSecondFactorData,
  RemoveSecondFactorResponse,
  RenewRecoveryCodesData,
  RenewRecoveryCodesResponse,
  RestoreTeamData,
  RestoreTeamResponse,
  RevokeGrantData,
  RevokeGrantResponse,
  RevokeOtherSessionsData,
  RevokeOtherSessionsResponse,
  RevokeSessionData,
  RevokeSessionResponse,
  UnlinkIdentityData,
  UnlinkIdentityResponse,
  UpdateOwnUserData,
  UpdateOwnUserResponse,
} from '#api';
import { ApiFault, operation } from '../api/client';
import { meQuery, queryClient } from '../api/queries';
import { sessionEnded } from '../api/session';
import { values as pageValues } from '../api/values';
import { ActButtons, DialogFrame } from '../resources/dialogs';
import { ValuesForm } from '../resources/form';
import { Facts, NothingHere, PageHead, ResourceList, Section, useAgain } from '../resources/pages';
import styles from '../resources/page.module.css';
import { usePlace } from '../resources/place';
import { type Act, bodyOf, type Field, type Resource } from '../resources/resource';
import { Codes, Copied, Maybe, queryOf } from '../resources/values';
import { Notice } from '../ui/controls';
import { StatusBadge } from '../ui/status';
import { Moment } from '../ui/time';

const update = operation<UpdateOwnUserData, UpdateOwnUserResponse>('PATCH', '/api/users/me');
const erase = operation<EraseOwnUserData, EraseOwnUserResponse>('DELETE', '/api/users/me');
const changePassword = operation<ChangePasswordData, ChangePasswordResponse>('POST', '/api/auth/password/change');
const askAddress = operation<AskAddressChangeData, AskAddressChangeResponse>('POST', '/api/auth/email/change');
const prepare = operation<PrepareSecondFactorData, PrepareSecondFactorResponse>('POST', '/api/auth/totp/prepare');
const confirm = operation<ConfirmSecondFactorData, ConfirmSecondFactorResponse>('POST', '/api/auth/totp/confirm');
const removeFactor = operation<RemoveSecondFactorData, RemoveSecondFactorResponse>('POST', '/api/auth/totp/remove');
const renewCodes = operation<RenewRecoveryCodesData, RenewRecoveryCodesResponse>(
  'POST',
  '/api/auth/totp/recovery-codes',
);
const listSessions = operation<ListSessionsData, ListSessionsResponse>('GET', '/api/users/me/sessions');
const revokeSession = operation<RevokeSessionData, RevokeSessionResponse>('DELETE', '/api/users/me/sessions/{id}');
const revokeOthers = operation<RevokeOtherSessionsData, RevokeOtherSessionsResponse>(
  'DELETE',
  '/api/users/me/sessions',
);
const listIdentities = operation<ListIdentitiesData, ListIdentitiesResponse>('GET', '/api/users/me/identities');
const unlink = operation<UnlinkIdentityData, UnlinkIdentityResponse>('DELETE', '/api/users/me/identities/{id}');
const listProviders = operation<ListSignInProvidersData, ListSignInProvidersResponse>('GET', '/api/auth/oidc');
const link = operation<BeginIdentityLinkData, BeginIdentityLinkResponse>('POST', '/api/auth/oidc/{provider}/link');
const listGrants = operation<ListGrantsData, ListGrantsResponse>('GET', '/api/users/me/grants');
const revokeGrant = operation<RevokeGrantData, RevokeGrantResponse>('DELETE', '/api/users/me/grants/{id}');
const listTeams = operation<ListTeamsData, ListTeamsResponse>('GET', '/api/teams');
const createTeam = operation<CreateTeamData, CreateTeamResponse>('POST', '/api/teams');
const restoreTeam = operation<RestoreTeamData, RestoreTeamResponse>('POST', '/api/teams/{teamId}/restore');

type Me = GetOwnUserResponse;
type Session = ListSessionsResponse['data'][number];
type Identity = ListIdentitiesResponse['data'][number];
type Grant = ListGrantsResponse['data'][number];
type Team = ListTeamsResponse['data'][number];

const again = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['me'] });

const password: Field = { name: 'password', label: 'Your password', kind: 'password', isRequired: true };
const code: Field = { name: 'code', label: 'Code of your second factor', kind: 'code', isRequired: true };

/** The proof that the person is at the screen: the password, and the second factor where there is one. */
const proof = ({ secondFactor }: Me): readonly Field[] => (secondFactor ? [password, code] : [password]);

const addressFields = (me: Me): readonly Field[] => [
  { name: 'email', label: 'New address', kind: 'email', isRequired: true },
  ...(me.mayChoosePassword === true ? [{ ...password, label: 'Choose a password' }] : proof(me)),
];

/** A refusal of a call that names a field otherwise than the form. */
const atField = (fault: unknown, given: string, shown: string): unknown =>
  fault instanceof ApiFault
    ? new ApiFault(fault.status, {
        ...{ code: fault.code, message: fault.message },
        errors: fault.errors.map((one) => (one.field === given ? { ...one, field: shown } : one)),
      })
    : fault;

/** Whether it is the address of the first user, which takes no mail. */
const isPlaceholder = (address: string | null): boolean => address?.endsWith('@sealpost.localhost') === true;

const profileActs: readonly Act<Me>[] = [
  {
    label: 'Change the name',
    ask: () => ({ title: 'Change your name', text: null }),
    fields: ({ name }) => [{ name: 'name', label: 'Name', isRequired: true, initial: name ?? '' }],
    run: async (_me, { name }) => {
      await update({ body: { name: String(name).trim() } });
      await again();
      return { say: 'Your name is changed.' };
    },
  },
  {
    label: 'Change the address',
    ask: (me) => ({
      title: 'Sign in by another address',
      text: (
        <p>
          A mail goes to the new address. It is yours once you follow the link of that mail and give your password
          there.
          {me.mayChoosePassword === true ? ' You have no password yet, so choose one.' : null}
        </p>
      ),
    }),
    fields: addressFields,
    run: async (me, values) => {
      // An attempt before may have chosen the password.
      const { mayChoosePassword } = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
      if (mayChoosePassword === true) {
        await changePassword({ body: { newPassword: String(values['password']) } }).catch((fault: unknown) => {
          throw atField(fault, 'newPassword', 'password');
        });
        await again();
      }
      const { message } = await askAddress({ body: bodyOf(addressFields(me), values) });
      return { say: pageValues.hasMailbox ? `${message} Without a relay, the mail is in the mailbox.` : message };
    },
  },
];

const howSignedIn = ({ secondFactor, mayChoosePassword }: Me): string => {
  if (mayChoosePassword === true) return 'You came by a link. Choose a password for the next time you sign in.';
  return secondFactor ? 'Your password and a code of your app sign you in.' : 'Your password alone signs you in.';
};

const passwordFields = ({ mayChoosePassword }: Me): readonly Field[] => [
  ...(mayChoosePassword === true ? [] : [{ ...password, name: 'currentPassword' }]),
  { name: 'newPassword', label: 'New password', kind: 'password', isRequired: true },
];

const passwordActs: readonly Act<Me>[] = [
  {
    label: 'Change the password',
    ask: () => ({ title: 'Change your password', text: <p>All your other sessions end.</p> }),
    fields: passwordFields,
    run: async (me, values) => {
      const { message } = await changePassword({ body: bodyOf(passwordFields(me), values) });
      await again();
      return { say: message };
    },
  },
];

const KEEP_CODES = 'Each signs you in once, in place of your app. They are shown this once.';

const factorActs: readonly Act<Me>[] = [
  {
    label: 'New recovery codes',
    isFor: ({ secondFactor }) => secondFactor,
    ask: () => ({ title: 'Take new recovery codes?', text: <p>The codes that you have stop working.</p> }),
    fields: () => [password, code],
    run: async (_me, values) => {
      const { recoveryCodes } = await renewCodes({ body: bodyOf([password, code], values) });
      return {
        say: 'You have new recovery codes.',
        secret: { title: 'Keep your recovery codes', text: KEEP_CODES, value: recoveryCodes.join('\n') },
      };
    },
  },
  {
    label: 'Take the second factor away',
    look: 'danger',
    isFor: ({ secondFactor }) => secondFactor,
    ask: () => ({
      title: 'Take the second factor away?',
      text: <p>Your password alone signs you in then. Teams that need a second factor let you in no more.</p>,
    }),
    fields: () => [password, code],
    run: async (_me, values) => {
      const { message } = await removeFactor({ body: bodyOf([password, code], values) });
      await again();
      return { say: message };
    },
  },
];

/** Sets up the second factor: the password, then a code of the app that has read the picture. */
const SetUpFactor = () => {
  const { tell } = usePlace();
  const [prepared, setPrepared] = useState<PrepareSecondFactorResponse>();
  const acts: readonly Act<undefined>[] = [
    {
      label: 'Set up a second factor',
      ask: () => ({ title: 'Set up a second factor', text: <p>You need an authenticator app on your phone.</p> }),
      fields: () => [password],
      run: async (_row, values) => {
        setPrepared(await prepare({ body: bodyOf([password], values) }));
        return { say: 'Confirm the second factor by a code of your app.' };
      },
    },
  ];
  return (
    <>
      <ActButtons acts={acts} row={undefined} onDone={() => undefined} />
      {prepared === undefined ? null : (
        <DialogFrame title="Confirm the second factor" isFirm onClose={() => setPrepared(undefined)}>
          <p>Read the picture with your app, or type the secret, and give the code that it shows.</p>
          <img className={styles['qr']} src={prepared.qrCode} alt="QR code of the secret" />
          <Copied value={prepared.secret} of="the secret" />
          <ValuesForm
            fields={[{ ...code, label: 'Code of the app' }]}
            label="Confirm"
            onCancel={() => setPrepared(undefined)}
            onSubmit={async (values) => {
              const { recoveryCodes } = await confirm({ body: bodyOf([code], values) });
              setPrepared(undefined);
              await again();
              tell({
                say: 'Your second factor is set up.',
                secret: { title: 'Keep your recovery codes', text: KEEP_CODES, value: recoveryCodes.join('\n') },
              });
            }}
          />
        </DialogFrame>
      )}
    </>
  );
};

const programOf = ({ userAgent }: Session): string => {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari)\//.exec(userAgent ?? '')?.[1];
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(userAgent ?? '')?.[1];
  return [{ Edg: 'Edge', OPR: 'Opera' }[browser ?? ''] ?? browser, system].filter(Boolean).join(', ') || 'a program';
};

const sessions: Resource<Session> = {
  path: '/account/sessions',
  one: 'session',
  many: 'sessions',
  needs: 'profile:write',
  about: 'Browsers and programs in which you are signed in.',
  idOf: ({ id }) => id,
  titleOf: programOf,
  list: (query, _scope, signal) => listSessions({ query: queryOf(query) }, { signal }),
  columns: [
    {
      name: 'Where',
      cell: (session) => (
        <span title={session.userAgent ?? ''}>
          {programOf(session)}
          {session.current ? ' (this one)' : ''}
        </span>
      ),
    },
    { name: 'From', cell: ({ ipAddress }) => <code>{ipAddress ?? ''}</code> },
    { name: 'Begun', cell: ({ startedAt }) => <Moment at={startedAt} />, isWide: true },
    { name: 'Last used', cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
  ],
  acts: [
    {
      label: 'End',
      isFor: ({ current }) => !current,
      run: async (session) => {
        await revokeSession({ path: { id: session.id } });
        return { say: `${programOf(session)} is signed out.` };
      },
    },
  ],
};

const sessionActs: readonly Act<undefined>[] = [
  {
    label: 'End all others',
    ask: () => ({ title: 'End all your other sessions?', text: <p>This browser stays signed in.</p> }),
    run: async () => {
      await revokeOthers({});
      return { say: 'Your other sessions have ended.' };
    },
  },
];

const identities: Resource<Identity> = {
  path: '/account/identities',
  one: 'identity',
  many: 'identities',
  needs: 'profile:write',
  about: 'Accounts at providers by which you sign in.',
  idOf: ({ id }) => id,
  titleOf: ({ label }) => label,
  list: (_query, _scope, signal) => listIdentities({}, { signal }),
  columns: [
    { name: 'Provider', cell: ({ label }) => label },
    { name: 'Address there', cell: ({ email }) => <bdi>{email ?? ''}</bdi> },
    { name: 'Linked', cell: ({ linkedAt }) => <Moment at={linkedAt} /> },
  ],
  acts: [
    {
      label: 'Unlink',
      look: 'danger',
      ask: ({ label }) => ({ title: `Unlink ${label}?`, text: <p>{label} signs you in no more.</p> }),
      run: async ({ id, label }) => {
        await unlink({ path: { id } });
        return { say: `${label} is unlinked.` };
      },
    },
  ],
};

const Identities = () => {
  const { scope } = usePlace();
  const providers = useQuery({
    queryKey: ['/account/providers'],
    queryFn: ({ signal }) => listProviders({}, { signal }),
  }).data?.data;
  if (providers === undefined || providers.length === 0) return null;
  const acts: readonly Act<GetOwnUserResponse>[] = providers.map(({ id, label }) => ({
    label: `Link ${label}`,
    ask: () => ({ title: `Link ${label}`, text: <p>You sign in there, and come back here.</p> }),
    fields: proof,
    run: async (me, values) => {
      const body = { ...bodyOf<BeginIdentityLinkData['body']>(proof(me), values), returnTo: '/app/account' };
      const { url } = await link({ path: { provider: id }, body });
      window.location.assign(url);
      return { say: `${label} opens.` };
    },
  }));
  return (
    <Section title="Identities" buttons={<ActButtons acts={acts} row={scope.me} onDone={() => undefined} />}>
      <ResourceList resource={identities} />
    </Section>
  );
};

const grants: Resource<Grant> = {
  path: '/account/grants',
  one: 'grant',
  many: 'granted apps',
  needs: 'profile:read',
  about: 'Apps that may act for you stand here, once you have granted them scopes.',
  idOf: ({ id }) => id,
  titleOf: ({ appName }) => appName,
  list: (query, _scope, signal) => listGrants({ query: queryOf(query) }, { signal }),
  columns: [
    { name: 'App', cell: ({ appName }) => <bdi>{appName}</bdi> },
    { name: 'May', cell: (grant) => <Codes of={grant.scopes} /> },
    { name: 'Granted', cell: ({ givenAt }) => <Moment at={givenAt} />, isWide: true },
    { name: 'Last used', cell: ({ lastUsedAt }) => <Maybe at={lastUsedAt} otherwise="never" /> },
  ],
  acts: [
    {
      label: 'End',
      look: 'danger',
      ask: ({ appName }) => ({ title: `End what ${appName} may do?`, text: <p>Its tokens are refused at once.</p> }),
      run: async ({ id, appName }) => {
        await revokeGrant({ path: { id } });
        return { say: `${appName} may act for you no more.` };
      },
    },
  ],
};

const teams = (deleted: boolean): Resource<Team> => ({
  path: deleted ? '/account/deleted-teams' : '/account/teams',
  one: 'team',
  many: deleted ? 'deleted teams' : 'teams',
  needs: 'profile:read',
  about: deleted ? 'A team that an owner deletes stands here for 30 days.' : 'Teams that you are in stand here.',
  idOf: ({ id }) => id,
  titleOf: ({ name }) => name,
  list: (query, _scope, signal) =>
    listTeams({ query: queryOf(deleted ? { ...query, deleted: 'true' } : query) }, { signal }),
  columns: [
    { name: 'Team', cell: ({ name }) => <bdi>{name}</bdi> },
    { name: 'Your role', cell: ({ role }) => role },
    { name: 'Members', cell: ({ memberCount }) => memberCount.toLocaleString(), isEnd: true },
    ...(deleted ? [{ name: 'State', cell: () => <StatusBadge status="deleted" /> }] : []),
  ],
  acts: [
    {
      label: 'Restore',
      isFor: ({ role }) => deleted && role === 'owner',
      run: async ({ id, name }) => {
        await restoreTeam({ path: { teamId: id } });
        await queryClient.invalidateQueries({ queryKey: ['teams'] });
        return { say: `${name} is restored.` };
      },
    },
  ],
});

const ownTeams = teams(false);
const deletedTeams = teams(true);

const teamFields: readonly Field[] = [
  { name: 'name', label: 'Name', isRequired: true },
  {
    name: 'defaultFrom.email',
    label: 'Sender address',
    kind: 'email',
    isRequired: true,
    hint: 'Of emails that name none',
  },
  { name: 'defaultFrom.name', label: 'Sender name' },
];

const teamActs: readonly Act<undefined>[] = [
  {
    label: 'Make a team',
    ask: () => ({ title: 'Make a team', text: <p>You are its owner. Teams see nothing of one another.</p> }),
    fields: () => teamFields,
    run: async (_row, values) => {
      const { name } = await createTeam({ body: bodyOf(teamFields, values) });
      await queryClient.invalidateQueries({ queryKey: ['teams'] });
      return { say: `${name} is made. Choose it on the left.` };
    },
  },
];

const endActs: readonly Act<Me>[] = [
  {
    label: 'Erase your account',
    look: 'danger',
    ask: ({ email }) => ({
      title: 'Erase your account?',
      text: (
        <p>
          You leave all teams, your sessions end, and your name, password and address {email} are destroyed. API keys
          that you made belong to their teams and go on.
        </p>
      ),
    }),
    fields: proof,
    run: async (me, values) => {
      await erase({ body: bodyOf(proof(me), values) });
      sessionEnded();
      return { say: 'Your account is erased.' };
    },
  },
];

const AccountPage = ({ steps }: Readonly<{ steps: readonly string[] }>) => {
  const { scope } = usePlace();
  const readAgain = useAgain();
  const { me } = scope;
  // A link of a mail may have changed the address in another tab.
  useEffect(() => void again(), []);
  if (steps.length > 0) return <NothingHere title="Your account" />;
  const done = (): void => void readAgain();
  return (
    <>
      <PageHead title="Your account">
        <ActButtons acts={profileActs} row={me} onDone={done} />
      </PageHead>
      {isPlaceholder(me.email) ? (
        <Notice kind="note">
          <code>{me.email}</code> takes no mail. Change the address to one of yours, so that invitations, warnings and
          links for a forgotten password reach you.
        </Notice>
      ) : null}
      <Facts
        facts={[
          ['Name', <bdi key="name">{me.name ?? '–'}</bdi>],
          ['Address', <bdi key="address">{me.email ?? '–'}</bdi>],
          ['Second factor', me.secondFactor ? 'set up' : 'none'],
          ['Since', <Moment key="since" at={me.createdAt} />],
        ]}
      />
      <Section
        title="Password and second factor"
        about={howSignedIn(me)}
        buttons={
          <>
            <ActButtons acts={passwordActs} row={me} onDone={done} />
            {me.secondFactor ? <ActButtons acts={factorActs} row={me} onDone={done} /> : <SetUpFactor />}
          </>
        }
      />
      <Section
        title="Where you are signed in"
        buttons={<ActButtons acts={sessionActs} row={undefined} onDone={done} />}
      >
        <ResourceList resource={sessions} />
      </Section>
      <Identities />
      <Section title="Apps that act for you">
        <ResourceList resource={grants} />
      </Section>
      <Section title="Your teams" buttons={<ActButtons acts={teamActs} row={undefined} onDone={done} />}>
        <ResourceList resource={ownTeams} />
      </Section>
      <Section title="Deleted teams">
        <ResourceList resource={deletedTeams} />
      </Section>
      <Section title="The end" buttons={<ActButtons acts={endActs} row={me} onDone={done} />} />
    </>
  );
};

export default AccountPage;
