/** The program that runtimes.test.ts runs in each runtime; there it imports the client from its package. */
import { createClient, SealpostError, verify, type CallOptions } from '../../packages/sdk/src/index.js';

export type Given = Readonly<{
  name: string;
  /** The gate of runtimes.test.ts, with the path of this runtime. */
  url: string;
  key: string;
  hook: Readonly<{ body: string; headers: Readonly<Record<string, string>>; secret: string; now: number }>;
}>;

/** `react`: the id of the email with a React element, or the code of the refusal. */
export type Result = Readonly<{
  status: string;
  bulk: number;
  subjects: readonly string[];
  hooks: readonly string[];
  forged: readonly string[];
  refused: string;
  late: string;
  ended: string;
  busy: string;
  ids: readonly string[];
  react: string;
}>;

/** The code of a refusal, with its status if the service answered. */
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'none',
    (fault: unknown) =>
      fault instanceof SealpostError ? `${fault.status} ${fault.code}` : String((fault as { code?: string }).code),
  );

/** Calls that take long: one that reaches its time limit, and one that the signal of its caller ends. */
const hold = async (url: string, key: string): Promise<Pick<Result, 'late' | 'ended'>> => {
  const sealpost = createClient({ url: `${url}/held`, key, retries: 0 });
  const get = (id: string, options: CallOptions): Promise<unknown> => sealpost.emails.get(id, {}, options);
  const late = await codeOf(get('late', { timeoutMs: 20 }));
  const caller = new AbortController();
  const ended = get('ended', { signal: caller.signal }).then(
    () => 'answered',
    (reason: unknown) => (reason as Error).message,
  );
  // Answers when the call is held.
  await fetch(`${url}/arrived`);
  caller.abort(new Error('enough'));
  return { late, ended: await ended };
};

const verifyHooks = async ({
  body,
  headers,
  secret,
  now,
}: Given['hook']): Promise<Pick<Result, 'hooks' | 'forged'>> => {
  const own = Object.fromEntries(Object.entries(headers).filter(([field]) => !field.startsWith('webhook-')));
  const verified = [
    await verify({ body, headers, secret, now }),
    await verify({ body: new TextEncoder().encode(body), headers: new Headers(own), secret, now }),
  ];
  return {
    hooks: verified.map(({ id, event }) => `${id} ${event.event}`),
    forged: [
      await codeOf(verify({ body: `${body} `, headers, secret, now })),
      await codeOf(verify({ body: `${body} `, headers: own, secret, now })),
      await codeOf(verify({ body, headers, secret, now: now + 301_000 })),
    ],
  };
};

export const program = async ({ name, url, key, hook }: Given, element: object): Promise<Result> => {
  const sealpost = createClient({ url, key });
  const to = [{ email: `${name}@example.com` }];
  const email = { templateId: 'sign-in-code', to, variables: { code: '482913', firstName: 'Ada', minutesValid: 10 } };

  const sent = await sealpost.send(email);
  const bulk = await sealpost.sendBulk({
    templateId: 'sign-in-code',
    recipients: ['one', 'two'].map((person) => ({
      email: `${person}-${name}@example.com`,
      variables: email.variables,
    })),
  });
  const subjects: string[] = [];
  for await (const listed of sealpost.emails.list({ recipient: 'listed@example.com', limit: 2 }))
    subjects.push(String(listed.subject));
  const refused = await codeOf(sealpost.send({ ...email, templateId: 'unknown' }));
  const busy = await createClient({ url: `${url}/busy`, key }).send(email);
  const react = await sealpost.send({ to, content: { subject: 'React', react: element } }).then(
    ({ id }) => id,
    (fault: unknown) => (fault as SealpostError).code,
  );
  return {
    ...{ status: sent.status, bulk: bulk.totalEmails, subjects, refused, busy: busy.status },
    ...(await verifyHooks(hook)),
    ...(await hold(url, key)),
    ...{ ids: [sent.id, busy.id], react },
  };
};
