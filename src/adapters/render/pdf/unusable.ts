/** The error of a picture that cannot be drawn. */
import { DomainError } from '../../../domain/core/errors.js';

/** `what` follows "the picture at …". */
export const unusable = (field: string, what: string): DomainError =>
  new DomainError('GENERATION_FAILED', `the picture at ${field} ${what}`, {
    errors: [{ field, message: `the picture ${what}` }],
    relatedInfo: { field },
  });
