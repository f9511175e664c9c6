/** In: names of classes, some of them absent. Out: those that are there, for an element. */
export const cx = (...names: readonly (string | false | undefined)[]): string =>
  names.filter((name) => name !== undefined && name !== false).join(' ');
