/** Reads the one file of a multipart/form-data request (RFC 7578), bounded while it streams. */
import multipart from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Upload } from '../../commands/assets.js';
import { DomainError } from '../../domain/errors.js';
import type { App } from '../context.js';

/** Lets the routes of this scope, and no others, take multipart/form-data. */
export const registerUploads = async (scope: App): Promise<void> => {
  await scope.register(multipart, { throwFileSizeLimit: false });
};

const wrong = (message: string): DomainError =>
  new DomainError('VALIDATION_ERROR', `The upload is invalid: ${message}.`, { errors: [{ field: 'file', message }] });

/**
 * The file in the field `file`. Throws VALIDATION_ERROR where there is another field or no file, MALFORMED_REQUEST where the
 * body is no multipart, and what `tooLarge` makes where the file has more than `sizeBytesMax`.
 */
export const readUpload = async (request: FastifyRequest, sizeBytesMax: number, tooLarge: () => DomainError): Promise<Upload> => {
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
    // Nobody reads the rest; without this the request would wait for its reader.
    request.raw.unpipe();
    request.raw.resume();
    if (fault instanceof DomainError) throw fault;
    throw new DomainError('MALFORMED_REQUEST', 'The body is no well-formed multipart/form-data, or ended too early (RFC 7578).');
  }
  if (upload === undefined) throw wrong('the form must have the field `file` with one file');
  return upload;
};
