/** The document worker from its bundle: to find, read and compile its 400 modules one by one takes half a second. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';
import { bundleFile, cacheFile } from './bundle-files.js';
import type { MakeHandler } from './messages.js';

type Module = { exports: Partial<Readonly<{ default: MakeHandler }>> };
type Wrapped = (exports: object, require: NodeJS.Require, module: Module, filename: string, directory: string) => void;

const compiledBefore = (): Buffer | undefined => {
  try {
    return readFileSync(cacheFile);
  } catch {
    // Without it the script is compiled anew: slower, and the same.
    return undefined;
  }
};

const filename = fileURLToPath(bundleFile);
const cachedData = compiledBefore();

/** Exported for the build, which keeps what V8 has compiled of it. */
export const script = new Script(readFileSync(bundleFile, 'utf8'), {
  filename,
  ...(cachedData === undefined ? {} : { cachedData }),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});

const load = (): MakeHandler => {
  const module: Module = { exports: {} };
  (script.runInThisContext() as Wrapped)(
    module.exports,
    createRequire(bundleFile),
    module,
    filename,
    dirname(filename),
  );
  const { default: makeHandler } = module.exports;
  if (makeHandler === undefined) throw new Error('the bundle of the document worker exports nothing');
  return makeHandler;
};

export default load();
