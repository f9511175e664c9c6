/** The files of the bundled document worker, and whether the bundle is as new as the compiled modules. */
import { statSync } from 'node:fs';

/** The worker with all its libraries, as one function of a CommonJS module. Written by bin/bundle-documents.js. */
export const bundleFile = new URL('./worker.bundle', import.meta.url);
/** The code cache of V8 for the bundle. V8 refuses a cache of another version of itself. */
export const cacheFile = new URL('./worker.bundle.cache', import.meta.url);

/** The compiler writes it whenever it writes anything; an image holds none, for nothing is compiled there. */
const compiledFile = new URL('../../../../.tsbuildinfo', import.meta.url);

const changedMs = (file: URL): number | undefined => statSync(file, { throwIfNoEntry: false })?.mtimeMs;

/** True if the bundle exists and nothing was compiled after it. Tests name their own files. */
export const isBundled = (bundle = bundleFile, compiled = compiledFile): boolean =>
  (changedMs(bundle) ?? -Infinity) >= (changedMs(compiled) ?? 0);
