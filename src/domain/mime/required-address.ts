import { DomainError, type FieldError } from '../core/errors.js';
import { parseAddress } from './address.js';

/** In: an address and the path of its field. Out: the address as it will be used. Throws ERR_EMAIL_001. */
export const requireAddress = (text: string, field: string): string => {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw invalidAddresses([{ field, message: parsed.reason }]);
  return parsed.address;
};

export const invalidAddresses = (errors: readonly FieldError[]): DomainError =>
  new DomainError(
    'ERR_EMAIL_001',
    errors.length === 1
      ? `${errors[0]!.field} is not a valid email address: ${errors[0]!.message}`
      : `${errors.length} addresses are not valid email addresses; see \`errors\`.`,
    { errors },
  );
