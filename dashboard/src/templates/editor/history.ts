/** Undo and redo as values. A step keeps the whole content, which shares what the act did not touch. */

/** Acts of one `group` that follow each other within a second are one step: the letters of a word, for instance. */
export type Act = Readonly<{ label: string; group?: string }>;

/** `label`: the act between the value and the next one. */
type Step<Value> = Readonly<{ value: Value; label: string }>;

export type History<Value> = Readonly<{
  past: readonly Step<Value>[];
  present: Value;
  future: readonly Step<Value>[];
  /** The group of the last act and its time; undefined after an undo. */
  open: Readonly<{ group: string; at: number }> | undefined;
}>;

const STEPS_MAX = 1_000;
const TOGETHER_MS = 1_000;

export const begin = <Value>(present: Value): History<Value> => ({ past: [], present, future: [], open: undefined });

/** `at`: the time of the act in milliseconds. An act that changes nothing is none. */
export const done = <Value>(
  history: History<Value>,
  next: Value,
  { label, group }: Act,
  at: number,
): History<Value> => {
  const { past, present, open } = history;
  if (next === present) return history;
  const isSame = group !== undefined && open?.group === group && at - open.at <= TOGETHER_MS;
  return {
    past: isSame ? past : [...past, { value: present, label }].slice(-STEPS_MAX),
    present: next,
    future: [],
    open: group === undefined ? undefined : { group, at },
  };
};

/** Undefined where there is nothing to undo. */
export const undone = <Value>({ past, present, future }: History<Value>): History<Value> | undefined => {
  const last = past.at(-1);
  if (last === undefined) return undefined;
  const again = { value: present, label: last.label };
  return { past: past.slice(0, -1), present: last.value, future: [again, ...future], open: undefined };
};

/** Undefined where there is nothing to do again. */
export const redone = <Value>({ past, present, future }: History<Value>): History<Value> | undefined => {
  const [next, ...rest] = future;
  if (next === undefined) return undefined;
  return { past: [...past, { value: present, label: next.label }], present: next.value, future: rest, open: undefined };
};

/** The acts that an undo and a redo would be about. */
export const labelsOf = <Value>({
  past,
  future,
}: History<Value>): Readonly<{ undo: string | undefined; redo: string | undefined }> => ({
  undo: past.at(-1)?.label,
  redo: future[0]?.label,
});
