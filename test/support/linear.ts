/**
 * Whether work grows in proportion to its input, told by the CPU time of this process, so that a busy machine changes
 * nothing.
 */

const FACTOR = 8;
/** Quadratic work would grow by the square of the factor. */
const GROWTH_MAX = 3 * FACTOR;
/** Noise of the CPU clock and the garbage collector. */
const NOISE_US = 300_000;

const cpuUsOf = async (work: () => unknown): Promise<number> => {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return user + system;
};

/** In: work on an input of a size. Out: true where eight times the size takes at most some eight times the CPU time. */
export const growsLinearly = async (work: (size: number) => unknown, size: number): Promise<boolean> => {
  const small = await cpuUsOf(() => work(size / FACTOR));
  return (await cpuUsOf(() => work(size))) <= GROWTH_MAX * small + NOISE_US;
};
