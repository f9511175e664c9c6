/** Directory of benchmarks on the disk of the project: a file system in memory would make every commit free. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the project, from the compiled file. */
export const projectRoot = fileURLToPath(new URL('../../../', import.meta.url));
export const scratchRoot = join(projectRoot, 'bench', '.cache');
export const resultsRoot = join(projectRoot, 'bench', 'results');

/** Runs `work` with a fresh directory and removes it after, whatever came of it. */
export const withDirectory = async <Result>(work: (directory: string) => Promise<Result>): Promise<Result> => {
  mkdirSync(scratchRoot, { recursive: true });
  const directory = mkdtempSync(join(scratchRoot, 'run-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
