/** The URL of an EventStoreDB or KurrentDB server: what of it is the client's, and what is ours. */

export type EventStoreDbUrl = Readonly<{
  /**
   * As the client takes it. Connections of different generations share nothing: the library pools those of equal options, with the ever
   * longer pauses between their attempts.
   */
  clientUrl: (generation: number) => string;
  /** What every stream name begins with at the server, before a dot. */
  prefix: string;
  /** As messages name the server: without credentials and options. */
  shown: string;
}>;

const FORM = /^(esdb|kurrentdb)(\+discover)?:\/\/(?:([^@/?]+)@)?([^@/?]+)\/*(?:\?(.*))?$/;
const TIMEOUT = 'keepAliveTimeout';
const KEEP_ALIVE_TIMEOUT_MS = 10_000;
const GENERATIONS = 1_000;
const PREFIX_DEFAULT = 'sealpost';
const PREFIX_FORM = /^[A-Za-z0-9_]{1,40}$/;
/** The client prints an option that it does not know together with the whole URL, password included: such a URL never reaches it. */
const CLIENT_OPTIONS = [
  'userCertFile',
  'userKeyFile',
  'maxDiscoverAttempts',
  'connectionName',
  'defaultDeadline',
  'discoveryInterval',
  'gossipTimeout',
  'nodePreference',
  'tls',
  'tlsCAFile',
  'keepAliveInterval',
  'keepAliveTimeout',
];

/** Throws RangeError, with a sentence that names no credentials, where the text is no such URL. */
export const parseEventStoreDbUrl = (url: string): EventStoreDbUrl => {
  const [, scheme, discover = '', credentials, hosts, query = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined)
    throw new RangeError(
      'the URL of the event store must have the form esdb://[user:password@]host[:port][,host[:port]][?option=value], or begin with esdb+discover, kurrentdb or kurrentdb+discover',
    );
  if (credentials !== undefined && !/^[^:]+:.+$/.test(credentials))
    throw new RangeError('the URL of the event store has credentials without a password: they are written user:password@');
  const options = query === '' ? [] : query.split('&').map(optionOf);
  const prefix = options.find(([name]) => name === 'prefix')?.[1] ?? PREFIX_DEFAULT;
  if (!PREFIX_FORM.test(prefix))
    throw new RangeError(`prefix in the URL of the event store must be 1 to 40 letters, digits and underscores, but is ${prefix}`);
  const passed = options.filter(([name]) => name !== 'prefix' && name !== TIMEOUT).map(([name, value]) => `${name}=${value}`);
  const timeoutMs = Number(options.find(([name]) => name === TIMEOUT)?.[1] ?? KEEP_ALIVE_TIMEOUT_MS);
  const shown = `esdb${discover}://${hosts}`;
  const user = credentials === undefined ? '' : `${credentials}@`;
  return {
    clientUrl: (generation) =>
      `esdb${discover}://${user}${hosts}?${[...passed, `${TIMEOUT}=${timeoutMs < 0 ? timeoutMs : timeoutMs + (generation % GENERATIONS)}`].join('&')}`,
    prefix,
    shown,
  };
};

const optionOf = (text: string): readonly [name: string, value: string] => {
  const at = text.indexOf('=');
  const [name, value] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  const known = name === 'prefix' ? name : CLIENT_OPTIONS.find((one) => one.toLowerCase() === name.toLowerCase());
  if (known === undefined)
    throw new RangeError(
      `the URL of the event store has an option that there is not: ${name}; there are ${CLIENT_OPTIONS.join(', ')}, prefix`,
    );
  if (value === '') throw new RangeError(`the option ${name} in the URL of the event store has no value`);
  return [known, value];
};
