/** How long a read waits until the read models have what was written before it. */
export const OWN_WRITES_WAIT_MS = 250;
