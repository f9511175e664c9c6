/** What is shown of people. */
import type { UserRecord } from '../api/auth.js';
import type { UserId } from '../domain/ids.js';
import type { User } from '../domain/user/state.js';

/** As the person sees themselves. */
export const userRecordOf = (id: UserId, user: User): UserRecord => ({
  id,
  email: user.email ?? null,
  name: user.name ?? null,
  emailVerified: user.isVerified,
  secondFactor: user.secondFactor !== undefined,
  createdAt: user.registeredAt,
});
