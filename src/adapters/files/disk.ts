/** How much room is left where a directory lies. */
import { statfs } from 'node:fs/promises';
import type { Disk } from '../../domain/ports/disk.js';

export const openDisk = (directory: string): Disk => ({
  freeBytes: async () => {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  },
});
