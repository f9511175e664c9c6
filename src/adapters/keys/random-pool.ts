/** Bytes from the system's generator, drawn in strokes: one draw costs as much as a sealing. */
import { randomFillSync } from 'node:crypto';

const poolSizeBytes = 4_096;

/** Answers with a function that gives `sizeBytes` fresh bytes, of which no trace is left in the pool. */
export const randomPool = (): ((sizeBytes: number) => Buffer) => {
  const pool = Buffer.alloc(poolSizeBytes);
  let used = poolSizeBytes;
  return (sizeBytes) => {
    if (used + sizeBytes > poolSizeBytes) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = Buffer.from(pool.subarray(used, used + sizeBytes));
    pool.fill(0, used, used + sizeBytes);
    used += sizeBytes;
    return bytes;
  };
};
