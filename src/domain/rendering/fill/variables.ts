/** Checks the values of a send call against the template's variables, and puts the defaults in. */
import { DomainError, type FieldError } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { parseDate } from '../scope/dates.js';
import { isArray, variableField, writePath, writeSteps } from '../scope/path.js';
import { shapeOf, type Shape } from '../scope/shapes.js';

/** Enough to mend the call; an array of 100,000 wrong items gives no larger answer than this. */
const ERRORS_MAX = 100;

type VariableCheck = (values: JsonObject) => JsonObject;

/**
 * In: the definitions of a checked template. Out: a function from the values of a call to the values to render with,
 * defaults put in where a value is missing or null. It throws VALIDATION_ERROR with `errors`
 * (`variables.order.items[2].qty`) where a required value is missing or a value has another type than declared. Values
 * that no variable declares pass.
 */
export const compileVariableCheck = (definitions: readonly VariableDefinition[]): VariableCheck =>
  compileShapeCheck(
    definitions.map((definition) => ({
      name: definition.name,
      shape: shapeOf(definition),
      fallback: definition.defaultValue,
    })),
  );

/** In: what is known of a value. Out: whether it is of that kind; missing and null are not. */
export const compileValueTest = (shape: Shape): ((value: Json | undefined) => boolean) => {
  const test = testOf(shape);
  return (value) => value !== undefined && value !== null && test(value);
};

type Checked = Readonly<{ name: string; shape: Shape; fallback?: Json | undefined }>;

/**
 * `compileVariableCheck` for values whose shapes are known. Calculated members are looked at once they are there: each
 * by itself.
 */
export const compileShapeCheck = (shapes: readonly Checked[]): VariableCheck => {
  const checks = shapes.map(({ name, shape, fallback }) => ({
    name,
    required: shape.required,
    fallback,
    test: testOf(shape),
    shape,
  }));
  return (values) => {
    const errors: FieldError[] = [];
    let filled: Record<string, Json> | undefined;
    for (const { name, required, fallback, test, shape } of checks) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined || value === null) {
        if (required) errors.push({ field: variableField(writePath([name])), message: 'is required' });
        else if (fallback !== undefined && fallback !== null) (filled ??= { ...values })[name] = fallback;
      } else if (!test(value)) {
        describe(value, shape, variableField(writePath([name])), errors);
      }
      if (errors.length >= ERRORS_MAX) break;
    }
    if (errors.length > 0) throw invalid(errors);
    return filled ?? values;
  };
};

/** The values that a preview shows where the caller gave none: every default, required or not. */
export const previewVariables = (definitions: readonly VariableDefinition[], given: JsonObject): JsonObject => {
  const values: Record<string, Json> = { ...given };
  for (const { name, defaultValue } of definitions) {
    if (!Object.hasOwn(given, name) && defaultValue !== undefined) values[name] = defaultValue;
  }
  return values;
};

/** Throws VALIDATION_ERROR: the data source of a loop, a table or a list is something else than an array. */
export const notAnArray = (source: string, value: Json): DomainError =>
  invalid([
    {
      field: variableField(source),
      message: `must be an array because the template goes over it, got ${typeName(value)}`,
    },
  ]);

const invalid = (errors: readonly FieldError[]): DomainError => {
  const [first] = errors;
  const rest = errors.length === 1 ? '' : ` (and ${errors.length - 1} more, see errors)`;
  return new DomainError(
    'VALIDATION_ERROR',
    `${first?.field ?? 'variables'} ${first?.message ?? 'is not valid'}${rest}`,
    { errors },
  );
};

type Test = (value: Json) => boolean;

/** The quick answer, compiled once per template; where it is "no", `describe` finds out why. */
const testOf = (shape: Shape): Test => {
  switch (shape.type) {
    case undefined:
      return () => true;
    case 'string':
      return (value) => typeof value === 'string';
    case 'number':
      return (value) => typeof value === 'number' && Number.isFinite(value);
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'date':
      return (value) => typeof value === 'string' && parseDate(value) !== undefined;
    case 'array':
      return arrayTest(shape.item);
    case 'object':
      return objectTest(shape.members);
  }
};

const arrayTest = (item: Shape | undefined): Test => {
  if (item === undefined) return isArray;
  const test = testOf(item);
  return (value) => {
    if (!isArray(value)) return false;
    for (const one of value) if (one === null || !test(one)) return false;
    return true;
  };
};

const objectTest = (members: ReadonlyMap<string, Shape>): Test => {
  const tests = given(members).map(([name, shape]) => ({ name, required: shape.required, test: testOf(shape) }));
  return (value) => {
    if (!isObject(value)) return false;
    for (const { name, required, test } of tests) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined || member === null ? required : !test(member)) return false;
    }
    return true;
  };
};

/** The members that a call brings. */
const given = (members: ReadonlyMap<string, Shape>): readonly (readonly [name: string, shape: Shape])[] =>
  [...members].filter(([, { expression }]) => expression === undefined);

const describe = (value: Json, shape: Shape, field: string, errors: FieldError[]): void => {
  if (errors.length >= ERRORS_MAX || testOf(shape)(value)) return;
  if (shape.type === 'array' && isArray(value)) {
    value.forEach((item, at) => {
      if (shape.item === undefined || errors.length >= ERRORS_MAX) return;
      if (item === null) errors.push({ field: `${field}[${at}]`, message: `must be ${nameOf(shape.item)}, got null` });
      else describe(item, shape.item, `${field}[${at}]`, errors);
    });
    return;
  }
  if (shape.type === 'object' && isObject(value)) {
    for (const [name, member] of given(shape.members)) {
      const found = Object.hasOwn(value, name) ? value[name] : undefined;
      if (found !== undefined && found !== null) describe(found, member, field + writeSteps([name]), errors);
      else if (member.required) errors.push({ field: field + writeSteps([name]), message: 'is required' });
    }
    return;
  }
  errors.push({ field, message: `must be ${nameOf(shape)}, got ${typeName(value)}` });
};

const nameOf = ({ type }: Shape): string => {
  switch (type) {
    case 'date':
      return 'a date (ISO 8601 text such as 2026-11-21 or 2026-11-21T09:30:00Z)';
    case 'array':
    case 'object':
      return `an ${type}`;
    case undefined:
      return 'a value';
    case 'string':
    case 'number':
    case 'boolean':
      return `a ${type}`;
  }
};

const isObject = (value: Json): value is JsonObject => typeof value === 'object' && value !== null && !isArray(value);

const typeName = (value: Json): string => {
  if (value === null) return 'null';
  if (typeof value === 'object') return isArray(value) ? 'an array' : 'an object';
  return typeof value === 'number' ? 'a number' : typeof value === 'string' ? 'text' : 'a boolean';
};
