/**
 * Calls of the API from the page: the team, the CSRF token, one refresh of an expired session, and refusals as faults
 * that can be shown. The types of calls are generated from the API description.
 */
import { csrfToken, isRefreshDue, isSignedIn, refreshSession, sessionEnded } from './session';
import { serviceUrl } from './values';

/** Members of a generated `…Data` type. */
type Operation = Readonly<{ url: string; path?: unknown; query?: unknown; body?: unknown }>;

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/**
 * `ifMatch`: the revision that the thing has to have (RFC 9110, section 13.1.1). `idempotencyKey`: the same call with the
 * same key is done once.
 */
export type Options = Readonly<{ teamId?: string; signal?: AbortSignal; ifMatch?: number; idempotencyKey?: string }>;

/** A refusal of the API, in its words; `status` 0: the service was not reached. */
export class ApiFault extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterS: number | undefined;
  readonly requestId: string | undefined;
  /** Faults of single fields of what was sent. */
  readonly errors: readonly FieldFault[];

  constructor(status: number, body: FaultBody) {
    super(body.errors?.[0] === undefined ? body.message : `${body.errors[0].field} ${body.errors[0].message}`.trim());
    this.status = status;
    this.code = body.code;
    this.retryAfterS = body.retryAfter;
    this.requestId = body.requestId;
    this.errors = body.errors ?? [];
  }
}

/** `field`: a path such as `to[2].email`; empty for the whole body. */
export type FieldFault = Readonly<{ field: string; message: string }>;

type FaultBody = Readonly<{
  code: string;
  message: string;
  retryAfter?: number;
  requestId?: string;
  errors?: readonly FieldFault[];
}>;

const SIGNED_OUT: FaultBody = { code: 'SIGNED_OUT', message: 'You are signed out.' };
const NOT_REACHED: FaultBody = { code: 'NOT_REACHED', message: 'The service cannot be reached.' };

/**
 * Calls an operation, whose `…Data` and `…Response` types are the parameters. Rejects with an ApiFault. A session whose
 * access token has expired is refreshed once.
 */
export const call = async <Data extends Operation, Answer>(
  method: Method,
  data: Data,
  options: Options = {},
): Promise<Answer> => {
  const response = await sendInSession(method, data, options);
  const text = await textOf(response, options);
  if (!response.ok) throw faultIn(response, text);
  const answer = text === '' ? undefined : parsed(text);
  // The connection of a proxy broke within the answer, or the proxy answers for the service.
  if (text !== '' && answer === undefined) throw new ApiFault(0, NOT_REACHED);
  return answer as Answer;
};

/** Rejects with an ApiFault if the connection breaks within the answer. */
const textOf = async (response: Response, { signal }: Options): Promise<string> => {
  try {
    return await response.text();
  } catch (fault) {
    if (signal?.aborted === true) throw fault;
    throw new ApiFault(0, NOT_REACHED);
  }
};

const faultIn = ({ status, headers }: Response, text: string): ApiFault => {
  const body = parsed(text);
  if (isFaultBody(body)) return new ApiFault(status, body);
  const waitS = Number(headers.get('retry-after') ?? Number.NaN);
  return new ApiFault(status, { ...unknownFault(status), ...(Number.isFinite(waitS) ? { retryAfter: waitS } : {}) });
};

type Given<Data extends Operation> = Omit<Data, 'url' | 'headers'>;

/**
 * An operation of the API as a function. In: its `…Data` and `…Response` types, its method and address. Out: a function
 * of its path, query and body, and of the team.
 */
export const operation =
  <Data extends Operation, Answer>(method: Method, url: Data['url']) =>
  (given: Given<Data>, options: Options = {}): Promise<Answer> =>
    call<Operation, Answer>(method, { ...given, url }, options);

/**
 * Hands the answer of an operation to the reader as a file, whose name the service gives. Rejects with an ApiFault.
 */
export const download = async <Data extends Operation>(
  method: Method,
  data: Data,
  filename: string,
  options: Options = {},
): Promise<void> => {
  const response = await sendInSession(method, data, options);
  if (!response.ok) throw faultIn(response, await textOf(response, options));
  const named = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = named ?? filename;
  link.click();
  // The browser has the file once the click was handled.
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
};

const sendInSession = async (method: Method, data: Operation, options: Options): Promise<Response> => {
  const isInSession = isSignedIn();
  if (!isInSession && !data.url.startsWith('/api/auth/')) {
    // Another tab signed out, or the page that is being left asks once more: the service would refuse it.
    sessionEnded();
    throw new ApiFault(401, SIGNED_OUT);
  }
  if (isRefreshDue() && (await refreshSession()) === 'unknown') throw new ApiFault(0, NOT_REACHED);
  const first = await send(method, data, options);
  if (first.status !== 401 || !isInSession) return first;
  switch (await refreshSession()) {
    case 'refreshed':
      return send(method, data, options);
    case 'ended':
      sessionEnded();
      return first;
    case 'unknown':
      throw new ApiFault(0, NOT_REACHED);
  }
};

const send = async (
  method: Method,
  data: Operation,
  { teamId, signal, ifMatch, idempotencyKey }: Options,
): Promise<Response> => {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (ifMatch !== undefined) headers['if-match'] = `"${ifMatch}"`;
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  if (teamId !== undefined) headers['x-team-id'] = teamId;
  if (method !== 'GET') headers['x-csrf-token'] = csrfToken() ?? '';
  // The browser names the form itself, with its boundary.
  if (data.body !== undefined && !(data.body instanceof FormData)) headers['content-type'] = 'application/json';
  try {
    return await fetch(addressOf(data), {
      method,
      headers,
      ...(data.body === undefined
        ? {}
        : { body: data.body instanceof FormData ? data.body : JSON.stringify(data.body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (fault) {
    if (signal?.aborted === true) throw fault;
    throw new ApiFault(0, NOT_REACHED);
  }
};

/** The address of a call: its path filled, its query in the forms that the API reads. */
export const addressOf = ({ url, path, query }: Operation): string => {
  const values = Object.entries(path ?? {});
  const filled = values.reduce(
    (address, [name, value]) => address.replace(`{${name}}`, encodeURIComponent(String(value))),
    url,
  );
  const address = new URL(filled.slice(1), serviceUrl);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    if (Array.isArray(value)) address.searchParams.set(name, value.join(','));
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) address.searchParams.set(`${name}[${key}]`, String(one));
    else address.searchParams.set(name, String(value));
  }
  return address.href;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isFaultBody = (body: unknown): body is FaultBody =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body;

/** A proxy before the service answers in its own form. */
const unknownFault = (status: number): FaultBody => ({
  code: `HTTP_${status}`,
  message: `The service answered ${status}.`,
});

/** Reads a file of the API. In: a GET operation whose answer is not JSON. Rejects as `call`. */
export const readFile = async (data: Operation, options: Options = {}): Promise<Blob> => {
  const response = await sendInSession('GET', data, options);
  if (response.ok) return response.blob();
  throw faultIn(response, await textOf(response, options));
};
