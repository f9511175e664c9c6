/** The statuses that the recipients of an email have, each once, as one value by which lists filter. */
import { recipientStatuses, type RecipientStatus } from '../domain/email/status.js';

export const statusSet = (statuses: readonly RecipientStatus[]): string => {
  const [first] = statuses;
  if (first !== undefined && statuses.every((status) => status === first)) return first;
  return recipientStatuses.filter((status) => statuses.includes(status)).join();
};

/** Every set that has this status. */
export const setsWith = (status: RecipientStatus): readonly string[] =>
  Array.from({ length: 2 ** recipientStatuses.length }, (_, bits) => recipientStatuses.filter((_status, at) => (bits & (1 << at)) !== 0))
    .filter((set) => set.includes(status))
    .map((set) => set.join());
