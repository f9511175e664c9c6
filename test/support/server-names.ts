/** How tests are told of servers. */

export type ServerName = 'nats' | 'redis' | 'mongodb' | 'eventstore';

/** True in `npm test`: no test uses a server or a program of other people, whatever there is on the machine. */
export const isPlain = process.env['SEALPOST_TEST_PLAIN'] === '1';

/** The variable that holds the URL of a server that runs. */
export const variableOf: Readonly<Record<ServerName, string>> = {
  nats: 'SEALPOST_TEST_NATS_URL',
  redis: 'SEALPOST_TEST_REDIS_URL',
  mongodb: 'SEALPOST_TEST_MONGODB_URL',
  eventstore: 'SEALPOST_TEST_EVENTSTORE_URL',
};

/** The variable that names the folder which setup.sh filled, from which tests start servers of their own. */
export const folderVariable = 'SEALPOST_TEST_SERVERS';
