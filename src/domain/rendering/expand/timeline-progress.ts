/** What the status of a timeline's step says of its progress, by the names that people give it. */

/** `other`: a status that no dot stands for, so it is to be said in words; `none`: no status at all. */
export type Progress = 'completed' | 'current' | 'pending' | 'other' | 'none';

const names: Readonly<Record<Exclude<Progress, 'other' | 'none'>, readonly string[]>> = {
  completed: ['completed', 'complete', 'done', 'finished', 'success', 'succeeded', 'delivered', 'passed', 'past', 'true'],
  current: ['current', 'active', 'in progress', 'ongoing', 'processing', 'started', 'now'],
  pending: ['pending', 'upcoming', 'planned', 'scheduled', 'todo', 'to do', 'open', 'next', 'future', 'waiting', 'false'],
};

const known = new Map(Object.entries(names).flatMap(([progress, all]) => all.map((name) => [name, progress as Progress] as const)));

/** Letter case, hyphens and underscores do not count: `IN_PROGRESS` is `in progress`. */
export const progressOf = (status: string): Progress => {
  const name = status
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ');
  return name === '' ? 'none' : (known.get(name) ?? 'other');
};
