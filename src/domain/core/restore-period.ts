/** What holds for everything that can be restored for some days after it was deleted. */

/** So far the clocks of two processes may be apart: what one of them still restores, no other removes meanwhile. */
export const CLOCKS_APART_MS = 60_000;
