/**
 * The service that a command calls, and the key with which: from the options, the settings, or a profile. Profiles stand
 * in one file that only its user can read.
 */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { createClient, SealpostError, type Client } from '../../../packages/sdk/src/index.js';
import { readRemoteSettings, type RemoteSettings } from '../../service/settings/config.js';
import { openClock } from '../../service/ops/clock.js';
import { reasonOf, replaceDurably } from '../../shared/files.js';
import { print, printFault } from '../core/output.js';
import { CliFault, printJson, safe, tableOf, type RemoteOptions } from './output.js';
import type { RemoteTokens } from './oauth-login.js';

/** `tokens`: of a person who signed in; `key`: an API key. */
export type Profile = Readonly<{ url: string }> & Readonly<{ key: string } | { tokens: RemoteTokens }>;

export type Profiles = Readonly<{ current?: string; profiles: Readonly<Record<string, Profile>> }>;

export type Connection = Readonly<{ client: Client; url: string; hasColor: boolean }>;

const NAME = /^[\w.:-]{1,100}$/;
const PROFILES_BYTES_MAX = 1024 * 1024;

/** An access token is replaced this long before its end. */
const BEFORE_END_MS = 60_000;

const LOCK_PAUSE_MS = 50;
const LOCKED_MAX_MS = 60_000;

/** Out: a client of the service that the options, the settings or a profile name. Throws NOT_CONNECTED. */
export const connect = (options: RemoteOptions): Connection => {
  const settings = readRemoteSettings();
  const { url, key } = targetOf(options, settings);
  warnOfPlainHttp(url);
  const [token, renew] = typeof key === 'string' ? [key, undefined] : [() => key(), key];
  return {
    client: createClient({ url, key: token, fetch: tellingFetch(renew, options.json === true) }),
    url,
    hasColor: settings.hasColor && options.color !== false,
  };
};

/** Whether the settings or a profile name a service. */
export const isConnected = (): boolean => {
  const { url, profilesFile } = readRemoteSettings();
  return url !== undefined || readProfiles(profilesFile).current !== undefined;
};

/** A person is told why a command waits. */
const SLOW_MS = 5_000;

/**
 * Calls that tell once that the service takes long, and once that it limits how often it is called; with `--json` they
 * tell nothing, so that standard error holds JSON alone. A token that has ended by the clock of the service is renewed,
 * whatever the clock of this machine says.
 */
const tellingFetch = (renew: Token | undefined, isJson: boolean): typeof fetch => {
  const told = new Set<string>();
  const tell = (line: string): void => {
    if (!isJson && !told.has(line)) printFault(`sealpost: ${line}`);
    told.add(line);
  };
  return async (input, init) => {
    const timer = setTimeout(() => tell('the service takes long to answer; Ctrl-C ends the command'), SLOW_MS);
    try {
      const response = await fetch(input, init);
      if (response.status === 429) tell('the service limits the calls of a minute; the command goes on when it may');
      if (response.status !== 401 || renew === undefined || !(await isExpired(response.clone()))) return response;
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${await renew(headers.get('authorization')?.slice('Bearer '.length))}`);
      return await fetch(input, { ...init, headers });
    } finally {
      clearTimeout(timer);
    }
  };
};

const isExpired = async (response: Response): Promise<boolean> => {
  const body: unknown = await response.json().catch(() => undefined);
  return isRecord(body) && body['code'] === 'TOKEN_EXPIRED';
};

/** Gives an access token. In: one that the service has refused, if any. */
type Token = (refused?: string) => Promise<string>;

type Target = Readonly<{ url: string; key: string | Token }>;

const targetOf = (options: RemoteOptions, settings: RemoteSettings): Target => {
  const stored = readProfiles(settings.profilesFile);
  if (options.profile !== undefined) {
    const target = ofProfile(profileOf(stored, options.profile), options.profile, settings);
    if (options.url !== undefined && !isSame(options.url, target.url))
      throw new CliFault('OPTION_INVALID', `--url is not the address of the profile ${options.profile}: leave one out`);
    return options.key === undefined ? target : { ...target, key: options.key };
  }
  const url = options.url ?? settings.url;
  if (url === undefined) {
    if (stored.current !== undefined) {
      const target = ofProfile(profileOf(stored, stored.current), stored.current, settings);
      const key = options.key ?? settings.key;
      return key === undefined ? target : { ...target, key };
    }
    throw new CliFault(
      'NOT_CONNECTED',
      withoutCurrent(stored) ??
        'no service is named: run `sealpost login --url https://…`, or set SEALPOST_API_URL and SEALPOST_API_KEY',
    );
  }
  addressOf(url);
  // A key goes to the service that it was set for, and to no other.
  const keyOfSettings = settings.url === undefined || isSame(settings.url, url) ? settings.key : undefined;
  const key = options.key ?? keyOfSettings;
  if (key !== undefined) return { url, key };
  const name = [stored.current, ...Object.keys(stored.profiles)].find(
    (one) => one !== undefined && isSame(stored.profiles[one]?.url ?? '', url),
  );
  if (name !== undefined) return ofProfile(profileOf(stored, name), name, settings);
  throw new CliFault(
    'NOT_CONNECTED',
    `there is no key for ${url}: give --key, set SEALPOST_API_KEY, or run \`sealpost login --url ${url}\``,
  );
};

const isSame = (one: string, other: string): boolean =>
  URL.canParse(one) && URL.canParse(other) && addressOf(one) === addressOf(other);

/** Throws OPTION_INVALID for what is no address of a service. */
const addressOf = (url: string): string => {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CliFault('OPTION_INVALID', `${url} is not the address of a service such as https://mail.example.com`);
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
};

const warnOfPlainHttp = (url: string): void => {
  const { protocol, hostname } = new URL(addressOf(url));
  if (protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname))
    printFault(`sealpost: ${hostname} is called by plain HTTP, so others on the way can read the key`);
};

const profileOf = ({ profiles }: Profiles, name: string): Profile => {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined)
    throw new CliFault('PROFILE_UNKNOWN', `there is no profile ${name}; \`sealpost profiles\` lists them`);
  return profile;
};

const ofProfile = (profile: Profile, name: string, { profilesFile }: RemoteSettings): Target =>
  'key' in profile ? profile : { url: profile.url, key: tokenOf(profilesFile, name, profile.tokens) };

/**
 * Gives an access token that lives on for a minute. A refresh token works once: the profiles are locked, so that the
 * second of two processes takes what the first one got.
 */
const tokenOf = (file: string, name: string, stored: RemoteTokens): Token => {
  let known = stored;
  return async (refused) => {
    const isGood = ({ expiresAt, accessToken }: RemoteTokens): boolean =>
      accessToken !== refused && Date.parse(expiresAt) - openClock().now() > BEFORE_END_MS;
    if (isGood(known)) return known.accessToken;
    return withLock(file, async () => {
      const all = readProfiles(file);
      const profile = profileOf(all, name);
      if ('key' in profile) return profile.key;
      known = profile.tokens;
      if (isGood(known)) return known.accessToken;
      known = await refreshed(profile.url, known);
      writeProfiles(file, { ...all, profiles: { ...all.profiles, [name]: { url: profile.url, tokens: known } } });
      return known.accessToken;
    });
  };
};

/** Rejects with NOT_REACHED where the service may answer later: a command that follows it goes on. */
const refreshed = async (url: string, tokens: RemoteTokens): Promise<RemoteTokens> => {
  const { refreshTokens, RemoteSignInFault } = await import('./oauth-login.js');
  try {
    return await refreshTokens(url, tokens);
  } catch (fault) {
    if (!(fault instanceof RemoteSignInFault) || !fault.isPassing) throw fault;
    throw new SealpostError({ code: 'NOT_REACHED', message: fault.message, status: 0, cause: fault });
  }
};

/** Does the work while no other process changes the profiles. */
const withLock = async <Result>(file: string, work: () => Promise<Result>): Promise<Result> => {
  const lock = `${file}.lock`;
  makeFolder(file);
  for (let handle: number | undefined; handle === undefined;)
    try {
      handle = openSync(lock, 'wx', 0o600);
      writeSync(handle, String(process.pid));
      closeSync(handle);
    } catch (fault) {
      if (!(fault instanceof Error && 'code' in fault && fault.code === 'EEXIST')) throw notWritten(file, fault);
      if (isAbandoned(lock)) rmSync(lock, { force: true });
      else await wait(LOCK_PAUSE_MS);
    }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
};

const makeFolder = (file: string): void => {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  } catch (fault) {
    throw notWritten(file, fault);
  }
};

const notWritten = (file: string, fault: unknown): CliFault =>
  new CliFault(
    'PROFILES_UNSAFE',
    `${file} cannot be written: ${reasonOf(fault)}; set XDG_CONFIG_HOME to a folder of yours, or use SEALPOST_API_KEY`,
  );

/** A process that was killed leaves its lock behind. */
const isAbandoned = (lock: string): boolean => {
  const stat = statSync(lock, { throwIfNoEntry: false });
  return stat !== undefined && openClock().now() - stat.mtimeMs > LOCKED_MAX_MS;
};

/** Throws PROFILES_UNSAFE for a file that others can read, and for one that is damaged. */
export const readProfiles = (file: string): Profiles => {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return { profiles: {} };
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0)
    throw new CliFault('PROFILES_UNSAFE', `others can read ${file}, which holds keys: run chmod 600 ${file}`);
  const damaged = (why: string): CliFault =>
    new CliFault('PROFILES_UNSAFE', `${file} cannot be used: ${why}; move it away and run \`sealpost login\` again`);
  if (stat.size > PROFILES_BYTES_MAX) throw damaged('it is too large');
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch (fault) {
    throw damaged(fault instanceof SyntaxError ? 'it is no JSON' : reasonOf(fault));
  }
  if (!isProfiles(parsed)) throw damaged('it has no profiles');
  return parsed;
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isProfiles = (value: unknown): value is Profiles =>
  isRecord(value) &&
  (value['current'] === undefined || typeof value['current'] === 'string') &&
  isRecord(value['profiles']) &&
  Object.values(value['profiles']).every(isProfile);

const isProfile = (value: unknown): value is Profile =>
  isRecord(value) &&
  typeof value['url'] === 'string' &&
  (typeof value['key'] === 'string' ||
    (isRecord(value['tokens']) &&
      ['accessToken', 'refreshToken', 'expiresAt'].every(
        (name) => typeof (value['tokens'] as Readonly<Record<string, unknown>>)[name] === 'string',
      )));

const writeProfiles = (file: string, profiles: Profiles): void => {
  replaceDurably(file, `${JSON.stringify(profiles, undefined, 2)}\n`);
};

/** Scopes of a person who signs in at a terminal. */
const SCOPES = ['templates:read', 'templates:write', 'emails:read', 'emails:send', 'webhooks:read', 'webhooks:write'];

export type LoginOptions = RemoteOptions & Readonly<{ browser?: boolean }>;

/** Keeps a key, or the tokens of a person who signs in, as a profile, and makes it the current one. */
export const login = async (options: LoginOptions): Promise<void> => {
  const settings = readRemoteSettings();
  const given = options.url ?? settings.url;
  if (given === undefined) throw new CliFault('OPTION_INVALID', '--url is missing: the address of the service');
  const url = addressOf(given);
  const name = options.profile ?? new URL(url).host;
  if (!NAME.test(name))
    throw new CliFault('OPTION_INVALID', `--profile ${name}: a name has up to 100 letters, digits and . _ : -`);
  warnOfPlainHttp(url);
  // Faults of the file, and of a folder that cannot be written, are told before somebody signs in.
  await withLock(settings.profilesFile, () => Promise.resolve(readProfiles(settings.profilesFile)));
  const profile: Profile =
    options.key === undefined
      ? { url, tokens: await signedIn(url, options) }
      : { url, key: await checkedKey(url, options.key === '-' ? await keyFromInput() : options.key) };
  const replaced = await withLock(settings.profilesFile, () => {
    const { profiles } = readProfiles(settings.profilesFile);
    writeProfiles(settings.profilesFile, { current: name, profiles: { ...profiles, [name]: profile } });
    return Promise.resolve(Object.hasOwn(profiles, name) ? profiles[name] : undefined);
  });
  if (replaced !== undefined && 'tokens' in replaced) {
    const { signOut } = await import('./oauth-login.js');
    // The command has replaced these tokens. Where the service is away they expire by themselves.
    await signOut(replaced.url, replaced.tokens).catch(() => undefined);
  }
  if (options.json === true) return printJson({ profile: name, url });
  print(`Commands from afar now call ${url} (profile ${name}).`);
};

/** A person signs in in the browser of this machine, or with `--no-browser` by a code on any other. */
const signedIn = async (url: string, { browser, json }: LoginOptions): Promise<RemoteTokens> => {
  const { openInBrowser, signIn } = await import('./oauth-login.js');
  return signIn({
    url,
    scopes: SCOPES,
    say: json === true ? printFault : print,
    ...(browser === false ? {} : { openBrowser: openInBrowser }),
  });
};

/** Throws KEY_REFUSED for a key that the service does not take. */
const checkedKey = async (url: string, key: string): Promise<string> => {
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CliFault('KEY_REFUSED', 'the key is empty or has spaces');
  try {
    await createClient({ url, key }).templates.list({ limit: 1 }).page();
  } catch (fault) {
    // A key with few permissions is a key.
    if (!(fault instanceof SealpostError) || fault.status !== 403) throw fault;
  }
  return key;
};

const KEY_CHARS_MAX = 4_096;

/** Reads one line of standard input. A terminal does not show it. */
const keyFromInput = async (): Promise<string> => {
  const { stdin } = process;
  const isTerminal = stdin.isTTY === true;
  if (isTerminal) {
    process.stderr.write('API key (not shown): ');
    stdin.setRawMode(true);
  }
  try {
    let text = '';
    for await (const chunk of stdin) {
      for (const sign of String(chunk)) {
        if (sign === '\r' || sign === '\n' || sign === '\u0004') return text.trim();
        if (sign === '\u0003') throw new CliFault('KEY_REFUSED', 'no key was given');
        text = sign === '\u007f' ? text.slice(0, -1) : text + sign;
      }
      if (text.length > KEY_CHARS_MAX) throw new CliFault('KEY_REFUSED', 'standard input is too long for a key');
    }
    return text.trim();
  } finally {
    if (isTerminal) {
      stdin.setRawMode(false);
      process.stderr.write('\n');
    }
    stdin.pause();
  }
};

/** In: profiles of which none is the current one. Out: what to do, if there are any: none is chosen silently. */
const withoutCurrent = ({ profiles }: Profiles): string | undefined => {
  const names = Object.keys(profiles);
  return names.length === 0
    ? undefined
    : `no profile is the current one: \`sealpost profiles NAME\` makes one so. There is ${names.join(', ')}`;
};

/** Forgets a profile: the one that is named, or the current one. */
export const logout = async (options: RemoteOptions): Promise<void> => {
  const { profilesFile } = readRemoteSettings();
  const before = readProfiles(profilesFile);
  const { profile: gone = before.current } = options;
  if (gone === undefined) throw new CliFault('PROFILE_UNKNOWN', withoutCurrent(before) ?? 'nobody is signed in');
  // A fault is told before the lock makes the folder.
  profileOf(before, gone);
  const { name, profile } = await withLock(profilesFile, () => {
    const stored = readProfiles(profilesFile);
    profileOf(stored, gone);
    const { [gone]: profile, ...profiles } = stored.profiles;
    const { current } = stored;
    writeProfiles(profilesFile, { ...(current === undefined || current === gone ? {} : { current }), profiles });
    return Promise.resolve({ name: gone, profile: profile! });
  });
  const isKey = 'key' in profile;
  if (!isKey) {
    const { signOut } = await import('./oauth-login.js');
    await signOut(profile.url, profile.tokens);
  }
  if (options.json === true) return printJson({ profile: name });
  print(
    isKey
      ? `The profile ${name} is forgotten here. Its API key goes on working: revoke it at the service.`
      : `The profile ${name} is forgotten, and its grant has ended.`,
  );
};

/** Lists the profiles, or makes one of them the current one. */
export const profiles = async (chosen: string | undefined, options: RemoteOptions): Promise<void> => {
  const { profilesFile } = readRemoteSettings();
  if (chosen !== undefined) {
    profileOf(readProfiles(profilesFile), chosen);
    await withLock(profilesFile, () => {
      const stored = readProfiles(profilesFile);
      profileOf(stored, chosen);
      writeProfiles(profilesFile, { ...stored, current: chosen });
      return Promise.resolve();
    });
  }
  const { current, profiles: known } = readProfiles(profilesFile);
  const rows = Object.entries(known).map(([name, profile]) => ({
    name,
    url: profile.url,
    by: 'key' in profile ? 'API key' : 'signed in',
    current: name === current,
  }));
  if (options.json === true) return printJson(rows);
  if (rows.length === 0) return print('There is no profile yet: sealpost login --url https://…');
  const cells = rows.map(({ name, url, by, current: isCurrent }) => [isCurrent ? '*' : '', name, safe(url), by]);
  for (const line of tableOf([['', 'PROFILE', 'SERVICE', 'BY'], ...cells])) print(line);
};
