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
  const members = value as Readonly<Record<string, unknown>>;
  // Of what is to be another: the members of an object of very many are gone through once where nothing is.
  const changed = new Map<string, unknown>();
  for (const name in members) {
    const member = members[name];
    if (typeof member !== 'object' || DATA.has(name)) continue;
    const kept = member === null ? undefined : withoutNulls(member, depthMax - 1);
    if (kept !== member) changed.set(name, kept);
  }
  if (changed.size === 0) return value;
  return Object.fromEntries(
    Object.entries(members)
      .map(([name, member]) => [name, changed.has(name) ? changed.get(name) : member] as const)
      .filter(([name, member]) => member !== undefined || !changed.has(name)),
  );
};
