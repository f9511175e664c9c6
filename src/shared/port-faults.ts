/** Faults of a port in words of its caller: whatever its functions reject with or throw passes through one function. */

type Call = (...given: unknown[]) => unknown;

/**
 * Wraps a port. `tell` gets each fault and returns the one to pass on. Wrapped with it are the ports that the functions
 * answer (a store, a rebuild) and the iterations. Answers without a promise stay without one, and data is passed on as
 * it is.
 */
export const tellingFaults = <Port extends object>(port: Port, tell: (fault: unknown) => unknown): Port => {
  const throwTold = (fault: unknown): never => {
    throw tell(fault);
  };

  const callOf =
    (call: Call): Call =>
    (...given) => {
      let answer: unknown;
      try {
        answer = call(...given);
      } catch (fault) {
        return throwTold(fault);
      }
      return answer instanceof Promise ? answer.then(toldPart, throwTold) : toldPart(answer);
    };

  async function* told(values: AsyncIterable<unknown>): AsyncGenerator<unknown> {
    try {
      yield* values;
    } catch (fault) {
      throwTold(fault);
    }
  }

  const toldPart = (part: unknown): unknown => {
    if (typeof part === 'function') return callOf(part as Call);
    if (typeof part !== 'object' || part === null) return part;
    if (Symbol.asyncIterator in part) return told(part as AsyncIterable<unknown>);
    return isPort(part) ? toldPort(part) : part;
  };

  const toldPort = (parts: object): object =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, toldPart(part)]));

  return toldPort(port) as Port;
};

/** Whether it is a plain object with functions, which data never has. */
const isPort = (part: object): boolean => {
  if (Object.getPrototypeOf(part) !== Object.prototype) return false;
  for (const name in part) if (typeof (part as Readonly<Record<string, unknown>>)[name] === 'function') return true;
  return false;
};
