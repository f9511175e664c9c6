/**
 * A machine whose clock is wrong: loaded before the program (node --import), it moves the time of day by CLOCK_SHIFT_MS
 * milliseconds. Monotonic time (`performance.now()`, timers) is not changed.
 */
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const RealDate = Date;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: [], caller) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + shiftMs] : args, caller) as Date,
  apply: () => new RealDate(RealDate.now() + shiftMs).toString(),
  get: (target, name, receiver) =>
    name === 'now' ? () => RealDate.now() + shiftMs : (Reflect.get(target, name, receiver) as unknown),
});

export {};
