/** Calls of the API: header fields, time-outs, and further attempts where a call may be repeated. */
import { refusalOf, SealpostError } from './errors.js';

export type ClientOptions = Readonly<{
  /** The address of the service, such as `https://mail.example.com`; a path of a proxy belongs to it. */
  url: string;
  /** An API key, or the access token of a person or an app; a function is asked before each attempt. */
  key: string | (() => string | Promise<string>);
  /** The team of the calls, for people who are in several. */
  teamId?: string;
  /** Attempts after the first; default: 3. */
  retries?: number;
  /** The longest that one attempt may take; default: 30,000. */
  timeoutMs?: number;
  /** Default: that of the runtime. */
  fetch?: typeof globalThis.fetch;
}>;

export type CallOptions = Readonly<{
  signal?: AbortSignal;
  /** Default: those of the client. */
  retries?: number;
  timeoutMs?: number;
  /** Makes the call safe to repeat, also in another process; default: a new one for each call. */
  idempotencyKey?: string;
  /** The `ETag` or revision that was read; the call is refused with `REVISION_MISMATCH` if it has changed. */
  ifMatch?: string | number;
}>;

export type Query = Readonly<Record<string, unknown>>;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** `isKeyed`: the service keeps the answer of the call by its Idempotency-Key. */
export type Call = Readonly<{
  method: Method;
  path: string;
  query?: Query | undefined;
  body?: unknown;
  isKeyed?: boolean;
}>;

/** Sends a call. Out: an answer of 2xx. Rejects with a SealpostError, or with the reason of the caller's signal. */
export type Send = (call: Call, options?: CallOptions) => Promise<Response>;

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 60_000;

/** Nothing was done by the service, or it may be asked again. */
const passing = new Set([429, 502, 503, 504]);

/** In: the options of a client. Out: the function by which it calls. Throws a TypeError for options that cannot work. */
export const sender = ({
  url,
  key,
  teamId,
  retries: defaultRetries = 3,
  timeoutMs: defaultTimeoutMs = 30_000,
  fetch = globalThis.fetch,
}: ClientOptions): Send => {
  const base = baseOf(url);
  if (typeof key !== 'function' && !/^[\x21-\x7e]+$/.test(key ?? ''))
    throw new TypeError('`key` is an API key such as "sealpost_sk_…"; it was empty or had spaces.');

  const attempt = async (call: Call, idempotencyKey: string | undefined, options: CallOptions): Promise<Response> => {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? defaultTimeoutMs);
    const { signal } = options;
    const headers = new Headers({
      authorization: `Bearer ${typeof key === 'function' ? await key() : key}`,
      accept: 'application/json, */*',
    });
    if (teamId !== undefined) headers.set('x-team-id', teamId);
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
    if (options.ifMatch !== undefined) headers.set('if-match', tagOf(options.ifMatch));
    if (call.body !== undefined && !(call.body instanceof FormData)) headers.set('content-type', 'application/json');
    try {
      const response = await fetch(addressOf(base, call), {
        method: call.method,
        headers,
        redirect: 'manual',
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        ...(call.body === undefined
          ? {}
          : { body: call.body instanceof FormData ? call.body : JSON.stringify(call.body) }),
      });
      if (response.ok) return response;
      if (response.status >= 300 && response.status < 400) throw redirected(base, response);
      throw refusalOf(response.status, response.headers, await response.text());
    } catch (fault) {
      signal?.throwIfAborted();
      if (fault instanceof SealpostError) throw fault;
      throw timeout.aborted
        ? new SealpostError({
            code: 'TIMEOUT',
            message: 'The service did not answer in time.',
            status: 0,
            cause: fault,
          })
        : new SealpostError({
            code: 'NOT_REACHED',
            message: `The service at ${base.origin} could not be reached.`,
            status: 0,
            cause: fault,
          });
    }
  };

  return async (call, options = {}) => {
    const idempotencyKey = options.idempotencyKey ?? (call.isKeyed === true ? crypto.randomUUID() : undefined);
    const mayRepeat = idempotencyKey !== undefined || call.method === 'GET';
    const retries = options.retries ?? defaultRetries;
    for (let failed = 0; ; failed += 1)
      try {
        return await attempt(call, idempotencyKey, options);
      } catch (fault) {
        if (!(fault instanceof SealpostError) || failed >= retries) throw fault;
        // A call that may have been done is repeated only where the service recognises it.
        if (fault.status === 0 ? !mayRepeat : !passing.has(fault.status)) throw fault;
        const waitMs = Math.max((fault.retryAfterS ?? 0) * 1_000, FIRST_WAIT_MS * 2 ** failed);
        if (waitMs > LONGEST_WAIT_MS) throw fault;
        await pause(waitMs * (1 + Math.random() / 2), options.signal);
      }
  };
};

/** A redirect is not followed: the key would go to another host. */
const redirected = (base: URL, { status, headers }: Response): SealpostError => {
  const location = headers.get('location');
  const other = location !== null && URL.canParse(location, base) ? ` to ${new URL(location, base).origin}` : '';
  return new SealpostError({
    code: 'UNEXPECTED_ANSWER',
    message: `${base.origin} redirects${other}: \`url\` must be the address of the service itself.`,
    status,
  });
};

/** The JSON of an answer; undefined for an empty one. Rejects with a SealpostError for other text and a lost connection. */
export const jsonOf = async (response: Response, signal?: AbortSignal): Promise<unknown> => {
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    const isLate = cause instanceof Error && cause.name === 'TimeoutError';
    throw isLate
      ? new SealpostError({ code: 'TIMEOUT', message: 'The service did not end its answer in time.', status: 0, cause })
      : new SealpostError({ code: 'NOT_REACHED', message: 'The answer of the service broke off.', status: 0, cause });
  }
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new SealpostError({
      code: 'UNEXPECTED_ANSWER',
      message: `The service answered ${response.status} with something other than JSON: is \`url\` its address?`,
      status: response.status,
      cause,
    });
  }
};

const baseOf = (url: string): URL => {
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new TypeError('`url` is the address of the service, such as "https://mail.example.com".');
  const base = new URL(url);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  base.search = '';
  base.hash = '';
  return base;
};

const addressOf = (base: URL, { path, query = {} }: Call): URL => {
  const address = new URL(path.slice(1), base);
  for (const [name, value] of Object.entries(query)) append(address.searchParams, name, value);
  return address;
};

/** Lists have commas between their values; members of an object have its name before them: `metadata[orderId]=4711`. */
const append = (parameters: URLSearchParams, name: string, value: unknown): void => {
  if (value === undefined || value === null) return;
  if (Array.isArray(value)) parameters.append(name, value.join(','));
  else if (value instanceof Date) parameters.append(name, value.toISOString());
  else if (typeof value === 'object')
    for (const [member, one] of Object.entries(value)) append(parameters, `${name}[${member}]`, one);
  else parameters.append(name, String(value));
};

const tagOf = (revision: string | number): string =>
  typeof revision === 'string' && /^(?:W\/)?"/.test(revision) ? revision : `"${revision}"`;

const pause = (waitMs: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((done, refuse) => {
    if (signal?.aborted === true) return refuse(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      refuse(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      done();
    }, waitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
  });

/** In: an address of the API such as `/api/emails/{id}`, and a value for each name in it. Out: the path. */
export const pathOf = (template: string, values: Readonly<Record<string, string | number>> = {}): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined || value === '' || value === '.' || value === '..')
      throw new TypeError(`\`${name}\` of ${template} is missing.`);
    return encodeURIComponent(value);
  });
