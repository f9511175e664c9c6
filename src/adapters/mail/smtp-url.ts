/** Reads the URL that names an SMTP relay: `smtp://user:password@host:port?tls=…&verify=…&name=…`. */

export type SmtpTls =
  /** From the first byte (`smtps:`). */
  | 'implicit'
  /** STARTTLS or nothing. */
  | 'required'
  /** STARTTLS where the server offers it. */
  | 'opportunistic'
  | 'off';

export type SmtpServer = Readonly<{
  host: string;
  port: number;
  tls: SmtpTls;
  /** Check the certificate and its name. */
  verify: boolean;
  user: Readonly<{ name: string; password: string }> | undefined;
  /** What we call ourselves in EHLO; undefined: the machine's name. */
  clientName: string | undefined;
}>;

const parameters = ['tls', 'verify', 'name'];

/**
 * Parameters: `tls=required|opportunistic|off` (smtp: only; default `required` where a user is given and the host is not
 * loopback, so that no password travels in clear, else `opportunistic`), `verify=on|off` (default on), `name=<EHLO name>`.
 * The default port is 587, with smtps: 465. Throws an Error whose sentence says what is wrong; it never holds the password.
 */
export const parseSmtpUrl = (text: string): SmtpServer => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')) {
    throw new Error(
      'the SMTP URL must look like smtp://user:password@host:port or smtps://…; special characters in user and password are written %XX',
    );
  }
  const implicit = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === '') throw new Error('the SMTP URL names no host');
  if (url.pathname !== '' && url.pathname !== '/') throw new Error('the SMTP URL has a path; only host, port and parameters are known');
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name))
      throw new Error(`the SMTP URL has the unknown parameter ${JSON.stringify(name)}; known are ${parameters.join(', ')}`);
  }
  const user = userOf(url);
  const tls = oneOf(url, 'tls', ['required', 'opportunistic', 'off'] as const);
  if (implicit && tls !== undefined) throw new Error('the SMTP URL has tls= although smtps: is TLS from the beginning');
  return {
    host,
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    tls: implicit ? 'implicit' : (tls ?? (user !== undefined && !isLoopback(host) ? 'required' : 'opportunistic')),
    verify: oneOf(url, 'verify', ['on', 'off'] as const) !== 'off',
    user,
    clientName: clientNameOf(url),
  };
};

const oneOf = <Choice extends string>(url: URL, name: string, choices: readonly Choice[]): Choice | undefined => {
  const values = url.searchParams.getAll(name);
  if (values.length === 0) return undefined;
  const choice = choices.find((one) => values.length === 1 && values[0] === one);
  if (choice === undefined) throw new Error(`the SMTP URL's parameter ${name} must be one of ${choices.join(', ')}`);
  return choice;
};

const userOf = (url: URL): SmtpServer['user'] => {
  if (url.username === '' && url.password === '') return undefined;
  if (url.username === '' || url.password === '') throw new Error('the SMTP URL needs a user and a password, or neither');
  try {
    return { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    throw new Error('the user or password of the SMTP URL has a % that does not begin %XX; write it as %25');
  }
};

const clientNameOf = (url: URL): string | undefined => {
  const name = url.searchParams.get('name');
  if (name === null) return undefined;
  if (!/^[A-Za-z0-9.-]{1,253}$|^\[[0-9A-Fa-f:.]+\]$/.test(name))
    throw new Error("the SMTP URL's parameter name must be a host name or an address in brackets");
  return name;
};

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
