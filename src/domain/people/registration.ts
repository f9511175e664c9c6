/** Who may become a user: everybody, those who were invited, or nobody but the first. */
export const registrations = ['open', 'invited', 'closed'] as const;
export type Registration = (typeof registrations)[number];
