/**
 * Readers who follow tracked links and fetch pixels at 64 connections, against a bare redirect: CPU per request,
 * recording included. Both are asked at the same rate: to wake a reader that waits costs the one who answers, and only
 * the slower program's readers would wait.
 */
import { fileURLToPath } from 'node:url';
import { httpRequest, load } from './support/load.js';
import { machineWithDisk } from './support/machine.js';
import { orderRequest } from './support/orders.js';
import { compareMeasures } from './support/pairs.js';
import { pinToLoad, startProgram, type Program } from './support/programs.js';
import { figuresOf, report } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { CONNECTIONS, startService, type Service } from './support/service.js';

const TARGET = 2.0;
const PAIRS = 8;
const WARM_UP = 20_000;
const OPERATIONS = 20_000;
const PER_SECOND = 2_000;
const MAILS = 100;
/**
 * Mails of which each link is followed once: what the first time costs, with all that is recorded and projected of it.
 */
const FIRST_MAILS = 400;
const READER = {
  'User-Agent':
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36',
};

const limitProgram = fileURLToPath(new URL('./limits/tracking.js', import.meta.url));

/** Sends the requests in turn, and rejects where one is not answered as it should be. */
const ask = async (port: number, paths: readonly string[], count: number, perSecondMax = Infinity): Promise<void> => {
  const requests = paths.map((path) => httpRequest('GET', path, READER));
  const { statuses } = await load({
    port,
    connections: CONNECTIONS,
    requests: count,
    perSecondMax,
    request: (n) => requests[n % requests.length]!,
  });
  const answered = (statuses['302'] ?? 0) + (statuses['200'] ?? 0);
  if (answered !== count || (statuses['302'] ?? 0) === 0)
    throw new Error(`not every reader was answered: ${JSON.stringify(statuses)}`);
};

/** Resolves when the program uses next to no CPU: it records opens and clicks after it has answered. */
const quiet = async (program: Program): Promise<void> => {
  for (let before = -Infinity; program.cpuUs() - before > 20_000;) {
    before = program.cpuUs();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
};

const cpuOf = async (program: Program, port: number, paths: readonly string[]): Promise<number> => {
  await ask(port, paths, WARM_UP);
  await quiet(program);
  const before = program.cpuUs();
  await ask(port, paths, OPERATIONS, PER_SECOND);
  await quiet(program);
  return (program.cpuUs() - before) / OPERATIONS;
};

const limit = async (): Promise<number> => {
  const program = startProgram({ command: process.execPath, args: [limitProgram], side: 'system' });
  try {
    const port = Number((await program.saw(/listening on http:\/\/[^\s:]+:(\d+)/))[1]);
    const cpuUs = await cpuOf(
      program,
      port,
      Array.from({ length: MAILS }, (_, n) => `/t/c/${String(n).padStart(140, 'a')}`),
    );
    await program.stop();
    return cpuUs;
  } finally {
    program.kill();
  }
};

const json = async <Answer>(service: Service, path: string): Promise<Answer> => {
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    headers: { authorization: service.authorization },
  });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
};

/** Sends mails to the built-in mailbox. Out: the pixel and the link of each, as they stand in the mails. */
const sendTracked = async (
  service: Service,
  mails: number,
): Promise<Readonly<{ pixels: string[]; links: string[] }>> => {
  const before = await service.listed('delivered');
  await service.accept(mails, (n) => ({ ...orderRequest(n), tracking: { opens: true, clicks: true } }));
  while ((await service.listed('delivered')) < before + mails) await new Promise((resolve) => setImmediate(resolve));
  const [pixels, links]: [string[], string[]] = [[], []];
  for (let page = 1; pixels.length < mails; page += 1) {
    const { data } = await json<{ data: readonly { id: string }[] }>(
      service,
      `/mailbox/messages?limit=100&page=${page}`,
    );
    for (const { id } of data.slice(0, mails - pixels.length)) {
      const { html } = await json<{ html: string }>(service, `/mailbox/messages/${id}`);
      pixels.push(/\/t\/o\/[\w-]+/.exec(html)![0]);
      links.push(/\/t\/c\/[\w-]+/.exec(html)![0]);
    }
  }
  return { pixels, links };
};

const serve = async <Result>(directory: string, work: (service: Service) => Promise<Result>): Promise<Result> => {
  const service = await startService({ directory });
  try {
    const result = await work(service);
    await service.stop();
    return result;
  } finally {
    service.kill();
  }
};

const ours = (directory: string): Promise<number> =>
  serve(directory, async (service) => {
    const { pixels, links } = await sendTracked(service, MAILS);
    return cpuOf(service.program, service.port, [...pixels, ...links]);
  });

/** Until all that was recorded of it is in the read models. */
const firstTime = (directory: string): Promise<number> =>
  serve(directory, async (service) => {
    const { links } = await sendTracked(service, MAILS);
    await ask(service.port, links, WARM_UP);
    const fresh = await sendTracked(service, FIRST_MAILS);
    const clicked = (await totals(service)).clicked;
    // Later than a machine would be.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    const before = service.program.cpuUs();
    await ask(service.port, fresh.links, FIRST_MAILS);
    while ((await totals(service)).clicked < clicked + FIRST_MAILS)
      await new Promise((resolve) => setTimeout(resolve, 100));
    return (service.program.cpuUs() - before) / FIRST_MAILS;
  });

const totals = async (service: Service): Promise<{ clicked: number }> =>
  (
    (await (
      await fetch(`http://127.0.0.1:${service.port}/api/analytics/overview`, {
        headers: { authorization: `Bearer ${service.firstKey}` },
      })
    ).json()) as { totals: { clicked: number } }
  ).totals;

pinToLoad();
const result = await compareMeasures({
  name: 'a pixel or a tracked link',
  ours: () => withDirectory(ours),
  limit,
  pairs: PAIRS,
  operations: OPERATIONS,
});
const firstUs = await withDirectory(firstTime);
report({
  name: 'tracking',
  figures: [
    ...figuresOf(result, 'µs/request', { atMost: TARGET }),
    { what: 'the first click of a mail, recorded and projected', value: firstUs, unit: 'µs' },
  ],
  machine: machineWithDisk(),
  details: { ...result, firstUs, connections: CONNECTIONS, perSecond: PER_SECOND },
});
