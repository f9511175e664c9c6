/** Variables in the query of a preview: a JSON object, read with the care that a body gets. */
import { DomainError, invalid } from '../../domain/core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import { parseJsonBody } from './json/body.js';

const OBJECT = 'must be a JSON object such as {"number":"2030-17"}, percent-encoded (variables=%7B%22number%22%3A%222030-17%22%7D)';

const invalidVariables = (message: string): DomainError => invalid('query', 'variables', message);

/** None where the query has none. Throws VALIDATION_ERROR. */
export const queryVariables = (text: string | undefined, limits: Limits): JsonObject => {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = parseJsonBody(Buffer.from(text), limits);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    throw invalidVariables(`${OBJECT}; of its text is said: ${fault.message.replace(/^The body/, 'it').replace(/\.$/, '')}`);
  }
  if (isJsonObject(value as Json)) return value as JsonObject;
  throw invalidVariables(OBJECT);
};
