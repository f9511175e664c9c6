/** What a process does; one may do several. */
export const roles = ['http', 'process', 'project'] as const;
export type Role = (typeof roles)[number];
