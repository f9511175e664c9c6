/**
 * Gives the assertion library another `async-hook-domain`. The library asks that package which test has thrown what
 * nobody caught; the package follows every promise of the process by async hooks, which costs a service that awaits
 * much up to a third of its CPU. The one here hands such a fault to the youngest test that has not ended: test files
 * run their cases one after the other.
 */
import { registerHooks } from 'node:module';

type Handle = (fault: unknown, type?: string) => void;

/** The tests that have not ended, the youngest last. */
const open: Domain[] = [];

/** A listener for uncaught faults handles them; no test is told. */
const isTakenByOthers = (): boolean =>
  process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0;

const handle = (fault: unknown, type: string): boolean => {
  const domain = open.at(-1);
  if (domain === undefined || isTakenByOthers()) return false;
  domain.onerror(fault, type);
  return true;
};

/** The process would end after this; a callback that captures the fault, for this once, keeps it. */
const onUncaught = (fault: unknown, type: string): void => {
  if (handle(fault, type))
    process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null));
};

const { emit } = process;
/** To be in the list of listeners would keep the process from ending where no test is open. */
const emitUnlessHandled = (name: string, ...given: readonly unknown[]): boolean =>
  (name === 'unhandledRejection' && process.listenerCount(name) === 0 && handle(given[0], name)) ||
  Reflect.apply(emit, process, [name, ...given]);

/** The export of `async-hook-domain` that the assertion library uses. */
export class Domain {
  readonly onerror: Handle;

  constructor(onerror: Handle) {
    this.onerror = onerror;
    if (open.length === 0) {
      process.on('uncaughtExceptionMonitor', onUncaught);
      process.emit = emitUnlessHandled as typeof process.emit;
    }
    open.push(this);
  }

  destroy(): void {
    const index = open.indexOf(this);
    if (index === -1) return;
    open.splice(index, 1);
    if (open.length > 0) return;
    process.off('uncaughtExceptionMonitor', onUncaught);
    process.emit = emit;
  }
}

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain' ? { url: import.meta.url, shortCircuit: true } : next(specifier, context),
});
