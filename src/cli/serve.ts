/** `sealpost serve`: starts everything, says where to look, and stops in good order when asked to. */
import { CLOSED_WITHIN_MS, startApp, type App } from '../service/app.js';
import { readServeConfig, type Config } from '../service/settings/config.js';
import { signInLink } from '../commands/people/sign-in-links.js';
import { mailboxLink } from '../service/mailbox.js';
import { readSampleCall } from '../service/samples.js';
import { assertMayFound } from './core/engine.js';
import { endNow, endProcess } from './core/exit.js';
import { ignoreLostOutput, print, printFault } from './core/output.js';

const STOPPING_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const;
/** Without a handler Node opens a debugger for the first, and ends for the second. */
const IGNORED_SIGNALS = ['SIGUSR1', 'SIGUSR2'] as const;

/**
 * A start that was told to stop has this long to come to its end. After that it is cut off, which is as safe as a
 * crash.
 */
const STARTED_WITHIN_MS = 5_000;

/** A stop ends by its own deadlines. If it has not this long after them, the process ends all the same. */
const HANGS_AFTER_MS = 1_000;

export const serve = async (): Promise<void> => {
  const config = readServeConfig(undefined, process.stdout.isTTY);
  assertMayFound(config);
  ignoreLostOutput();
  const starting = startApp(config);
  const isStopping = stopOnSignals(starting, config.limits.shutdownDeadlineMs);
  const app = await starting;
  if (isStopping()) return;
  try {
    await serveApp(app, config);
  } catch (fault) {
    // A service that stops refuses to listen, and nothing more is to be said.
    if (isStopping()) return;
    await app.stop();
    throw fault;
  }
};

const serveApp = async (app: App, config: Config): Promise<void> => {
  giveBackStartMemory();
  const address = config.roles.includes('http') ? await listen(app, config) : undefined;
  const base = config.port === 0 && address !== undefined ? address : config.publicUrl;
  const link = app.mailboxToken === undefined ? undefined : mailboxLink(base, app.mailboxToken);
  welcome(config, address, base, link);
  if (app.inboundSmtpPort !== undefined)
    print(`  Reports        smtp://${config.feedback?.smtp?.host}:${app.inboundSmtpPort}`);
  for (const [index, { isTls }] of (config.submission?.ports ?? []).entries()) {
    const port = app.submissionPorts[index];
    if (port !== undefined) print(`  Mail by SMTP   ${isTls ? 'smtps' : 'smtp'}://${config.submission?.host}:${port}`);
  }
  if (address === undefined) return;
  let dashboard = `${base}/app`;
  await app.showFirstLink((token) => {
    dashboard = signInLink(base, token);
  });
  print(`  Dashboard      ${dashboard}`);
  print('');
  await app.showFirstKey((key) => showKey(base, key, link));
  await app.showFirstUserToken((token) =>
    print(`\nNobody owns the first team yet. Who registers with this token does:\n\n  ${token}\n`),
  );
  if (process.stdout.isTTY && config.logLevel === 'warn')
    print('Only warnings and errors are shown here; SEALPOST_LOG_LEVEL=info adds a line for each call.\n');
};

/**
 * Collects the garbage of the start and gives its pages back to the system: some 20 MB, which V8 keeps otherwise.
 * It takes 0.1 s, so it runs before the first request. Node has the function where bin/sealpost.js started it.
 */
const giveBackStartMemory = (): void => globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });

/** Stops the service, once it has started, when a signal says so. Out: whether one did. */
const stopOnSignals = (starting: Promise<App>, deadlineMs: number): (() => boolean) => {
  let signals = 0;
  const stop = (signal: NodeJS.Signals): void => {
    // A terminal that closes says so several times.
    if (signals > 0 && signal === 'SIGHUP') return;
    signals += 1;
    // A second signal ends the process at once.
    if (signals > 1) endNow(1);
    const late = setTimeout(() => void endProcess(0), STARTED_WITHIN_MS);
    const hung = setTimeout(
      () => failedStop('it hangs'),
      STARTED_WITHIN_MS + deadlineMs + CLOSED_WITHIN_MS + HANGS_AFTER_MS,
    );
    starting
      .finally(() => clearTimeout(late))
      .then(
        (app) =>
          app.stop().then(
            () => endProcess(0),
            (fault: unknown) => failedStop(fault instanceof Error ? fault.message : 'unknown fault'),
          ),
        // A start that fails is told by the command itself.
        () => {},
      )
      .finally(() => clearTimeout(hung));
  };
  for (const signal of STOPPING_SIGNALS) process.on(signal, stop);
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => {});
  return () => signals > 0;
};

const failedStop = (why: string): Promise<void> => {
  printFault(`sealpost could not stop in good order: ${why}`);
  return endProcess(1);
};

const listen = async (app: App, config: Config): Promise<string> => {
  try {
    const address = await app.server.listen({ port: config.port, host: config.host });
    // The server is made by a factory of ours, so fastify does not know that it speaks TLS.
    return config.tls === undefined ? address : address.replace(/^http:/, 'https:');
  } catch (fault) {
    const code = fault instanceof Error && 'code' in fault ? fault.code : undefined;
    if (code === 'EADDRINUSE')
      throw new Error(`port ${config.port} on ${config.host} is in use; stop what uses it, or set PORT to another`, {
        cause: fault,
      });
    throw fault;
  }
};

const welcome = (config: Config, address: string | undefined, base: string, link: string | undefined): void => {
  print(`\nsealpost is running${address === undefined ? ` (${config.roles.join(', ')})` : ` on ${address}`}\n`);
  if (address === undefined) return;
  print(`  API reference  ${base}/docs`);
  if (link !== undefined) print(`  Mailbox        ${link}`);
};

const showKey = (base: string, key: string, link: string | undefined): void => {
  print(`This is the first start. Your API key, shown this once:\n\n  ${key}\n`);
  print('Send the first mail:\n');
  print(orderConfirmationCurl(base, key));
  if (link !== undefined) print(`\nThen look at ${link}\n`);
};

/**
 * In: the address of the service and a key. Out: a shell command that sends the order confirmation to an example
 * address.
 */
const orderConfirmationCurl = (base: string, key: string): string => {
  // Single quotes cannot stand inside a single-quoted word of the shell.
  const json = JSON.stringify(readSampleCall('emails/order-confirmation')).replaceAll("'", '\\u0027');
  return `curl -s ${base}/api/emails/send -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${json}'`;
};
