/** Faults inside a nested thing of a request, told with the place where that thing stands. */
import { DomainError, type ErrorDetails } from '../../domain/core/errors.js';

/** The faults of a nested thing with their whole paths: `variables.t` of the second attachment is `attachments[1].variables.t`. */
const detailsIn = (parent: string, details: ErrorDetails): ErrorDetails =>
  details.errors === undefined
    ? details
    : {
        ...details,
        errors: details.errors.map(({ field, message }) => ({
          field: field === '' || field.startsWith(parent) ? field || parent : `${parent}.${field}`,
          message,
        })),
      };

/** Says of a fault which attachment it belongs to. Works for what throws at once and for what rejects. `field`: the path of the attachment. */
export const inContext = <T>(field: string, what: string, work: () => T): T => {
  const place = `${field} (${what})`;
  const placed = (fault: unknown): never => {
    throw fault instanceof DomainError ? new DomainError(fault.code, `${place}: ${fault.message}`, detailsIn(field, fault.details)) : fault;
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(placed) as T) : result;
  } catch (fault) {
    return placed(fault);
  }
};
