/** What signs or lets in is for no screen, and for no file that an auditor keeps: such fields are named in its place. */
export const NOT_SHOWN = '(not shown)';

const secretFields: ReadonlySet<string> = new Set([
  'secret',
  'earlierSecret',
  'passwordHash',
  'recoveryHashes',
  'privateKey',
  'privateKeys',
]);

export const isSecret = (field: string): boolean => secretFields.has(field);

/** In: what is sealed of an event. Out: the same without its secrets; what callers gave stands deeper, and stays whatever its names. */
export const withoutSecrets = <Sealed extends object>(sealed: Sealed): Record<string, unknown> =>
  Object.fromEntries(Object.entries(sealed).map(([field, value]) => [field, isSecret(field) ? NOT_SHOWN : (value as unknown)]));
