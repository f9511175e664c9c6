/** Scope of a block: its own variables, with the values that its include hands over. */
import { DomainError } from '../../core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { Included } from '../content.js';
import { parseTemplatedText } from '../fill/templated-text.js';
import { compileVariableCheck } from '../fill/variables.js';
import type { VariableDefinition } from './definitions.js';
import type { Path } from './path.js';
import { shapeOf, type Shape } from './shapes.js';

/**
 * In: the variables of an include. Out: from the values that it hands over to the values in the scope of the block,
 * with its defaults. Throws VALIDATION_ERROR where a required value is missing or one has another type.
 */
export const compileBlockValues = ({ slug, variables }: Included): ((values: JsonObject) => JsonObject) => {
  const check = compileVariableCheck(variables);
  return (values) => {
    try {
      return check(values);
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      const errors = (fault.details.errors ?? []).map(({ field, message }) => ({
        field: `block "${slug}": ${field}`,
        message,
      }));
      throw new DomainError(fault.code, `block "${slug}": ${fault.message}`, { errors });
    }
  };
};

/** The value that an include hands over under a name; undefined where it names none. */
export const handedOver = (props: JsonObject | undefined, name: string): Json | undefined => {
  const variables = props?.['variables'];
  return isJsonObject(variables) && Object.hasOwn(variables, name) ? variables[name] : undefined;
};

/**
 * The shape of a variable of a block: what its own definition leaves open is as the definition of the value says that
 * is handed over.
 */
export const shapeInBlock = (definition: VariableDefinition, outer: Shape | undefined): Shape => {
  const own = shapeOf(definition);
  if (outer === undefined) return own;
  const { format, members, item, substitution } = own;
  const shown = substitution ?? outer.substitution;
  return {
    ...own,
    format: format ?? outer.format,
    members: members.size > 0 ? members : outer.members,
    item: item ?? outer.item,
    ...(shown === undefined ? {} : { substitution: shown }),
  };
};

/** The path of a text that is one placeholder and nothing else. */
export const onlyPath = (text: string, segmentsMax: number): Path | undefined => {
  const { parts } = parseTemplatedText(text, segmentsMax);
  const [only] = parts;
  return parts.length === 1 && typeof only === 'object' ? only.path : undefined;
};
