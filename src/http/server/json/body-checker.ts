/** Checks a body of many members in a separate process: all checks of a body, and its canonical form. */
import type { TSchema } from '@sinclair/typebox';
import { DomainError } from '../../../domain/core/errors.js';
import type { BodyCheckAnswer, BodyToCheck } from '../../../domain/ports/body-checks.js';
import { canonicalJson } from '../../../shared/text.js';
import { omitNulls } from './omit-nulls.js';
import { parseJsonBody, type JsonLimits } from './body.js';

const checked = ({ bytes, schema, isIdempotent }: BodyToCheck, limits: JsonLimits): BodyCheckAnswer => {
  const value = parseJsonBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits);
  if (!isIdempotent) return { kind: 'checked' };
  omitNulls(schema as TSchema, value);
  return { kind: 'checked', canonical: Buffer.from(canonicalJson(value)) };
};

/** In: the bounds in force, then a body. Out: its answer; a refusal is one. */
export default (settings: unknown) =>
  async (job: unknown): Promise<BodyCheckAnswer> => {
    try {
      return checked(job as BodyToCheck, settings as JsonLimits);
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      const { code, message, details } = fault;
      return { kind: 'refused', code, message, details };
    }
  };
