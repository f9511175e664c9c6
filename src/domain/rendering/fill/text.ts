/** A single text with `{{…}}`, filled once: a subject or a file name that came with a call. What is used often is compiled instead. */
import { spendChars, type Budget } from '../../budget.js';
import { DomainError } from '../../errors.js';
import type { JsonObject } from '../../json.js';
import type { Limits } from '../../limits.js';
import type { VariableDefinition } from '../../template/schema.js';
import { formatterOf, type Language } from '../scope/formats.js';
import { readPath } from '../scope/path.js';
import type { PreparedValues } from './prepare-values.js';
import { formatAt, shapeAt, shapeOf } from '../scope/shapes.js';
import { showerOf } from './shown-value.js';
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
      const format = formatAt(shape, part.path);
      const showing = shapeAt(shape, part.path)?.showing;
      const read = readPath(all, part.path);
      const value = showing === undefined ? read : showerOf(showing, language.locale)(read);
      const written = format === undefined ? writeValue(value) : formatterOf(format, language)(value);
      spendChars(budget, written.length);
      return written;
    })
    .join('');
};
