/** Collects everything that is wrong with a body, each fault with its path, so that an author mends it in one go. */
import { DomainError, type ErrorCode, type FieldError } from '../../core/errors.js';

/** Enough to work with; a hostile body cannot make the answer larger than this. */
const FAULTS_MAX = 100;

/** Faults beyond this number are not counted any more. */
const COUNTED_MAX = 1_000;

export type Faults = Readonly<{
  add: (field: string, message: string) => void;
  count: () => number;
  /** The faults so far, up to the bound. */
  list: () => readonly FieldError[];
  /** True once so much is wrong that checks may stop. */
  isFull: () => boolean;
  /** Throws where anything was added. `what` begins the message: "the template". */
  throwIfAny: (code: ErrorCode, what: string) => void;
}>;

export const collectFaults = (): Faults => {
  const errors: FieldError[] = [];
  let count = 0;
  return {
    add: (field, message) => {
      count += 1;
      if (errors.length < FAULTS_MAX) errors.push({ field, message });
    },
    count: () => count,
    list: () => errors,
    isFull: () => count >= COUNTED_MAX,
    throwIfAny: (code, what) => {
      const [first] = errors;
      if (first === undefined) return;
      const rest = count === 1 ? '' : ` (and ${count < COUNTED_MAX ? '' : 'at least '}${count - 1} more, see errors)`;
      const at = first.field === '' ? '' : `${first.field}: `;
      throw new DomainError(code, `${what} is not valid: ${at}${first.message}${rest}`, { errors });
    },
  };
};

/** A template says by `true` or `false` whether a path without a value stops a send. */
export const checkStrictness = (strict: unknown, { add }: Faults): void => {
  if (strict !== undefined && typeof strict !== 'boolean') add('strictVariables', 'must be true or false');
};

/** Names whose values are data of the author. */
const DATA: ReadonlySet<string> = new Set(['defaultValue', 'value']);

/**
 * `null` in an optional field of a template means that the field is left out; a default value, and what is compared
 * with, may be null. In: JSON, however deep. Out: a copy without members that are null, but for those that are data;
 * the very same value where there are none. Values deeper than `depthMax` stay as they are: no template is nested so
 * deep.
 */
export const withoutNulls = (value: unknown, depthMax: number): unknown => {
  if (typeof value !== 'object' || value === null || depthMax === 0) return value;
  if (Array.isArray(value)) {
    const elements = (value as readonly unknown[]).map((element) => withoutNulls(element, depthMax - 1));
    return elements.some((element, at) => element !== (value as readonly unknown[])[at]) ? elements : value;
  }
  const members = value as Readonly<Record<string, unknown>>;
  // Only members that change are collected, so that a large object without nulls is walked once and not copied.
  const changed = new Map<string, unknown>();
  for (const name in members) {
    const member = members[name];
    if (typeof member !== 'object' || DATA.has(name)) continue;
    const kept = member === null ? undefined : withoutNulls(member, depthMax - 1);
    if (kept !== member) changed.set(name, kept);
  }
  if (changed.size === 0) return value;
  return Object.fromEntries(
    Object.entries(members)
      .map(([name, member]) => [name, changed.has(name) ? changed.get(name) : member] as const)
      .filter(([name, member]) => member !== undefined || !changed.has(name)),
  );
};
