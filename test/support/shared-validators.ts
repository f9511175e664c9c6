/**
 * Lets all servers of a process share what checks their requests. Fastify makes a compiler of JSON schemas for each
 * server, and some 250 schemas are compiled at each start, which is a third of the CPU of a start. The schemas are
 * constants, so a second server of a test takes those of the first.
 */
import { createRequire, registerHooks } from 'node:module';

type MakeSelector = () => object;

const NAME = '@fastify/ajv-compiler';
const asker = '/fastify/lib/schema-controller.js';

let shared: object | undefined;

/** The package of that name, but for that it gives the same at each call. */
const selector: MakeSelector = () => {
  const requireOfFastify = createRequire(createRequire(import.meta.url).resolve('fastify'));
  return (shared ??= (requireOfFastify(NAME) as MakeSelector)());
};
export { selector as 'module.exports' };

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === NAME && context.parentURL?.endsWith(asker) === true
      ? { url: import.meta.url, format: 'module', shortCircuit: true }
      : next(specifier, context),
});
