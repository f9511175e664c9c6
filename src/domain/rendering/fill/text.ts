/** A single text with `{{…}}`, filled once: a subject or a file name that came with a call. What is used often is compiled instead. */
import { spendChars, type Budget } from '../budget.js';
import { DomainError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import type { VariableDefinition } from '../scope/definitions.js';
import type { Language } from '../scope/formats.js';
import { readPath } from '../scope/path.js';
import type { PreparedValues } from './prepare-values.js';
import { shapeAt, shapeOf } from '../scope/shapes.js';
import { inCurrency, showingAt, writerOf, type Showing } from '../scope/showing.js';
import { substituterOf } from './shown-value.js';
import { hasPlaceholder, parseTemplatedText } from './templated-text.js';
import { writeValue } from '../scope/values.js';

export type Filling = Readonly<{ definitions: readonly VariableDefinition[]; language: Language; limits: Limits; budget: Budget }>;

/** In: the text, the path of its field, the definitions and their values. Throws VALIDATION_ERROR where the text is no templated text, WORK_LIMIT_EXCEEDED before the text is longer than the budget. */
export const fillText = (
  text: string,
  field: string,
  { definitions, language, limits, budget }: Filling,
  { values, constants }: PreparedValues,
): string => {
  if (!hasPlaceholder(text)) return text;
  const { parts, faults } = parseTemplatedText(text, limits.pathSegmentsMax);
  const errors = faults.map((message) => ({ field, message }));
  if (errors[0] !== undefined) throw new DomainError('VALIDATION_ERROR', `${field} is not valid: ${errors[0].message}`, { errors });
  const shapes = new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));
  const all: JsonObject = { ...values, ...constants };
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const shape = shapes.get(String(part.path[0]));
      const instead = shapeAt(shape, part.path)?.substitution;
      const read = readPath(all, part.path);
      const value = instead === undefined ? read : substituterOf(instead, language.locale)(read);
      const showing = showingAt(shape, part.path, undefined);
      const written = showing === undefined ? writeValue(value) : writerOf(resolved(showing, all, limits), language)(value);
      spendChars(budget, written.length);
      return written;
    })
    .join('');
};

/** The currency of a format may come from a variable. */
const resolved = (showing: Showing, values: JsonObject, { pathSegmentsMax }: Limits): Showing => {
  const currency = showing.format?.currency;
  if (currency === undefined || !hasPlaceholder(currency)) return showing;
  const parts = parseTemplatedText(currency, pathSegmentsMax).parts;
  return inCurrency(showing, parts.map((part) => (typeof part === 'string' ? part : writeValue(readPath(values, part.path)))).join(''));
};
