/** Whose sign-ins are counted together. */
import type { CommandDeps } from '../core/deps.js';
import { signInAddress } from './addresses.js';

/** In: an address as it was typed. Out: a name for it that tells nothing of it. Rejects with ERR_EMAIL_001. */
export const loginBucketOf = async (deps: CommandDeps, email: string): Promise<string> => signInAddress(deps, email).addressId;
