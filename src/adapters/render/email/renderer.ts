/** The renderer port: compiled template revisions, kept while they are in use. */
import type { Limits } from '../../../domain/core/limits.js';
import type { CompiledEmail, Renderer } from '../../../domain/ports/renderer.js';
import type { EmailTemplateContent } from '../../../domain/rendering/content.js';
import { boundedCache } from '../../../shared/cache.js';
import { compile, compileInTurns, type CompiledTemplate } from './compile.js';

const REVISIONS_MAX = 1_000;
const SOURCE_CHARS_MAX = 64 * 1024 * 1024;

/** In: the limits in force. Out: a renderer that compiles each revision once and forgets those not used for longest. */
export const openRenderer = ({ limits }: Readonly<{ limits: Limits }>): Renderer => {
  const compiled = boundedCache<string, CompiledTemplate>({
    entriesMax: REVISIONS_MAX,
    size: { max: SOURCE_CHARS_MAX, of: ({ sizeChars }) => Math.max(sizeChars, 1) },
  });
  const loading = new Map<string, Promise<CompiledEmail>>();

  const loadOnce = async (cacheKey: string, load: () => Promise<EmailTemplateContent>): Promise<CompiledEmail> => {
    const made = await compileInTurns(await load(), limits);
    compiled.set(cacheKey, made);
    return made.render;
  };
  return {
    email: (cacheKey, load) => {
      const known = compiled.get(cacheKey);
      if (known !== undefined) return known.render;
      const pending = loading.get(cacheKey);
      if (pending !== undefined) return pending;
      const started = loadOnce(cacheKey, load).finally(() => loading.delete(cacheKey));
      loading.set(cacheKey, started);
      return started;
    },
    compileEmail: (content) => compile(content, limits).render,
    compileEmailInTurns: async (content) => (await compileInTurns(content, limits)).render,
    close: async () => compiled.clear(),
  };
};
