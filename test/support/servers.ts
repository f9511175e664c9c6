/**
 * The real servers that tests run against: those that the environment names, else one that a test starts from the
 * folder that setup.sh filled (SEALPOST_TEST_SERVERS) or from the programs on the PATH. Each test has a place of its
 * own on them, which goes with it.
 */
import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import { canStart, openOwnServer, type ServerInHand } from './own-server.js';
import { isPlain, variableOf, type ServerName } from './server-names.js';
import { dropMongoDatabase, dropNatsStreams, dropRedisKeys } from './server-places.js';

/**
 * `place`: what this test may use there, a database, a prefix of keys or of the names of streams; lower-case letters
 * and digits.
 */
export type TestServer = Readonly<{ url: string; place: string }>;

/** A server that no other test uses. */
export type OwnServer = TestServer & ServerInHand;

/**
 * NATS with JetStream. The place is a prefix of stream names. Undefined where there is none: then the test is skipped,
 * and in CI it fails.
 */
export const natsServer = (t: Test): Promise<TestServer | undefined> => anyServer(t, 'nats', dropNatsStreams);
/** The place is a prefix of keys. */
export const redisServer = (t: Test): Promise<TestServer | undefined> => anyServer(t, 'redis', dropRedisKeys);
/** The place is a database, which the URL names. */
export const mongoServer = async (t: Test): Promise<TestServer | undefined> => {
  const server = await anyServer(t, 'mongodb', dropMongoDatabase);
  return server && { ...server, url: mongoUrlOf(server.url, server.place) };
};
/**
 * The place is for the names of streams, which stay: a log is not deleted. Undefined where the environment names none,
 * in CI too.
 */
export const eventStoreServer = async (t: Test): Promise<TestServer | undefined> => {
  const url = urlOf('eventstore');
  return url === undefined ? skipped(t, 'eventstore') : { url, place: freshPlace() };
};

/** Servers of this test alone, that it may kill, freeze and wipe. Undefined as above. */
export const ownNatsServer = (t: Test): Promise<OwnServer | undefined> => ownServer(t, 'nats');
export const ownRedisServer = (t: Test): Promise<OwnServer | undefined> => ownServer(t, 'redis');
export const ownMongoServer = async (t: Test): Promise<OwnServer | undefined> => {
  const server = await ownServer(t, 'mongodb');
  return server && { ...server, url: mongoUrlOf(server.url, server.place) };
};

/** The URL of that database on the server of another. */
export const mongoUrlOf = (url: string, database: string): string => {
  const [, server = '', before = '', query = ''] =
    /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/([^?]*))?(\?.*)?$/.exec(url) ?? [];
  // The user that logs in is stored in the database that the URL names.
  const needsSource = server.includes('@') && !/[?&]authSource=/i.test(query);
  const source = needsSource ? `${query === '' ? '?' : '&'}authSource=${before === '' ? 'admin' : before}` : '';
  return `${server}/${database}${query}${source}`;
};

/** Whether tests that need that server run here. */
export const isThere = (name: ServerName): boolean => urlOf(name) !== undefined || canStart(name);

const urlOf = (name: ServerName): string | undefined => (isPlain ? undefined : process.env[variableOf[name]]);

const freshPlace = (): string => `t${randomBytes(6).toString('hex')}`;

const skipped = (t: Test, name: ServerName): undefined => {
  const reason = `no ${name}: set ${variableOf[name]}`;
  if (process.env['CI'] === '1' && !isPlain && name !== 'eventstore')
    throw new Error(`${reason}; in CI it must be there`);
  t.pass('needs a server', { skip: reason });
};

/** One that this process has started, for all its tests. */
const shared = new Map<ServerName, Promise<OwnServer | undefined>>();

const anyServer = async (
  test: Test,
  name: ServerName,
  drop: (url: string, place: string) => Promise<void>,
): Promise<TestServer | undefined> => {
  let url = urlOf(name);
  if (url === undefined) {
    if (!shared.has(name)) shared.set(name, startOwn(t, name));
    url = (await shared.get(name))?.url;
  }
  if (url === undefined) return skipped(test, name);
  const [place, there] = [freshPlace(), url];
  test.teardown(() => drop(there, place));
  return { url, place };
};

const ownServer = async (t: Test, name: ServerName): Promise<OwnServer | undefined> =>
  (await startOwn(t, name)) ?? skipped(t, name);

const startOwn = async (t: Test, name: ServerName): Promise<OwnServer | undefined> => {
  const server = await openOwnServer(name);
  if (server !== undefined) t.teardown(server.drop);
  return server && { ...server, place: freshPlace() };
};
