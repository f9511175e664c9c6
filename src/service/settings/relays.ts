/**
 * The file of SEALPOST_RELAYS: relays with names, and the rules by which mails go to them. A fault stops the start with
 * a message that names the place in the file and shows no value, because values may be secrets.
 */
import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseSmtpUrl, type SmtpTimeouts } from '../../adapters/mail/smtp-pool.js';
import { parseTeamId } from '../../domain/core/ids.js';
import type { RampUp, RelayRule } from '../../domain/email/relays.js';
import { parseAddress } from '../../domain/mime/address.js';
import { priorities } from '../../domain/ports/bus.js';
import type { ReturnPath } from '../../domain/ports/mailer.js';
import { nearest } from '../../shared/text.js';
import { ConfigError, readFile, unreadable } from './settings.js';

/** A relay of the file. The URL holds its credentials. */
export type RelaySettings = Readonly<{
  name: string;
  url: string;
  connections: number;
  /** The relay is the final host of every recipient. */
  final: boolean;
  /** Whether mails are signed here; else the relay signs. */
  signs: boolean;
  returnPath: ReturnPath | undefined;
  ratePerSecond: number | undefined;
  rampUp: RampUp | undefined;
  tokenFile: string | undefined;
  tokenCommand: readonly string[] | undefined;
  timeouts: Pick<SmtpTimeouts, 'setupMs' | 'silenceMs'>;
}>;

export type RelaysFile = Readonly<{ list: readonly RelaySettings[]; rules: readonly RelayRule[] }>;

/** `environment`: holds the secrets that the file names. `connections`: for relays that give no number. */
export type RelaysFileOptions = Readonly<{
  environment: Readonly<Record<string, string | undefined>>;
  connections: number;
}>;

const SETTING = 'SEALPOST_RELAYS';

const FILE_BYTES_MAX = 256 * 1024;
const RELAYS_MAX = 50;
const RULES_MAX = 200;
const VALUES_MAX = 100;
const DAYS_MAX = 366;
const MAILS_PER_DAY_MAX = 100_000_000;
const CONNECTIONS_MAX = 1_000;
const RATE_MAX = 10_000;
const SECOND_MS = 1_000;

const SETUP_S_DEFAULT = 30;
const SILENCE_S_DEFAULT = 300;

/** A schema whose fault is told in these words. */
const told = <Schema extends TSchema>(fault: string, schema: Schema): Schema => ({ ...schema, fault });

const closed = { additionalProperties: false } as const;
const line = Type.String({ minLength: 1, maxLength: 2_048, pattern: '^[^\\u0000-\\u001f\\u007f]*$' });

const Name = told(
  'must be a name of 1 to 32 lower case letters, digits and hyphens, such as ses or own-1',
  Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$' }),
);

const Secret = told(
  'must be a text, {"env": "NAME"} for an environment variable, or {"file": "PATH"} for a file',
  Type.Union([line, Type.Object({ env: line }, closed), Type.Object({ file: line }, closed)]),
);

const mailsPerDay = told(
  `must be a whole number of mails from 1 to ${MAILS_PER_DAY_MAX}`,
  Type.Integer({ minimum: 1, maximum: MAILS_PER_DAY_MAX }),
);
const seconds = (maximum: number) =>
  told(`must be a whole number of seconds from 1 to ${maximum}`, Type.Integer({ minimum: 1, maximum }));

const RampUpSchema = told(
  'must be a list of the greatest numbers of mails of the first days, such as [50, 100, 200], or {"startPerDay": 50, "factor": 2, "untilPerDay": 10000}',
  Type.Union([
    Type.Array(mailsPerDay, { minItems: 1, maxItems: DAYS_MAX }),
    Type.Object(
      {
        startPerDay: mailsPerDay,
        factor: Type.Number({ minimum: 1.01, maximum: 10 }),
        untilPerDay: mailsPerDay,
      },
      closed,
    ),
  ]),
);

const RelaySchema = Type.Object(
  {
    name: Name,
    url: Secret,
    user: Type.Optional(Secret),
    password: Type.Optional(Secret),
    tokenFile: Type.Optional(told('must be the path of a file', line)),
    tokenCommand: Type.Optional(told('must be a program with its arguments', line)),
    connections: Type.Optional(
      told(
        `must be a whole number from 1 to ${CONNECTIONS_MAX}`,
        Type.Integer({ minimum: 1, maximum: CONNECTIONS_MAX }),
      ),
    ),
    ratePerSecond: Type.Optional(
      told(
        `must be a number of mails from 0.01 to ${RATE_MAX}, whole if it is above 1`,
        Type.Number({ minimum: 0.01, maximum: RATE_MAX }),
      ),
    ),
    dkim: Type.Optional(
      told(
        'must be "sign" (sealpost signs) or "relay" (the relay signs)',
        Type.Union([Type.Literal('sign'), Type.Literal('relay')]),
      ),
    ),
    returnPath: Type.Optional(
      told('must be "sender" (the sender of the mail) or an address that is the envelope sender of every mail', line),
    ),
    final: Type.Optional(told('must be true or false', Type.Boolean())),
    rampUp: Type.Optional(RampUpSchema),
    connectSeconds: Type.Optional(seconds(600)),
    silenceSeconds: Type.Optional(seconds(3_600)),
  },
  closed,
);

const values = (fault: string, one: TSchema = line) =>
  Type.Optional(told(fault, Type.Union([one, Type.Array(one, { minItems: 1, maxItems: VALUES_MAX })])));

const RuleSchema = Type.Object(
  {
    when: Type.Optional(
      Type.Object(
        {
          team: values('must be the id of a team, or a list of ids'),
          senderDomain: values('must be a domain such as example.com or *.example.com, or a list of domains'),
          tag: values('must be a tag, or a list of tags'),
          priority: values(
            'must be high, normal or low, or a list of these',
            Type.Union(priorities.map((priority) => Type.Literal(priority))),
          ),
          test: Type.Optional(told('must be true or false', Type.Boolean())),
        },
        closed,
      ),
    ),
    relays: told(
      'must be a list of names of relays',
      Type.Array(Name, { minItems: 1, maxItems: RELAYS_MAX, uniqueItems: true }),
    ),
  },
  closed,
);

const FileSchema = Type.Object(
  {
    relays: told(
      `must be a list of 1 to ${RELAYS_MAX} relays`,
      Type.Array(RelaySchema, { minItems: 1, maxItems: RELAYS_MAX }),
    ),
    rules: Type.Optional(
      told(`must be a list of 1 to ${RULES_MAX} rules`, Type.Array(RuleSchema, { minItems: 1, maxItems: RULES_MAX })),
    ),
  },
  closed,
);

type File = Static<typeof FileSchema>;
type Relay = File['relays'][number];
type Rule = NonNullable<File['rules']>[number];

/** Throws for one fault of the file, at the place that the JSON pointer names. */
type Refuse = (at: string, why: string) => never;

/** Throws ConfigError if the file cannot be read or used. */
export const readRelays = (path: string, options: RelaysFileOptions): RelaysFile => {
  const file = resolve(path);
  const refuse: Refuse = (at, why) => {
    throw new ConfigError(`${SETTING}=${file}${at === '' ? '' : `, ${at}`}: ${why}.`);
  };
  const given = parsed(textOf(file, refuse), refuse);
  if (!isFile(given)) return refuse(...firstFault(given));
  const reading = { ...options, directory: dirname(file), refuse };
  const list = given.relays.map((relay, index) => readRelay(relay, `/relays/${index}`, reading));
  const names = list.map(({ name }) => name);
  names.forEach((name, index) => {
    if (names.indexOf(name) !== index) refuse(`/relays/${index}/name`, `another relay is called ${name}, too`);
  });
  return { list, rules: readRules(given.rules, names, refuse) };
};

const textOf = (file: string, refuse: Refuse): string => {
  let size: number;
  try {
    size = statSync(file).size;
  } catch (fault) {
    throw unreadable(SETTING, file, fault);
  }
  return size > FILE_BYTES_MAX ? refuse('', `has more than ${FILE_BYTES_MAX} bytes`) : readFile(SETTING, file);
};

const parsed = (text: string, refuse: Refuse): unknown => {
  try {
    return JSON.parse(text.replace(/^\ufeff/, '')) as unknown;
  } catch (fault) {
    // The message of the parser quotes the file.
    const [, at] = /position (\d+)/.exec(fault instanceof Error ? fault.message : '') ?? [];
    const line = at === undefined ? '' : `; line ${text.slice(0, Number(at)).split('\n').length} is wrong`;
    return refuse('', `is no JSON${line}`);
  }
};

const isFile = (given: unknown): given is File => Value.Check(FileSchema, given);

/** Out: the place of the first fault, and what would be right. */
const firstFault = (given: unknown): readonly [string, string] => {
  const fault = Value.Errors(FileSchema, given).First();
  if (fault === undefined) return ['', 'is wrong'];
  const { path, message, schema } = fault;
  if (message === 'Unexpected property') {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const near = nearest(name, knownAt(path));
    return [path, `is not known${near === undefined ? '' : `; is ${near} meant`}`];
  }
  if (message.endsWith('required property') || message === 'Expected required property') return [path, 'is missing'];
  return [path, typeof schema['fault'] === 'string' ? schema['fault'] : message];
};

const knownAt = (path: string): readonly string[] => {
  if (path.includes('/when/')) return ['team', 'senderDomain', 'tag', 'priority', 'test'];
  if (path.startsWith('/relays/')) return Object.keys(RelaySchema.properties);
  if (path.startsWith('/rules/')) return Object.keys(RuleSchema.properties);
  return Object.keys(FileSchema.properties);
};

type Reading = RelaysFileOptions & Readonly<{ directory: string; refuse: Refuse }>;

const readRelay = (relay: Relay, at: string, reading: Reading): RelaySettings => {
  const { refuse, directory } = reading;
  const { name, ratePerSecond, tokenFile, tokenCommand, rampUp } = relay;
  const secret = (field: 'url' | 'user' | 'password'): string | undefined =>
    relay[field] === undefined ? undefined : secretOf(relay[field], `${at}/${field}`, reading);
  const url = withLogin(secret('url') ?? '', secret('user'), secret('password'), (why) => refuse(`${at}/url`, why));
  const server = usable(
    () => parseSmtpUrl(url),
    (why) => refuse(`${at}/url`, why),
  );
  if (ratePerSecond !== undefined && ratePerSecond > 1 && !Number.isInteger(ratePerSecond))
    refuse(`${at}/ratePerSecond`, 'must be a whole number if it is above 1');
  if (tokenFile !== undefined && tokenCommand !== undefined)
    refuse(`${at}/tokenCommand`, 'is set, and tokenFile is set, too; keep one of them');
  if (server.auth === 'xoauth2' && tokenFile === undefined && tokenCommand === undefined)
    refuse(`${at}/url`, 'has auth=xoauth2, which needs tokenFile or tokenCommand');
  if (rampUp !== undefined && 'startPerDay' in rampUp && rampUp.untilPerDay < rampUp.startPerDay)
    refuse(`${at}/rampUp/untilPerDay`, 'must not be less than startPerDay');
  return {
    name,
    url,
    connections: relay.connections ?? reading.connections,
    final: relay.final ?? false,
    signs: relay.dkim !== 'relay',
    returnPath: relay.returnPath === undefined ? undefined : returnPathOf(relay.returnPath, `${at}/returnPath`, refuse),
    ratePerSecond,
    rampUp,
    tokenFile: tokenFile === undefined ? undefined : resolve(directory, tokenFile),
    tokenCommand: tokenCommand?.trim().split(/\s+/),
    timeouts: {
      setupMs: (relay.connectSeconds ?? SETUP_S_DEFAULT) * SECOND_MS,
      silenceMs: (relay.silenceSeconds ?? SILENCE_S_DEFAULT) * SECOND_MS,
    },
  };
};

const secretOf = (secret: Static<typeof Secret>, at: string, { environment, directory, refuse }: Reading): string => {
  if (typeof secret === 'string') return secret;
  if ('env' in secret) {
    const value = environment[secret.env]?.trim() ?? '';
    return value === '' ? refuse(`${at}/env`, `the environment variable ${secret.env} is not set, or is empty`) : value;
  }
  const file = resolve(directory, secret.file);
  const value = readFile(`${SETTING} ${at}/file`, file).trim();
  return value === '' ? refuse(`${at}/file`, `${file} is empty`) : value;
};

/** The URL with the user and the password, which the file has apart. */
const withLogin = (
  url: string,
  user: string | undefined,
  password: string | undefined,
  refuse: (why: string) => never,
): string => {
  if (user === undefined && password === undefined) return url;
  const whole = URL.canParse(url) ? new URL(url) : undefined;
  if (whole === undefined) return refuse('must look like smtp://host:port or smtps://host:port');
  if (whole.username !== '' || whole.password !== '')
    return refuse('holds a user or a password, and so do the fields beside it; keep one of them');
  const [scheme = '', rest = ''] = url.split('://', 2);
  const login = password === undefined ? '' : `:${encodeURIComponent(password)}`;
  return `${scheme}://${encodeURIComponent(user ?? '')}${login}@${rest}`;
};

/** Out: the result of `read`, whose Error has a sentence for the operator without a secret. */
const usable = <Result>(read: () => Result, refuse: (why: string) => never): Result => {
  try {
    return read();
  } catch (fault) {
    return refuse(fault instanceof Error ? fault.message : 'cannot be used');
  }
};

const returnPathOf = (value: string, at: string, refuse: Refuse): ReturnPath => {
  if (value === 'sender') return 'sender';
  const address = parseAddress(value);
  return address.ok
    ? { address: address.address }
    : refuse(at, 'must be "sender" (the sender of the mail) or an address that is the envelope sender of every mail');
};

const DOMAIN = /^(\*\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Without rules every mail tries all relays, in the order of the file. */
const readRules = (given: File['rules'], names: readonly string[], refuse: Refuse): readonly RelayRule[] => {
  if (given === undefined) return [{ relays: names }];
  const isForAll = ({ when }: Rule): boolean => when === undefined || Object.keys(when).length === 0;
  given.forEach((rule, index) => {
    if (isForAll(rule) !== (index === given.length - 1))
      refuse(
        `/rules/${index}`,
        isForAll(rule)
          ? 'has no conditions, so that no later rule would ever be used; put it last'
          : 'is the last rule and has conditions; end the list with a rule without "when", for all other mails',
      );
  });
  return given.map(({ when = {}, relays }, index) => {
    const at = `/rules/${index}`;
    const team = listOf(when.team)?.map((id) => parseTeamId(id) ?? refuse(`${at}/when/team`, 'holds no id of a team'));
    const senderDomain = listOf(when.senderDomain)?.map((text) => {
      const domain = text.toLowerCase();
      return DOMAIN.test(domain) ? domain : refuse(`${at}/when/senderDomain`, 'holds no domain, such as example.com');
    });
    for (const [place, name] of relays.entries())
      if (!names.includes(name))
        refuse(`${at}/relays/${place}`, `there is no relay ${name}; the relays are ${names.join(', ')}`);
    const [tag, priority] = [listOf(when.tag), listOf(when.priority)];
    return {
      ...(team === undefined ? {} : { team }),
      ...(senderDomain === undefined ? {} : { senderDomain }),
      ...(tag === undefined ? {} : { tag }),
      ...(priority === undefined ? {} : { priority: priorities.filter((one) => priority.includes(one)) }),
      ...(when.test === undefined ? {} : { test: when.test }),
      relays,
    };
  });
};

const listOf = (values: unknown): readonly string[] | undefined =>
  values === undefined ? undefined : Array.isArray(values) ? (values as readonly string[]) : [values as string];
