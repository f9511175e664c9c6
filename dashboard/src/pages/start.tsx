/**
 * The page behind a one-time link, `/app/start#<token>`: it signs in, and offers to choose a password. The token stands
 * behind the `#`, which browsers send to nobody.
 */
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { Form } from 'react-aria-components';
import type {
  ChangePasswordData,
  ChangePasswordResponse,
  SignInByLinkData,
  SignInByLinkResponse,
  UpdateOwnUserData,
  UpdateOwnUserResponse,
} from '#api';
import { ApiFault, call } from '../api/client';
import { meQuery, queryClient } from '../api/queries';
import { isSignedIn, noteExpiry } from '../api/session';
import { Button, ButtonLink, Notice, TextField } from '../ui/controls';
import { Loading } from '../ui/states';
import { useTitle } from '../ui/title';
import { Card } from './card';
import styles from './card.module.css';
import { inWords, textIn } from './sign-in';

type User = Pick<SignInByLinkResponse['user'], 'name' | 'email'>;

type Step =
  | Readonly<{ name: 'signing-in' }>
  | Readonly<{ name: 'code'; fault?: string }>
  | Readonly<{ name: 'invalid'; fault: string }>
  | Readonly<{ name: 'password'; user: User; fault?: string }>;

const PASSWORD_CHARS_MIN = 12;

/** The token is taken out of the address, so that the history of the browser does not keep it. */
const takeToken = (): string => {
  const token = window.location.hash.slice(1);
  if (token !== '') window.history.replaceState(window.history.state, '', window.location.pathname);
  return token;
};

export const StartPage = () => {
  const [token] = useState(takeToken);
  const [step, setStep] = useState<Step>({ name: 'signing-in' });
  const navigate = useNavigate();
  useTitle('Welcome');

  const signIn = async (code?: string): Promise<void> => {
    try {
      const { expiresIn, user } = await call<SignInByLinkData, SignInByLinkResponse>('POST', {
        url: '/api/auth/link',
        body: code === undefined ? { token } : { token, code },
      });
      noteExpiry(expiresIn);
      queryClient.clear();
      setStep({ name: 'password', user });
    } catch (error) {
      if (error instanceof ApiFault && error.code === 'CODE_REQUIRED') setStep({ name: 'code' });
      else if (error instanceof ApiFault && error.code === 'INVALID_CODE')
        setStep({ name: 'code', fault: error.message });
      else setStep({ name: 'invalid', fault: inWords(error) });
    }
  };

  /** The link has signed the person in, and the page is loaded again. */
  const goOn = async (): Promise<void> => {
    try {
      const user = await queryClient.fetchQuery({ ...meQuery, staleTime: 0 });
      if (user.mayChoosePassword === true) setStep({ name: 'password', user });
      else await navigate({ to: '/emails' });
    } catch (error) {
      setStep({ name: 'invalid', fault: inWords(error) });
    }
  };

  useEffect(() => {
    if (token !== '') void signIn();
    else if (isSignedIn()) void goOn();
    else setStep({ name: 'invalid', fault: 'The address is not whole: the part behind # is missing.' });
    // The token does not change, and is used once.
  }, [token]);

  switch (step.name) {
    case 'signing-in':
      return (
        <Card title="Welcome">
          <Loading label="Signing in" />
        </Card>
      );
    case 'code':
      return <CodeStep fault={step.fault} onCode={signIn} />;
    case 'invalid':
      return <InvalidLink fault={step.fault} />;
    case 'password':
      return <PasswordStep user={step.user} />;
  }
};

const CodeStep = ({
  fault,
  onCode,
}: Readonly<{ fault: string | undefined; onCode: (code: string) => Promise<void> }>) => (
  <Card title="One more step">
    <Form
      className={styles['form'] ?? ''}
      onSubmit={(event: FormEvent<HTMLFormElement>) => {
        event.preventDefault();
        void onCode(textIn(new FormData(event.currentTarget), 'code').replaceAll(' ', ''));
      }}
    >
      {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
      <TextField
        label="Code of your second factor"
        name="code"
        autoComplete="one-time-code"
        hint="Six digits of your app, or a recovery code"
        isRequired
        autoFocus
      />
      <Button type="submit" look="main">
        Sign in
      </Button>
    </Form>
  </Card>
);

const InvalidLink = ({ fault }: Readonly<{ fault: string }>) => (
  <Card title="This link does not sign you in">
    <Notice kind="fault">{fault}</Notice>
    <p>
      A link works once. On the machine of the service, <code>npx sealpost user link ADDRESS</code> prints another;
      while there is no user yet, a restart does.
    </p>
    <ButtonLink href="/sign-in">Sign in with a password</ButtonLink>
  </Card>
);

/** The person is signed in and may go on without a password, which the next sign-in then lacks. */
const PasswordStep = ({ user }: Readonly<{ user: User }>) => {
  const navigate = useNavigate();
  const [fault, setFault] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const isNamed = user.name !== null && user.name !== 'Owner';

  const save = async (form: FormData): Promise<void> => {
    setIsBusy(true);
    setFault(undefined);
    const name = textIn(form, 'name').trim();
    try {
      if (name !== '' && name !== user.name)
        await call<UpdateOwnUserData, UpdateOwnUserResponse>('PATCH', { url: '/api/users/me', body: { name } });
      const body = { newPassword: textIn(form, 'password') };
      await call<ChangePasswordData, ChangePasswordResponse>('POST', { url: '/api/auth/password/change', body });
      queryClient.clear();
      await navigate({ to: '/emails' });
    } catch (error) {
      setFault(inWords(error));
      setIsBusy(false);
    }
  };

  return (
    <Card title={isNamed ? `Welcome, ${user.name ?? ''}` : 'Welcome to sealpost'}>
      <p>You are signed in. Choose a password for the next time.</p>
      <Form
        className={styles['form'] ?? ''}
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          void save(new FormData(event.currentTarget));
        }}
      >
        {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
        <TextField
          label="Sign-in name"
          name="username"
          autoComplete="username"
          value={user.email ?? ''}
          hint="You sign in with this address"
          isReadOnly
        />
        {isNamed ? null : <TextField label="Your name" name="name" autoComplete="name" defaultValue="" />}
        <TextField
          label="New password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={PASSWORD_CHARS_MIN}
          hint={`At least ${PASSWORD_CHARS_MIN} characters`}
          isRequired
          autoFocus
        />
        <Button type="submit" look="main" isPending={isBusy}>
          Save and go on
        </Button>
        <ButtonLink href="/emails" look="quiet">
          Later
        </ButtonLink>
      </Form>
    </Card>
  );
};
