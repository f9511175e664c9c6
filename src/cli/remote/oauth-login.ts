/**
 * Signs a person in to a service from the command line by OAuth 2: in a browser of this machine, which comes back to a
 * loopback port (RFC 8252), or on any other device by a short code (RFC 8628). The program has no secret; PKCE, `state`
 * and `iss` show that an answer belongs to its own request.
 */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as OpenId from 'openid-client';
import { openClock } from '../../service/ops/clock.js';
import { isoTime } from '../../domain/core/time.js';
import { CliFault } from './output.js';

/** The client that every service knows. */
export const CLI_CLIENT_ID = 'sealpost-cli';

/** Tokens of a person for one team of a service. */
export type RemoteTokens = Readonly<{
  /** The address of the service as it names itself. */
  issuer: string;
  accessToken: string;
  refreshToken: string;
  /** The access token is good until then. */
  expiresAt: string;
  scopes: readonly string[];
}>;

export type SignInRequest = Readonly<{
  /** Address of the service. */
  url: string;
  scopes: readonly string[];
  /**
   * Opens a page in a browser of this machine; false: there is none. Absent on a machine without a screen: the person
   * then uses another device.
   */
  openBrowser?: (page: string) => Promise<boolean>;
  /** Shows a line to the person. */
  say: (line: string) => void;
  /** Ends the wait for the person. */
  signal?: AbortSignal;
}>;

/** A sign-in that failed; the message is for the person. `isPassing`: the service did not decide it, and may later. */
export class RemoteSignInFault extends CliFault {
  readonly isPassing: boolean;

  constructor(message: string, { isPassing = false, cause }: Readonly<{ isPassing?: boolean; cause?: unknown }> = {}) {
    super('SIGN_IN_FAILED', message, { cause });
    this.isPassing = isPassing;
  }
}

const TIMEOUT_S = 30;

/** A person has this long to decide in the browser. */
const DECIDE_MS = 10 * 60_000;

const CALLBACK = '/callback';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Signs a person in. Rejects with RemoteSignInFault. */
export const signIn = async (request: SignInRequest): Promise<RemoteTokens> => {
  const config = await discovered(request.url);
  const { openBrowser } = request;
  if (openBrowser !== undefined) {
    const tokens = await inWords(() => byBrowser(config, { ...request, openBrowser }));
    if (tokens !== undefined) return tokens;
    request.say('No browser opens on this machine.');
  }
  return inWords(() => byDevice(config, request));
};

/**
 * Exchanges the refresh token, which is good once, for the next tokens. Rejects with RemoteSignInFault if the grant has
 * ended: the person signs in again.
 */
export const refreshTokens = async (url: string, tokens: Pick<RemoteTokens, 'refreshToken'>): Promise<RemoteTokens> => {
  const config = await discovered(url);
  const openid = await import('openid-client');
  return inWords(async () => tokensOf(config, await openid.refreshTokenGrant(config, tokens.refreshToken)));
};

/** Ends the grant with all its tokens. A grant that has ended is no fault. */
export const signOut = async (url: string, tokens: Pick<RemoteTokens, 'refreshToken'>): Promise<void> => {
  const config = await discovered(url);
  const openid = await import('openid-client');
  await inWords(() => openid.tokenRevocation(config, tokens.refreshToken));
};

/** Opens a page by the program of the system for addresses. Out: false if there is no such program. */
export const openInBrowser = (page: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [program, ...args] = openers[process.platform] ?? ['xdg-open'];
    // No shell reads the address.
    const child = spawn(program, [...args, page], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });

const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

const discovered = async (text: string): Promise<OpenId.Configuration> => {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new RemoteSignInFault(`${text} is no address of a service; it begins with https://`);
  if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname))
    throw new RemoteSignInFault(`Tokens are sent by https alone, and ${text} begins with http://`);
  const openid = await import('openid-client');
  try {
    return await openid.discovery(url, CLI_CLIENT_ID, undefined, openid.None(), {
      algorithm: 'oauth2',
      timeout: TIMEOUT_S,
      execute: url.protocol === 'http:' ? [openid.allowInsecureRequests] : [],
    });
  } catch (fault) {
    throw new RemoteSignInFault(
      `${text} does not answer as a sealpost service of that address: ${reasonOf(fault)}. The address must be its SEALPOST_PUBLIC_URL.`,
      { cause: fault, isPassing: true },
    );
  }
};

/** Out: undefined if no browser opens. */
const byBrowser = async (
  config: OpenId.Configuration,
  { scopes, openBrowser, say, signal }: SignInRequest & Required<Pick<SignInRequest, 'openBrowser'>>,
): Promise<RemoteTokens | undefined> => {
  const openid = await import('openid-client');
  const [verifier, state] = [openid.randomPKCECodeVerifier(), openid.randomState()];
  const waiting = await waitForCallback(state);
  try {
    const page = openid.buildAuthorizationUrl(config, {
      redirect_uri: waiting.redirectUri,
      scope: scopes.join(' '),
      state,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).href;
    assertPage(page);
    if (!(await openBrowser(page))) return undefined;
    say(
      'Your browser opens. If it does not, open this address on this machine; for another device, log in with --no-browser:',
    );
    say(page);
    const callback = await before(waiting.callback, signal);
    const tokens = await openid.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    return tokensOf(config, tokens);
  } finally {
    waiting.close();
  }
};

const byDevice = async (
  config: OpenId.Configuration,
  { scopes, say, signal }: SignInRequest,
): Promise<RemoteTokens> => {
  const openid = await import('openid-client');
  const begun = await openid.initiateDeviceAuthorization(config, { scope: scopes.join(' ') });
  const { verification_uri: page, verification_uri_complete: whole } = begun;
  say(`Open ${assertPage(page)} on any device and type the code ${printable(begun.user_code)}`);
  if (whole !== undefined) say(`or open ${assertPage(whole)}`);
  say(`The code is good for ${Math.floor(begun.expires_in / 60)} minutes. Give it to nobody.`);
  const tokens = await openid.pollDeviceAuthorizationGrant(
    config,
    begun,
    undefined,
    signal === undefined ? {} : { signal },
  );
  return tokensOf(config, tokens);
};

/** Throws unless a browser opens the address: of other schemes the system would start other programs. */
const assertPage = (text: string): string => {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new RemoteSignInFault('The service names a page that is no web page.');
  return url.href;
};

/** A text of the service, without characters that a terminal acts on. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?');

const tokensOf = (
  config: OpenId.Configuration,
  { access_token: accessToken, refresh_token: refreshToken, scope, expires_in: seconds }: OpenId.TokenEndpointResponse,
): RemoteTokens => {
  if (refreshToken === undefined || seconds === undefined)
    throw new RemoteSignInFault('The service gave a token that cannot be refreshed.');
  return {
    issuer: config.serverMetadata().issuer,
    accessToken,
    refreshToken,
    expiresAt: isoTime(openClock().now() + seconds * 1_000),
    scopes: (scope ?? '').split(' ').filter(Boolean),
  };
};

type Waiting = Readonly<{ redirectUri: string; callback: Promise<URL>; close: () => void }>;

/**
 * Listens on a free loopback port for the browser that comes back. Requests without the `state` of this sign-in are
 * refused and do not end the wait: any page of the browser can send them.
 */
const waitForCallback = async (state: string): Promise<Waiting> => {
  let come: (url: URL) => void = () => {};
  const callback = new Promise<URL>((resolve) => (come = resolve));
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? '', origin(server));
    const isOurs = url?.pathname === CALLBACK && url.searchParams.get('state') === state;
    if (url === null || request.method !== 'GET' || !isOurs)
      return answerPage(response, 404, 'There is nothing here', 'This page waits for one answer of a sign-in alone.');
    const isRefused = url.searchParams.has('error');
    come(url);
    answerPage(
      response,
      200,
      isRefused ? 'Nothing was allowed' : 'You are signed in',
      'You can close this page and go back to the command line.',
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const close = (): void => {
    server.close();
    // An answer that is under way is finished; browsers keep other connections open.
    server.closeIdleConnections();
  };
  return { redirectUri: `${origin(server)}${CALLBACK}`, callback, close };
};

const origin = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** The page loads nothing, runs nothing, and sends its address, which has the code, to nobody. */
const answerPage = (response: ServerResponse<IncomingMessage>, status: number, title: string, text: string): void => {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      connection: 'close',
    })
    .end(
      `<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title} · sealpost</title></head>\n<body><main><h1>${title}</h1><p>${text}</p></main></body>\n</html>\n`,
    );
};

/** The result, unless the signal or the time of a decision ends the wait first. */
const before = async <Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> => {
  const late = AbortSignal.timeout(DECIDE_MS);
  const ended = AbortSignal.any(signal === undefined ? [late] : [late, signal]);
  let end = (): void => {};
  const given = new Promise<never>((_resolve, reject) => {
    end = () =>
      reject(
        new RemoteSignInFault(
          late.aborted ? 'Nobody decided in the browser within 10 minutes.' : 'The sign-in was given up.',
        ),
      );
  });
  if (ended.aborted) end();
  ended.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([result, given]);
  } finally {
    ended.removeEventListener('abort', end);
  }
};

/** Faults of the service and of the library in words. */
const inWords = async <Result>(act: () => Promise<Result>): Promise<Result> => {
  try {
    return await act();
  } catch (fault) {
    if (fault instanceof RemoteSignInFault) throw fault;
    const code = codeOf(fault);
    throw new RemoteSignInFault(messages[code] ?? `The sign-in failed: ${reasonOf(fault)}.`, {
      cause: fault,
      isPassing: !decided.has(code),
    });
  }
};

const messages: Readonly<Partial<Record<string, string>>> = {
  access_denied: 'The person denied the sign-in.',
  expired_token: 'The code has expired. Sign in again.',
  invalid_grant: 'What was granted has ended or expired. Sign in again.',
  OAUTH_TIMEOUT: 'The service does not answer, or the code has expired. Sign in again.',
  OAUTH_ABORT: 'The sign-in was given up.',
};

/** Answers of the service after which asking again changes nothing. */
const decided: ReadonlySet<string> = new Set([
  'access_denied',
  'expired_token',
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
  'OAUTH_ABORT',
]);

const codeOf = (fault: unknown): string => {
  const { error, code } = fault as Readonly<{ error?: unknown; code?: unknown }>;
  return typeof error === 'string' ? error : typeof code === 'string' ? code : '';
};

/** Messages of the library and of Node hold no token and no code. */
const reasonOf = (fault: unknown): string => {
  const { error_description: description, cause } = fault as Readonly<{ error_description?: unknown; cause?: unknown }>;
  if (typeof description === 'string') return printable(description).replace(/\.$/, '');
  const deeper = cause instanceof Error ? `: ${cause.message}` : '';
  return fault instanceof Error ? `${fault.message}${deeper}` : 'unknown fault';
};
