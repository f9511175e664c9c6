/** `null` in an optional field of a template is the same as leaving the field out; a default value, and what is compared with, may be null. */

/** Their values are data of the author. */
const DATA: ReadonlySet<string> = new Set(['defaultValue', 'value']);

/**
 * In: JSON, however deep. Out: the same without members that are null, but for those that are data; the very same where there are none.
 * What lies deeper than `depthMax` stays as it is: no template is nested so deep.
 */
export const withoutNulls = (value: unknown, depthMax: number): unknown => {
  if (typeof value !== 'object' || value === null || depthMax === 0) return value;
  if (Array.isArray(value)) {
    const elements = (value as readonly unknown[]).map((element) => withoutNulls(element, depthMax - 1));
    return elements.some((element, at) => element !== (value as readonly unknown[])[at]) ? elements : value;
  }
  const members = Object.entries(value);
  const kept = members.flatMap(([name, member]): [string, unknown][] => {
    if (DATA.has(name)) return [[name, member]];
    return member === null ? [] : [[name, withoutNulls(member, depthMax - 1)]];
  });
  const isSame = kept.length === members.length && kept.every(([, member], at) => member === members[at]![1]);
  return isSame ? value : Object.fromEntries(kept);
};
