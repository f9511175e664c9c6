/** Faults of calls: a refusal of the service, or a service that was not reached. */
import type { ApiError } from './types.gen.js';
import type { ErrorCode } from './codes.gen.js';

/** A code of the service, or of this client: `NOT_REACHED`, `TIMEOUT`, `NO_RENDERER`. Later versions may add some. */
export type Code = ErrorCode | 'NOT_REACHED' | 'TIMEOUT' | 'NO_RENDERER' | (string & {});

/** A fault of one field of what was sent; `field` is a path such as `to[2].email`, empty for the whole body. */
export type FieldFault = Readonly<{ field: string; message: string; code?: string }>;

type Details = Readonly<{
  code: Code;
  message: string;
  /** The HTTP status; 0: there was no answer. */
  status: number;
  errors?: readonly FieldFault[];
  requestId?: string;
  retryAfterS?: number;
  relatedInfo?: ApiError['relatedInfo'];
  cause?: unknown;
}>;

/** Every call rejects with this error alone, but for a call that its caller aborted. */
export class SealpostError extends Error {
  override readonly name = 'SealpostError';
  readonly code: Code;
  readonly status: number;
  readonly errors: readonly FieldFault[];
  /** Names the call in the log of the service. */
  readonly requestId: string | undefined;
  /** The service asks to wait that long. */
  readonly retryAfterS: number | undefined;
  readonly relatedInfo: NonNullable<ApiError['relatedInfo']>;

  constructor({ code, message, status, errors = [], requestId, retryAfterS, relatedInfo = {}, cause }: Details) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.errors = errors;
    this.requestId = requestId;
    this.retryAfterS = retryAfterS;
    this.relatedInfo = relatedInfo;
  }
}

/** In: the status, header fields and text of an answer that is no success. */
export const refusalOf = (status: number, headers: Headers, text: string): SealpostError => {
  const body = parsed(text);
  const requestId = body?.requestId ?? headers.get('x-request-id') ?? undefined;
  const retryAfterS = body?.retryAfter ?? secondsIn(headers.get('retry-after'));
  const first = body?.errors?.[0];
  return new SealpostError({
    code: body?.code ?? 'UNEXPECTED_ANSWER',
    message:
      body === undefined
        ? `The service answered ${status} with something other than JSON.`
        : first === undefined || body.message.includes(first.message)
          ? body.message
          : `${body.message} ${first.field} ${first.message}`.replace(/\s+/g, ' '),
    status,
    ...(body?.errors === undefined ? {} : { errors: body.errors }),
    ...(requestId === undefined ? {} : { requestId }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
    ...(body?.relatedInfo === undefined ? {} : { relatedInfo: body.relatedInfo }),
  });
};

const parsed = (text: string): (Partial<ApiError> & Pick<ApiError, 'code' | 'message'>) | undefined => {
  try {
    const body: unknown = JSON.parse(text);
    return isRefusal(body) ? body : undefined;
  } catch {
    return undefined;
  }
};

const isRefusal = (body: unknown): body is Partial<ApiError> & Pick<ApiError, 'code' | 'message'> =>
  typeof body === 'object' &&
  body !== null &&
  typeof (body as Partial<ApiError>).code === 'string' &&
  typeof (body as Partial<ApiError>).message === 'string';

const secondsIn = (header: string | null): number | undefined => {
  const seconds = header === null ? NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
};
