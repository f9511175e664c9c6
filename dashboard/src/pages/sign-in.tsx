/** The page to sign in: by password and second factor, or by a provider. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import { Form } from 'react-aria-components';
import type { ListSignInProvidersData, ListSignInProvidersResponse, LoginData, LoginResponse } from '#api';
import { ApiFault, call } from '../api/client';
import { queryClient } from '../api/queries';
import { noteExpiry } from '../api/session';
import { ownPath } from '../api/values';
import { Button, Notice, TextField } from '../ui/controls';
import { useTitle } from '../ui/title';
import { Card } from './card';
import styles from './card.module.css';

/** The key of the read of providers. */
const PROVIDERS = 'providers';

export const SignInPage = () => {
  const returnTo = insideOnly(useSearch({ from: '/sign-in' }).returnTo);
  const navigate = useNavigate();
  const [asksCode, setAsksCode] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  useTitle('Sign in');
  // The reads of the person before go when no page shows them: a page reads again what goes from under it.
  useEffect(() => queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== PROVIDERS }), []);

  const signIn = async (form: FormData): Promise<void> => {
    setIsBusy(true);
    setFault(undefined);
    const code = textIn(form, 'code').replaceAll(' ', '');
    const body = {
      email: textIn(form, 'email').trim(),
      password: textIn(form, 'password'),
      session: 'cookie' as const,
    };
    try {
      const { expiresIn } = await call<LoginData, LoginResponse>('POST', {
        url: '/api/auth/login',
        body: code === '' ? body : { ...body, code },
      });
      noteExpiry(expiresIn);
      queryClient.clear();
      await navigate({ to: returnTo });
    } catch (error) {
      const isCodeMissing = error instanceof ApiFault && error.code === 'CODE_REQUIRED';
      if (isCodeMissing) setAsksCode(true);
      else setFault(inWords(error));
      setIsBusy(false);
    }
  };

  return (
    <Card title="Sign in">
      {window.isSecureContext ? null : <NeedsHttps />}
      <Form
        className={styles['form'] ?? ''}
        onSubmit={(event: FormEvent<HTMLFormElement>) => {
          event.preventDefault();
          void signIn(new FormData(event.currentTarget));
        }}
      >
        {fault === undefined ? null : <Notice kind="fault">{fault}</Notice>}
        <TextField label="Email address" name="email" type="email" autoComplete="username" isRequired autoFocus />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" isRequired />
        {asksCode ? (
          <TextField
            label="Code of your second factor"
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            hint="Six digits of your app, or a recovery code"
            isRequired
            autoFocus
          />
        ) : null}
        <Button type="submit" look="main" isPending={isBusy}>
          Sign in
        </Button>
      </Form>
      <Providers returnTo={returnTo} />
      <p className={styles['below']}>
        <a href={ownPath('/account')}>Have you forgotten your password?</a>
      </p>
    </Card>
  );
};

/** A path of the dashboard alone: another address would lead to a strange site after the sign-in. */
const insideOnly = (returnTo: string | undefined): string =>
  returnTo !== undefined && /^\/(?![/\\])/.test(returnTo) ? returnTo : '/';

export const textIn = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
};

export const inWords = (fault: unknown): string =>
  fault instanceof ApiFault ? fault.message : 'The page met a fault of its own. Reload it and try again.';

/** Browsers keep the cookies of a session over HTTPS, and on the machine itself. */
const NeedsHttps = () => (
  <Notice kind="fault">
    Signing in needs HTTPS, because browsers keep the session over HTTPS alone. Set <code>SEALPOST_PUBLIC_URL</code> to
    an https:// address, behind a proxy or with <code>SEALPOST_TLS_CERT</code>, or open the page on the machine itself.
  </Notice>
);

const Providers = ({ returnTo }: Readonly<{ returnTo: string }>) => {
  const { data } = useQuery({
    queryKey: [PROVIDERS],
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      call<ListSignInProvidersData, ListSignInProvidersResponse>('GET', { url: '/api/auth/oidc' }, { signal }),
  });
  // A page that was restored from the history would still show an old list.
  useEffect(() => () => void queryClient.removeQueries({ queryKey: [PROVIDERS] }), []);
  if (data === undefined || data.data.length === 0) return null;
  const query = new URLSearchParams({ returnTo: `/app${returnTo}` }).toString();
  return (
    <ul className={styles['ways']}>
      {data.data.map(({ id, label }) => (
        <li key={id}>
          <a href={`${ownPath(`/api/auth/oidc/${encodeURIComponent(id)}/start`)}?${query}`}>Sign in with {label}</a>
        </li>
      ))}
    </ul>
  );
};
