/** What is shown of people. */
import type { UserRecord } from '../../api/people.js';
import type { UserId } from '../../domain/core/ids.js';
import type { User } from '../../domain/people/user.js';

/** As the person sees themselves. */
export const userRecordOf = (id: UserId, user: User): UserRecord => ({
  id,
  email: user.email ?? null,
  name: user.name ?? null,
  emailVerified: user.isVerified,
  secondFactor: user.secondFactor !== undefined,
  createdAt: user.registeredAt,
});
