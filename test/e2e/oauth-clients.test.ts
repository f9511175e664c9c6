/**
 * Libraries that apps use, against the whole service: each gets tokens with a person's consent, calls, refreshes, asks
 * about a token and gives it up.
 */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import t, { type Test } from 'tap';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import type { CreatedOAuthApp } from '../../src/api/apps.js';
import type { SignedIn } from '../../src/api/people.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { freePort } from '../support/free-port.js';
import { PASSWORD } from '../support/people.js';

t.setTimeout(900_000);

const redirectUri = 'http://127.0.0.1:8976/callback';
const ada = { email: 'ada@example.com', password: PASSWORD };

/** Names of RFC 7591, as the metadata of the service lists them. */
const methods = ['client_secret_basic', 'client_secret_post', 'none'] as const;
type Method = (typeof methods)[number];

type Visit = (authorizationUrl: string) => Promise<URL>;
type Given = Readonly<{ issuer: string; id: string; secret: string | null; method: Method; visit: Visit }>;
/** `called`: the status of a call with the access token. `own`: the scope that the app got for itself. */
type Came = Readonly<{
  scope: string;
  called: number;
  refreshed: string;
  own?: string;
  active?: boolean;
  activeAfter?: boolean;
}>;
type Library = Readonly<{ name: string; skip: string | false; run: (t: Test, given: Given) => Promise<Came> }>;

let networks = 0;

/**
 * The steps of a browser with Ada before it: it signs in, allows, and returns its redirect. It has a network of its
 * own, because sign-ins are counted by network.
 */
const visitOf =
  ({ server }: TestApp): Visit =>
  async (authorizationUrl) => {
    const { pathname, search } = new URL(authorizationUrl);
    const remoteAddress = `198.51.100.${(networks += 1)}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const fieldsOf = (html: string): Record<string, string> =>
      Object.fromEntries(
        [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name, value]) => [
          name,
          value,
        ]),
      );
    const post = (fields: Readonly<Record<string, string>>) =>
      server.inject({
        method: 'POST',
        url: pathname,
        remoteAddress,
        headers,
        payload: new URLSearchParams(fields).toString(),
      });
    const page = await server.inject({ url: `${pathname}${search}`, remoteAddress });
    const signedIn = await post({ ...fieldsOf(page.body), ...ada });
    const answer =
      signedIn.statusCode === 303 ? signedIn : await post({ ...fieldsOf(signedIn.body), decision: 'allow' });
    return new URL(String(answer.headers.location));
  };

const statusOf = async (issuer: string, accessToken: string): Promise<number> =>
  (await fetch(`${issuer}/api/emails`, { headers: { authorization: `Bearer ${accessToken}` } })).status;

const byOpenidClient = async (t: Test, { issuer, id, secret, method, visit }: Given): Promise<Came> => {
  const authentication = {
    client_secret_basic: () => openid.ClientSecretBasic(String(secret)),
    client_secret_post: () => openid.ClientSecretPost(String(secret)),
    none: openid.None,
  }[method]();
  const config = await openid.discovery(new URL(issuer), id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
  const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()];
  const urlFor = async (scope: string): Promise<string> =>
    openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope,
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    }).href;
  const checks = { pkceCodeVerifier, expectedState };
  const refused = openid.authorizationCodeGrant(config, await visit(await urlFor('templates:read')), checks);
  t.match(await refused.catch((fault: unknown) => fault), { error: 'invalid_scope' }, 'a scope that the app has not');
  const tokens = await openid.authorizationCodeGrant(config, await visit(await urlFor('emails:read')), checks);
  const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
  const called = await statusOf(issuer, refreshed.access_token);
  const came = { scope: String(tokens.scope), called, refreshed: String(refreshed.scope) };
  if (method === 'none') return came;
  const own = await openid.clientCredentialsGrant(config, { scope: 'emails:read' });
  const isActive = async (): Promise<boolean> =>
    (await openid.tokenIntrospection(config, refreshed.access_token)).active;
  const active = await isActive();
  await openid.tokenRevocation(config, String(refreshed.refresh_token));
  return { ...came, own: String(own.scope), active, activeAfter: await isActive() };
};

const byOauth4webapi = async (_t: Test, { issuer, id, secret, method, visit }: Given): Promise<Came> => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const found = await oauth.discoveryRequest(new URL(issuer), { ...insecure, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(new URL(issuer), found);
  const client: oauth.Client = { client_id: id };
  const authentication = {
    client_secret_basic: () => oauth.ClientSecretBasic(String(secret)),
    client_secret_post: () => oauth.ClientSecretPost(String(secret)),
    none: oauth.None,
  }[method]();
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const asked = new URLSearchParams({
    client_id: id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'emails:read',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const back = await visit(`${server.authorization_endpoint}?${asked.toString()}`);
  const params = oauth.validateAuthResponse(server, client, back, state);
  const exchanged = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    params,
    redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, exchanged);
  const again = await oauth.refreshTokenGrantRequest(
    server,
    client,
    authentication,
    String(tokens.refresh_token),
    insecure,
  );
  const refreshed = await oauth.processRefreshTokenResponse(server, client, again);
  const called = await statusOf(issuer, refreshed.access_token);
  const came = { scope: String(tokens.scope), called, refreshed: String(refreshed.scope) };
  if (method === 'none') return came;
  const ownAnswer = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authentication,
    { scope: 'emails:read' },
    insecure,
  );
  const own = await oauth.processClientCredentialsResponse(server, client, ownAnswer);
  const isActive = async (): Promise<boolean> => {
    const answer = await oauth.introspectionRequest(server, client, authentication, refreshed.access_token, insecure);
    return (await oauth.processIntrospectionResponse(server, client, answer)).active;
  };
  const active = await isActive();
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, authentication, String(refreshed.refresh_token), insecure),
  );
  return { ...came, own: String(own.scope), active, activeAfter: await isActive() };
};

/** Prints the link of the page, reads where the person was sent, and prints what came of it. */
const authlib = `
import json, sys
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

issuer, client_id, client_secret, method, redirect_uri = sys.argv[1:]

def session(**more):
    return OAuth2Session(client_id, client_secret or None, token_endpoint_auth_method=method, scope='emails:read',
                         revocation_endpoint_auth_method=method, **more)

verifier = generate_token(48)
client = session(redirect_uri=redirect_uri, code_challenge_method='S256')
url, state = client.create_authorization_url(issuer + '/oauth/authorize', code_verifier=verifier)
print(url, flush=True)
token = client.fetch_token(issuer + '/oauth/token', authorization_response=sys.stdin.readline().strip(), state=state, code_verifier=verifier)
refreshed = client.refresh_token(issuer + '/oauth/token', refresh_token=token['refresh_token'])
came = {'scope': token['scope'], 'called': client.get(issuer + '/api/emails').status_code, 'refreshed': refreshed['scope']}
if method != 'none':
    came['own'] = session().fetch_token(issuer + '/oauth/token', grant_type='client_credentials')['scope']
    active = lambda: client.introspect_token(issuer + '/oauth/introspect', token=refreshed['access_token']).json()['active']
    came['active'] = active()
    client.revoke_token(issuer + '/oauth/revoke', token=refreshed['refresh_token']).raise_for_status()
    came['activeAfter'] = active()
print(json.dumps(came), flush=True)
`;

const byAuthlib = async (t: Test, { issuer, id, secret, method, visit }: Given): Promise<Came> => {
  const file = join(temporaryDirectory(t), 'client.py');
  writeFileSync(file, authlib);
  const child = spawn('python3', [file, issuer, id, secret ?? '', method, redirectUri], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, AUTHLIB_INSECURE_TRANSPORT: '1' },
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const url = await lines.next();
  if (url.done === true) throw new Error('Authlib made no link');
  child.stdin.end(`${(await visit(url.value)).href}\n`);
  const came = await lines.next();
  if (came.done === true) throw new Error('Authlib got no tokens');
  return JSON.parse(came.value) as Came;
};

const hasAuthlib = (): boolean =>
  spawnSync('python3', ['-c', 'import authlib.integrations.requests_client']).status === 0;

const libraries: readonly Library[] = [
  { name: 'openid-client', skip: false, run: byOpenidClient },
  { name: 'oauth4webapi', skip: false, run: byOauth4webapi },
  {
    name: 'Authlib',
    skip: !hasAuthlib() && 'python3 with the packages authlib and requests is not here',
    run: byAuthlib,
  },
];

await t.test('libraries of apps', async (t) => {
  const port = await freePort();
  const app = await startTestApp({ isFounded: true, dataDir: temporaryDirectory(t), settings: { PORT: String(port) } });
  t.teardown(app.stop);
  await app.server.listen({ host: '127.0.0.1', port });
  const nobody = { authorization: '' };
  await app.call('POST', '/api/auth/register', { ...ada, name: 'Ada Example' }, nobody);
  const { accessToken } = (await app.call<SignedIn>('POST', '/api/auth/login', ada, nobody)).body;
  await app.whenCaughtUp();
  const ofAda = { authorization: `Bearer ${accessToken}` };
  const { issuer } = (
    await app.call<{ issuer: string }>('GET', '/.well-known/oauth-authorization-server', undefined, nobody)
  ).body;
  for (const { name, skip, run } of libraries) {
    for (const method of methods) {
      await t.test(`${name} by ${method}`, { skip }, async (t) => {
        const kind = method === 'none' ? 'public' : 'confidential';
        const request = { name: `${name} ${method}`, kind, redirectUris: [redirectUri], scopes: ['emails:read'] };
        const created = await app.call<CreatedOAuthApp>('POST', '/api/oauth-apps', request, ofAda);
        t.equal(created.status, 201, created.text);
        const { id, clientSecret: secret } = created.body;
        const came = await run(t, { issuer, id, secret, method, visit: visitOf(app) });
        const ofSecret = { own: 'emails:read', active: true, activeAfter: false };
        t.strictSame(came, {
          scope: 'emails:read',
          called: 200,
          refreshed: 'emails:read',
          ...(method === 'none' ? {} : ofSecret),
        });
      });
    }
  }
});
