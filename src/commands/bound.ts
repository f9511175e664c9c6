/** Functions that take what commands are made of as their first argument, bound to it. */
import type { CommandDeps } from './core/deps.js';

type Unbound = (deps: CommandDeps, ...args: never[]) => unknown;

export type Bound<Commands extends Readonly<Record<string, Unbound>>> = {
  readonly [Name in keyof Commands]: Commands[Name] extends (deps: CommandDeps, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

export const bindAll = <Commands extends Readonly<Record<string, Unbound>>>(commands: Commands, deps: CommandDeps): Bound<Commands> =>
  Object.fromEntries(Object.entries<Unbound>(commands).map(([name, command]) => [name, command.bind(undefined, deps)])) as Bound<Commands>;
