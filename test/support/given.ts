/**
 * Specifications of deciders as sentences: given what happened, when a command comes, then these events, or nothing, or
 * a refusal.
 */
import type { Test } from 'tap';
import type { Decider } from '../../src/domain/core/decider.js';
import { DomainError, type ErrorCode } from '../../src/domain/core/errors.js';

export type Then<Event, State> = Readonly<{
  /** Exactly these events, every field of them. Out: the state after them. */
  then: (...events: readonly Event[]) => State;
  /** The command changes nothing. */
  nothing: () => void;
  /** The command is refused with that code. Out: the refusal, for what it says beside. */
  refused: (code: ErrorCode) => DomainError;
}>;

export type Given<Command, Event, State> = Readonly<{ when: (command: Command) => Then<Event, State>; state: State }>;

export const specs =
  <Command, Event, State>({ decide, evolve, initialState }: Decider<Command, Event, State>) =>
  (t: Pick<Test, 'strictSame' | 'equal' | 'fail'>) => ({
    given: (...history: readonly Event[]): Given<Command, Event, State> => {
      const state = history.reduce(evolve, initialState);
      return {
        state,
        when: (command) => {
          const before = JSON.stringify(state);
          const check = <Result>(act: () => Result): Result => {
            const result = act();
            t.equal(JSON.stringify(state), before, 'a decision leaves the state as it was');
            return result;
          };
          return {
            then: (...events) => {
              const decided = check(() => decide(command, state));
              t.strictSame(decided, events);
              return decided.reduce(evolve, state);
            },
            nothing: () =>
              void t.strictSame(
                check(() => decide(command, state)),
                [],
              ),
            refused: (code) => check(() => refusal(t, () => decide(command, state), code)),
          };
        },
      };
    },
  });

const refusal = (t: Pick<Test, 'equal' | 'fail'>, act: () => unknown, code: ErrorCode): DomainError => {
  try {
    act();
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    t.equal(fault.code, code);
    return fault;
  }
  t.fail(`expected ${code}, but the command was accepted`);
  throw new Error(`expected ${code}`);
};

/** The refusal of a promise, of that code; anything else fails the test. */
export const refusedWith = async (
  t: Pick<Test, 'equal' | 'fail'>,
  promise: Promise<unknown>,
  code: ErrorCode,
): Promise<DomainError> => {
  const [result] = await Promise.allSettled([promise]);
  return refusal(
    t,
    () => {
      if (result.status === 'rejected') throw result.reason;
    },
    code,
  );
};
