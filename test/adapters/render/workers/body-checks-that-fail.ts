/** A module of checks that ends its process at a body that is not empty. */
export default () =>
  async (job: unknown): Promise<unknown> => {
    if ((job as { bytes: Uint8Array }).bytes.length > 2) process.kill(process.pid, 'SIGKILL');
    return { kind: 'checked' };
  };
