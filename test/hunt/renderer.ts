/** The smallest renderer that shows which template revision and which variables a mail was made of. */
import type { CompiledEmail, Renderer } from '../../src/domain/ports/renderer.js';

const compiled = (cacheKey: string): CompiledEmail =>
  Object.assign(
    ({ variables, subject = 'Hello' }: Parameters<CompiledEmail>[0]) => {
      const text = `${cacheKey} ${JSON.stringify(variables)}`;
      return { subject, html: `<p>${text}</p>`, text, inline: [] };
    },
    {
      check: ({ subject = 'Hello' }: Parameters<CompiledEmail>[0]) => ({
        subject,
        assetIds: [],
        contentIds: [],
        losses: [],
        isEmpty: false,
      }),
    },
  );

export const plainRenderer = (): Renderer => {
  const known = new Map<string, CompiledEmail>();
  return {
    email: async (cacheKey, load) => {
      const found = known.get(cacheKey);
      if (found !== undefined) return found;
      await load();
      const made = compiled(cacheKey);
      known.set(cacheKey, made);
      return made;
    },
    inline: () => compiled('inline'),
    compileEmail: () => compiled('unsaved'),
    compileEmailInTurns: async () => compiled('unsaved'),
    dropped: () => [],
    close: async () => {},
  };
};
