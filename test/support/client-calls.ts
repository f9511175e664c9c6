/** Calls every function of the client once, with nothing that it could do. */
import type { Client } from '../../packages/sdk/src/index.js';

/** In: a client whose `fetch` notes the calls, and what stands in place of each id. */
export const callAll = async (client: Client, id: string): Promise<void> => {
  const { emails, suppressions, ...others } = client;
  await callEach(id, {
    ...others,
    emails: { ...emails, sendMany: undefined },
    suppressions: { ...suppressions, import: undefined },
  });
  await emails.sendMany({ emails: [] });
  await suppressions.import(new Blob(['email\n']));
};

const callEach = async (id: string, members: object): Promise<void> => {
  for (const member of Object.values(members) as readonly unknown[])
    if (typeof member === 'object' && member !== null) await callEach(id, member);
    else if (typeof member === 'function') {
      const answer = (member as (...values: readonly unknown[]) => unknown)(id, id, undefined, undefined);
      if (typeof answer === 'object' && answer !== null && 'page' in answer)
        await (answer as { page: () => Promise<unknown> }).page();
      else await answer;
    }
};
