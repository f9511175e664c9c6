/** Collects everything that is wrong with a body, each with its path, so that an author mends it in one go. */
import { DomainError, type ErrorCode, type FieldError } from '../../core/errors.js';

/** Enough to work with; a hostile body cannot make the answer larger than this. */
const FAULTS_MAX = 100;
/** Nobody needs to know how many more there are. */
const COUNTED_MAX = 1_000;

export type Faults = Readonly<{
  add: (field: string, message: string) => void;
  count: () => number;
  /** So much is wrong that no more need be looked for. */
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
