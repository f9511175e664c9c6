/** The pages of the service itself as Eta templates: `<%= … %>` writes a value escaped, `<%~ … %>` as it is. */
import { Eta } from 'eta/core';

const eta = new Eta({ autoEscape: true, autoTrim: false, cache: false });

/** In: the source of a page, which calls its values `it`. Out: a function that fills it; the source is compiled here, once. */
export const pageTemplate = <Values extends object>(source: string): ((values: Values) => string) => {
  const compiled = eta.compile(source);
  return (values) => compiled.call(eta, values);
};
