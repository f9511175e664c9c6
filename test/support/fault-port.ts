/** Wraps a port so that a call of it fails: what comes after a fault anywhere can so be tried fault by fault. */

export type FaultyPort<Port> = Readonly<{
  port: Port;
  /**
   * How many calls there were, the failed one included: a scenario has been tried whole when none of its calls is left
   * to fail.
   */
  calls: () => number;
}>;

export type Fault = Readonly<{
  /** The call that fails, counted from 1 over the functions of the port that are watched. */
  failCall: number;
  error: Error;
  /** Only calls of these functions count; all where absent. */
  only?: readonly string[];
  /** The failing call does its work first: the answer is lost, not the deed. */
  afterwards?: boolean;
}>;

/**
 * A function that answers with a promise rejects, one that answers with an async iterable fails at its first step,
 * and any other throws. The fault strikes once; later calls go through.
 */
export const faultPort = <Port extends object>(
  port: Port,
  { failCall, error, only, afterwards = false }: Fault,
): FaultyPort<Port> => {
  let calls = 0;

  const fail = (deed: () => unknown): unknown => {
    const result = afterwards ? deed() : undefined;
    if (result instanceof Promise) return result.then(() => Promise.reject(error));
    throw error;
  };

  const wrap = (name: string, original: (...parameters: unknown[]) => unknown) =>
    function (this: unknown, ...parameters: unknown[]): unknown {
      calls += 1;
      if (calls !== failCall) return original.apply(port, parameters);
      const deed = (): unknown => original.apply(port, parameters);
      return iterators.has(name) ? failingIterable(error) : asynchronous(fail, deed, synchronousNames.has(name));
    };

  return {
    calls: () => calls,
    port: new Proxy(port, {
      get: (target, name, receiver) => {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof name !== 'string' || typeof value !== 'function') return value;
        if (only !== undefined && !only.includes(name)) return value;
        return wrap(name, value as (...parameters: unknown[]) => unknown);
      },
    }),
  };
};

/** The functions of our ports that do not answer with a promise. */
const iterators = new Set(['readAll', 'subscribeAll', 'consume', 'scan', 'lookupFaults']);
const synchronousNames = new Set([
  'fingerprint',
  'seal',
  'open',
  'now',
  'uuid',
  'bytes',
  'debug',
  'info',
  'warn',
  'error',
  'child',
]);

const asynchronous = (fail: (deed: () => unknown) => unknown, deed: () => unknown, synchronous: boolean): unknown => {
  if (synchronous) return fail(deed);
  return Promise.resolve().then(() => fail(deed));
};

const failingIterable = (error: Error): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
});
