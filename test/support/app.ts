/**
 * The whole service inside the test: on a directory of its own, with a clock, a mailer or a store of the test's where
 * given.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCommands } from '../../src/commands/index.js';
import { firstTeam, systemCaller } from '../../src/commands/core/caller.js';
import { startApp, type App, type AppOptions } from '../../src/service/app.js';
import { readConfig } from '../../src/service/settings/config.js';
import { permissions } from '../../src/domain/access/permissions.js';
import { codesOfRoute } from '../../src/http/server/openapi/document.js';
import { routesOf, type RegisteredRoute } from '../../src/http/index.js';
import type { ErrorCode } from '../../src/domain/core/errors.js';
import type { EmailRecord, SendEmailResponse } from '../../src/api/email.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import type { Engine } from '../../src/service/engine.js';
import { fakeClock, type FakeClock } from './fake-clock.js';
import { withSender, type Settings } from './server-process.js';
import { differenceOf } from './described-answers.js';
import { eventually, pause } from './wait.js';

/** The answer to a request: the status, the headers, and the body parsed as JSON (undefined if it is none). */
export type Answer<Body = Readonly<Record<string, unknown>>> = Readonly<{
  status: number;
  headers: Readonly<Record<string, unknown>>;
  body: Body;
  text: string;
}>;

export type TestApp = App &
  Readonly<{
    /** A key with every permission and no limit that a test could reach. */
    key: string;
    call: <Body = Readonly<Record<string, unknown>>>(
      method: 'GET' | 'POST' | 'DELETE' | 'PATCH',
      path: string,
      body?: unknown,
      headers?: Settings,
    ) => Promise<Answer<Body>>;
    /** Sends the order confirmation and expects 201; `more` is laid over the body. */
    send: (more?: Readonly<Record<string, unknown>>, headers?: Settings) => Promise<SendEmailResponse>;
    email: (id: string) => Promise<EmailRecord>;
    /**
     * Waits until the email has that status, moving the clock of the test on by `stepMs` at each look where it has one.
     */
    whenStatus: (id: string, status: EmailRecord['status'], stepMs?: number) => Promise<EmailRecord>;
  }>;

/** `isFounded`: a first start is no matter of the test, so an empty directory is filled with a copy of one after it. */
export type TestAppOptions = Omit<AppOptions, 'clock'> &
  Readonly<{ dataDir: string; settings?: Settings; clock?: FakeClock; isFounded?: boolean }>;

/** A key that no test exhausts, made as the command line makes one. */
export const generousKey = async (engine: Engine): Promise<string> => {
  const teamId = await firstTeam(engine);
  if (teamId === undefined) throw new Error('there is no team');
  const created = await makeCommands(engine).createApiKey(systemCaller(teamId, 'test', 'test'), {
    name: 'test',
    permissions: [...permissions],
    rateLimit: 10_000_000,
  });
  return created.key;
};

/** A send call that every test may make; what it says is only in what is personal of the email. */
export const sendBody = (more: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => ({
  templateId: 'sign-in-code',
  to: [{ email: 'ada@example.com', name: 'Ada Example' }],
  variables: signInVariables,
  ...more,
});

export const signInVariables = { code: '482913', firstName: 'Ada', minutesValid: 10 };

/**
 * Data directories after a first start, one for each build, moment and sender of account mails: a test that begins
 * empty gets a copy.
 */
/** Written by each build that changes anything. */
const buildFile = fileURLToPath(new URL('../../.tsbuildinfo', import.meta.url));
const foundedApps = fileURLToPath(new URL('../founded-apps', import.meta.url));
/** The system clock goes on; to the service, a copy stood still since it was made. */
const KEPT_MS = 30 * 60_000;

const foundedApp = async (settings: Settings, clock: FakeClock | undefined): Promise<string> => {
  const build = `${statSync(buildFile).mtimeMs}`;
  const sender = settings['SEALPOST_ACCOUNT_SENDER'] ?? '';
  const moment = clock === undefined ? `half-hour-${Math.floor(Date.now() / KEPT_MS)}` : String(clock.now());
  const founded = join(
    foundedApps,
    `${build}-${moment}-${createHash('sha256').update(sender).digest('hex').slice(0, 16)}`,
  );
  if (existsSync(founded)) return founded;
  mkdirSync(foundedApps, { recursive: true });
  for (const other of readdirSync(foundedApps))
    if (!other.startsWith(build) && !other.startsWith('made-'))
      rmSync(join(foundedApps, other), { recursive: true, force: true });
  const made = mkdtempSync(join(foundedApps, 'made-'));
  const given = sender === '' ? {} : { SEALPOST_ACCOUNT_SENDER: sender };
  const app = await startApp(
    readConfig({ PORT: '0', SEALPOST_DATA_DIR: made, SEALPOST_LOG_LEVEL: 'silent', ...given }),
    {
      ...(clock === undefined ? {} : { clock: fakeClock(clock.now()) }),
    },
  );
  await app.stop();
  // It names the directory that it was made in.
  rmSync(join(made, 'place.json'), { force: true });
  try {
    renameSync(made, founded);
  } catch (fault) {
    rmSync(made, { recursive: true });
    if (!existsSync(founded)) throw fault;
  }
  return founded;
};

export const startTestApp = async ({
  dataDir,
  settings: given = {},
  isFounded = false,
  ...options
}: TestAppOptions): Promise<TestApp> => {
  const settings = withSender(given);
  if (isFounded) {
    const founded = await foundedApp(settings, options.clock);
    if (readdirSync(dataDir).length === 0) cpSync(founded, dataDir, { recursive: true });
  }
  const config = readConfig({ PORT: '0', SEALPOST_DATA_DIR: dataDir, SEALPOST_LOG_LEVEL: 'silent', ...settings });
  const app = await startApp(config, options);
  const key = await generousKey(app.engine);
  const { clock } = options;

  const call: TestApp['call'] = async <Body>(
    method: 'GET' | 'POST' | 'DELETE' | 'PATCH',
    path: string,
    body?: unknown,
    headers: Settings = {},
  ) => {
    const response = await app.server.inject({
      method,
      url: path,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer = jsonOf(response.body);
    if (response.statusCode >= 400) assertNamed(app, method, path, answer);
    const { statusCode: status, body: text } = response;
    const difference = differenceOf(app.server, {
      method,
      path,
      status,
      type: response.headers['content-type'],
      body: text,
    });
    if (difference !== undefined) throw new Error(`an answer is not as described: ${difference}`);
    return { status, headers: response.headers, body: answer as Body, text };
  };

  const email = async (id: string): Promise<EmailRecord> => {
    const { status, body, text } = await call<EmailRecord>('GET', `/api/emails/${id}`);
    if (status !== 200) throw new Error(`GET /api/emails/${id} answered ${status} ${text}`);
    return body;
  };

  return {
    ...app,
    key,
    call,
    email,
    send: async (more = {}, headers = {}) => {
      const { status, body, text } = await call<SendEmailResponse>('POST', '/api/emails/send', sendBody(more), headers);
      if (status !== 201) throw new Error(`a send call was answered ${status} ${text}`);
      return body;
    },
    whenStatus: (id, status, stepMs = 0) =>
      eventually(`email ${id} is ${status}`, async () => {
        if (stepMs > 0) await clock?.advance(stepMs);
        const record = await email(id);
        if (record.status === status) return record;
        throw new Error(`the email is ${record.status}`);
      }),
  };
};

/** Checks an answer against the API description of the endpoint. */
const assertNamed = ({ server }: App, method: string, path: string, answer: unknown): void => {
  const target = path.split('?')[0] ?? '';
  const routes = routesOf(server).filter((route) => route.method === method);
  const fits = ({ path: pattern }: RegisteredRoute): boolean =>
    new RegExp(`^${pattern.replace(/:[a-z]+/g, '[^/]+')}$`).test(target);
  const route = routes.find(({ path: pattern }) => pattern === target) ?? routes.find(fits);
  const { code } = answer as Readonly<{ code: ErrorCode }>;
  // The router itself answers what has no address.
  if (route !== undefined && code !== 'NOT_FOUND' && !codesOfRoute(route).has(code))
    throw new Error(`${method} ${route.path} answers ${code}, which its description does not name`);
};

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Every event as it is stored, in the total order. */
export const storedEvents = async (engine: Pick<Engine, 'store'>): Promise<readonly StoredEvent[]> => {
  const events: StoredEvent[] = [];
  for await (const batch of engine.store.readAll(0)) events.push(...batch.events);
  return events;
};

/**
 * Moves the clock on in steps until the condition holds: what waits for a moment may wait for several, one after the
 * other.
 */
export const advanceUntil = (
  clock: FakeClock,
  stepMs: number,
  what: string,
  holds: () => Promise<boolean> | boolean,
  withinMs = 240_000,
): Promise<boolean> => {
  const look = async (): Promise<boolean> => {
    if (await holds()) return true;
    await clock.advance(stepMs);
    await pause(0);
    return false;
  };
  return eventually(what, look, withinMs);
};
