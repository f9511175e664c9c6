/**
 * Programs on the machine of a person, against the whole service over its port: the sign-in of the command line, a
 * client of the device grant, and the official MCP client, which registers itself.
 */
import { createServer } from 'node:http';
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/client';
import * as openid from 'openid-client';
import t, { type Test } from 'tap';
import type { SignedIn } from '../../src/api/people.js';
import { refreshTokens, signIn, signOut } from '../../src/cli/remote/oauth-login.js';
import { startTestApp, type TestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { freePort } from '../support/free-port.js';
import { PASSWORD } from '../support/people.js';

t.setTimeout(900_000);

const NOBODY = { authorization: '' };
const ada = { email: 'ada@example.com', password: PASSWORD };

type Form = Readonly<Record<string, string>>;
type Setting = Readonly<{
  app: TestApp;
  url: string;
  ofAda: Readonly<{ authorization: string }>;
  /** A browser with Ada before it: it signs in and decides. Out: the page that comes last, and its address. */
  visit: (page: string, decision?: 'allow' | 'deny') => Promise<Readonly<{ url: URL; status: number; html: string }>>;
}>;

let networks = 0;

const fieldsOf = (html: string): Form =>
  Object.fromEntries(
    [...html.matchAll(/<input (?:type="hidden" )?name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      (value ?? '').replaceAll('&amp;', '&'),
    ]),
  );

const open = async (t: Test, settings: Form = {}): Promise<Setting> => {
  const port = await freePort();
  const dataDir = temporaryDirectory(t);
  const app = await startTestApp({ isFounded: true, dataDir, settings: { PORT: String(port), ...settings } });
  t.teardown(app.stop);
  await app.server.listen({ host: '127.0.0.1', port });
  await app.call('POST', '/api/auth/register', { ...ada, name: 'Ada Example' }, NOBODY);
  const { accessToken } = (await app.call<SignedIn>('POST', '/api/auth/login', ada, NOBODY)).body;
  await app.whenCaughtUp();
  return {
    app,
    url: `http://127.0.0.1:${port}`,
    ofAda: { authorization: `Bearer ${accessToken}` },
    visit: async (page, decision = 'allow') => {
      const { pathname, search } = new URL(page);
      // Sign-ins are counted by network.
      const remoteAddress = `198.51.100.${(networks += 1)}`;
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const post = (fields: Form) => {
        const payload = new URLSearchParams(fields).toString();
        return app.server.inject({ method: 'POST', url: pathname, remoteAddress, headers, payload });
      };
      const link = await app.server.inject({ url: `${pathname}${search}`, remoteAddress });
      const consent = await post({ ...fieldsOf(link.body), ...ada });
      const end = await post({ ...fieldsOf(consent.body), decision });
      const { location } = end.headers;
      if (location === undefined) return { url: new URL(page), status: end.statusCode, html: consent.body };
      return { url: new URL(location), status: end.statusCode, html: consent.body };
    },
  };
};

const statusOf = async (url: string, accessToken: string): Promise<number> =>
  (await fetch(`${url}/api/emails`, { headers: { authorization: `Bearer ${accessToken}` } })).status;

void t.test('the command line signs a person in by the browser of the machine', async (t) => {
  const { app, url, ofAda, visit } = await open(t);
  const said: string[] = [];
  let answer: Response | undefined;
  let stray: Response | undefined;
  const tokens = await signIn({
    url,
    scopes: ['emails:read', 'templates:write'],
    say: (line) => void said.push(line),
    openBrowser: async (page) => {
      t.match(page, /redirect_uri=http%3A%2F%2F127\.0\.0\.1%3A\d+%2Fcallback/);
      const back = await visit(page);
      t.match(back.html, 'Allow sealpost command line to act for you?');
      stray = await fetch(new URL('/callback?code=x&state=stolen', back.url));
      answer = await fetch(back.url);
      return true;
    },
  });
  t.equal(stray?.status, 404, 'an answer without the state of the sign-in does not end it');
  t.equal(answer?.status, 200);
  t.match(await answer?.text(), 'You are signed in');
  t.match(answer?.headers.get('content-security-policy'), /default-src 'none'/);
  t.match(said, [/browser/, /^http:\/\/127\.0\.0\.1:/]);
  t.strictSame([tokens.issuer, tokens.scopes], [url, ['emails:read', 'templates:write']]);
  t.ok(Math.abs(Date.parse(tokens.expiresAt) - Date.now() - 3_600_000) < 60_000);
  t.equal(await statusOf(url, tokens.accessToken), 200);
  const next = await refreshTokens(url, tokens);
  t.not(next.refreshToken, tokens.refreshToken);
  t.equal(await statusOf(url, next.accessToken), 200);
  await app.whenCaughtUp();
  t.match(await app.call('GET', '/api/users/me/grants', undefined, ofAda), {
    body: { data: [{ appId: 'sealpost-cli', appName: 'sealpost command line' }] },
  });
  t.match(await app.call('DELETE', '/api/oauth-apps/sealpost-cli', undefined, ofAda), { status: 404 });
  t.match(await app.call('PATCH', '/api/oauth-apps/sealpost-cli', { name: 'Mine' }, ofAda), { status: 404 });
  await signOut(url, next);
  t.equal(await statusOf(url, next.accessToken), 401);
  await t.rejects(refreshTokens(url, next), { name: 'CliFault', message: /Sign in again/ });
});

void t.test('the command line tells why nobody was signed in', async (t) => {
  const { url, visit } = await open(t);
  const request = { url, scopes: ['emails:read'], say: () => undefined };
  const denied = signIn({
    ...request,
    openBrowser: async (page) => (await fetch((await visit(page, 'deny')).url)).status === 200,
  });
  await t.rejects(denied, { name: 'CliFault', message: 'The person denied the sign-in.' });
  const ended = new AbortController();
  const givenUp = signIn({
    ...request,
    signal: ended.signal,
    openBrowser: async () => {
      ended.abort();
      return true;
    },
  });
  await t.rejects(givenUp, { message: 'The sign-in was given up.' });
  const mixedUp = signIn({
    ...request,
    openBrowser: async (page) => {
      const { url: back } = await visit(page);
      back.searchParams.set('iss', 'https://evil.example');
      await fetch(back);
      return true;
    },
  });
  await t.rejects(mixedUp, { name: 'CliFault', message: /iss/ });
  await t.rejects(signIn({ ...request, url: 'http://mail.example.com' }), { message: /https alone/ });
  await t.rejects(signIn({ ...request, url: 'mail' }), { message: /no address/ });
  await t.rejects(signIn({ ...request, url: `http://127.0.0.1:${await freePort()}` }), { message: /does not answer/ });
});

void t.test('a service that names a page of another scheme starts no program', async (t) => {
  const opened: string[] = [];
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        issuer: origin,
        authorization_endpoint: 'ms-msdt:/id',
        token_endpoint: `${origin}/oauth/token`,
        code_challenge_methods_supported: ['S256'],
      }),
    );
  });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const openBrowser = async (page: string): Promise<boolean> => opened.push(page) > 0;
  await t.rejects(signIn({ url: origin, scopes: [], say: () => undefined, openBrowser }), {
    name: 'CliFault',
  });
  t.strictSame(opened, []);
});

void t.test('on a machine without a browser the command line shows a code', async (t) => {
  const { url, visit } = await open(t);
  const said: string[] = [];
  const tokens = await signIn({
    url,
    scopes: ['emails:read'],
    openBrowser: async () => false,
    say: (line) => {
      said.push(line);
      const whole = /^or open (\S+)/.exec(line)?.[1];
      if (whole !== undefined) void visit(whole).then(({ status }) => t.equal(status, 200));
    },
  });
  t.match(said, [
    /No browser/,
    /\/oauth\/device on any device and type the code [A-Z]{4}-[A-Z]{4}$/,
    /^or open/,
    /nobody/,
  ]);
  t.equal(await statusOf(url, tokens.accessToken), 200);
});

void t.test('openid-client is a device', async (t) => {
  const { url, visit } = await open(t);
  const config = await openid.discovery(new URL(url), 'sealpost-cli', undefined, openid.None(), {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
  const begun = await openid.initiateDeviceAuthorization(config, { scope: 'emails:read' });
  await visit(String(begun.verification_uri_complete), 'deny');
  const refused = await openid.pollDeviceAuthorizationGrant(config, begun).catch((fault: unknown) => fault);
  t.match(refused, { error: 'access_denied' });
});

type Kept = { client?: object; tokens?: object; verifier?: string; page?: URL };

const providerOf = (kept: Kept, redirectUrl: string): OAuthClientProvider => ({
  redirectUrl,
  clientMetadata: {
    client_name: 'Editor <b>',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  },
  state: () => 'a state',
  clientInformation: () => kept.client as never,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens as never,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  redirectToAuthorization: (page) => void (kept.page = page),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => String(kept.verifier),
});

void t.test('an MCP client registers itself, and reads with the consent of a person', async (t) => {
  const { app, url, ofAda, visit } = await open(t);
  t.match(await app.call('GET', '/.well-known/oauth-protected-resource', undefined, NOBODY), {
    body: { resource: url, authorization_servers: [url] },
  });
  const kept: Kept = {};
  const provider = providerOf(kept, 'http://127.0.0.1:33418/callback');
  t.equal(await auth(provider, { serverUrl: `${url}/mcp` }), 'REDIRECT');
  t.match(kept.client, { client_id: /^sealpost_client_/, token_endpoint_auth_method: 'none' });
  t.equal(kept.page?.searchParams.get('resource'), `${url}/mcp`);
  t.equal(kept.page?.searchParams.get('scope'), 'emails:read templates:read analytics:read suppressions:read');
  const back = await visit(String(kept.page));
  t.match(back.html, 'Allow Editor &lt;b&gt; to act for you?');
  t.match(back.html, /This app registered itself: nobody has checked its name\..*<strong>127\.0\.0\.1:33418<\/strong>/);
  const authorizationCode = String(back.url.searchParams.get('code'));
  const iss = String(back.url.searchParams.get('iss'));
  t.equal(await auth(provider, { serverUrl: `${url}/mcp`, authorizationCode, iss }), 'AUTHORIZED');
  t.match(kept.tokens, { scope: 'emails:read templates:read analytics:read suppressions:read' });
  const first = { ...kept.tokens } as { access_token: string; refresh_token: string };
  t.equal(await auth(provider, { serverUrl: `${url}/mcp` }), 'AUTHORIZED', 'by the refresh token');
  t.not((kept.tokens as typeof first).access_token, first.access_token);
  await app.whenCaughtUp();
  const grants = await app.call<{ data: { id: string }[] }>('GET', '/api/users/me/grants', undefined, ofAda);
  t.match(grants.body.data, [{ appId: /^self_[A-Za-z0-9_-]{22}$/, appName: 'Editor <b>' }]);
  const elsewhere = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: (kept.tokens as typeof first).refresh_token,
    client_id: (kept.client as { client_id: string }).client_id,
    resource: url,
  });
  const token = (body: URLSearchParams) => fetch(`${url}/oauth/token`, { method: 'POST', body });
  const refused = await token(elsewhere);
  t.match([refused.status, await refused.json()], [400, { error: 'invalid_target' }], 'another resource than granted');
  elsewhere.set('resource', 'https://evil.example');
  t.match(await (await token(elsewhere)).json(), { error: 'invalid_target' });
  const asDevice = new URLSearchParams({ client_id: String(elsewhere.get('client_id')) });
  const device = await fetch(`${url}/oauth/device_authorization`, { method: 'POST', body: asDevice });
  t.match(await device.json(), { error: 'unauthorized_client' });
  const [{ id } = { id: '' }] = grants.body.data;
  await app.call('DELETE', `/api/users/me/grants/${id}`, undefined, ofAda);
  elsewhere.set('resource', `${url}/mcp`);
  t.match(await (await token(elsewhere)).json(), { error: 'invalid_grant' });
});

const register = (url: string): Promise<Response> =>
  fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/'] }),
  });

void t.test('an operator lets no app register itself', async (t) => {
  const { app, url } = await open(t, { SEALPOST_OAUTH_REGISTRATION: 'closed' });
  const metadata = await app.call('GET', '/.well-known/oauth-authorization-server', undefined, NOBODY);
  t.notOk('registration_endpoint' in metadata.body);
  const refused = await register(url);
  t.match([refused.status, await refused.json()], [403, { error: 'access_denied' }]);
  await t.rejects(auth(providerOf({}, 'http://127.0.0.1:33418/'), { serverUrl: `${url}/mcp` }));
});

void t.test('strangers register few apps', async (t) => {
  const { url } = await open(t);
  const statuses: number[] = [];
  for (let count = 0; count < 31; count += 1) statuses.push((await register(url)).status);
  t.strictSame([statuses.filter((status) => status === 201).length, statuses.at(-1)], [30, 429]);
});
