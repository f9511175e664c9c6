/** The id of an email in the path of a request. */
import { DomainError } from '../../domain/core/errors.js';
import { parseEmailId, type EmailId } from '../../domain/core/ids.js';

/** Throws EMAIL_NOT_FOUND for a malformed id. */
export const emailIdOf = (text: string): EmailId => {
  const id = parseEmailId(text);
  if (id === undefined) throw new DomainError('EMAIL_NOT_FOUND', 'There is no email with this id.');
  return id;
};
