/** Reads the one file of a multipart/form-data request (RFC 7578), bounded while it streams. */
import multipart from '@fastify/multipart';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Upload } from '../../commands/templates/assets.js';
import { DomainError } from '../../domain/core/errors.js';
import { callerOf, type App, type HttpDeps } from './context.js';

/** Longer than any upload takes: after it the slot of a process that died is free again. */
const SLOT_TTL_MS = 10 * 60_000;

/** Lets the routes of this scope, and no others, take multipart/form-data. */
export const registerUploads = async (scope: App): Promise<void> => {
  await scope.register(multipart, { throwFileSizeLimit: false });
};

/**
 * A hook before the body is read: takes a slot of the team and one of all until the answer is out. Throws
 * RATE_LIMIT_EXCEEDED.
 */
export const uploadSlots =
  ({ limiter, limits }: Pick<HttpDeps, 'limiter' | 'limits'>) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { uploadsAtOnceMax, teamUploadsAtOnceMax } = limits;
    const own = await limiter.acquire(`uploads:${callerOf(request).teamId}`, teamUploadsAtOnceMax, SLOT_TTL_MS);
    if (own === undefined) throw busy(`A team may have ${teamUploadsAtOnceMax} uploads under way at once`);
    const shared = await limiter.acquire('uploads', uploadsAtOnceMax, SLOT_TTL_MS);
    const release = (): void => {
      own.release();
      shared?.release();
    };
    if (shared === undefined || reply.raw.destroyed) release();
    // `close` also comes where the caller goes away.
    else reply.raw.once('close', release);
    if (shared === undefined)
      throw busy(`As many uploads are under way as the service takes at once, ${uploadsAtOnceMax}`);
  };

const busy = (message: string): DomainError =>
  new DomainError('RATE_LIMIT_EXCEEDED', `${message}. Try again in 1 second.`, { retryAfterS: 1 });

/**
 * The file in the field `file`. Throws VALIDATION_ERROR where there is another field or no file, MALFORMED_REQUEST
 * where the body is no multipart, and what `tooLarge` makes where the file has more than `sizeBytesMax`.
 */
export const readUpload = async (
  request: FastifyRequest,
  sizeBytesMax: number,
  tooLarge: () => DomainError,
): Promise<Upload> => {
  let upload: Upload | undefined;
  try {
    for await (const part of request.parts({
      limits: { fileSize: sizeBytesMax, files: 2, fields: 1, fieldSize: 1_024, parts: 2, headerPairs: 20 },
    })) {
      if (part.type !== 'file' || part.fieldname !== 'file' || upload !== undefined)
        throw wrong('the form must have the field `file` with one file, and no other');
      const bytes = await part.toBuffer();
      if (part.file.truncated) throw tooLarge();
      upload = { filename: part.filename, bytes };
    }
  } catch (fault) {
    // The rest of the body has no reader; without this the request would wait for one.
    request.raw.unpipe();
    request.raw.resume();
    if (fault instanceof DomainError) throw fault;
    throw new DomainError(
      'MALFORMED_REQUEST',
      'The body is no well-formed multipart/form-data, or ended too early (RFC 7578).',
    );
  }
  if (upload === undefined) throw wrong('the form must have the field `file` with one file');
  return upload;
};

const wrong = (message: string): DomainError =>
  new DomainError('VALIDATION_ERROR', `The upload is invalid: ${message}.`, { errors: [{ field: 'file', message }] });
