/** The file of SEALPOST_RELAYS: its values, its secrets, and the messages for all that is wrong, without a secret. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { hasRelay, readConfig, readServeConfig } from '../../src/service/settings/config.js';
import { temporaryDirectory } from '../support/data-directory.js';

const directory = temporaryDirectory(t);
const SECRET = 'hunter2/%&@';
let files = 0;
const fileOf = (content: unknown): string => {
  files += 1;
  const file = join(directory, `relays-${files}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
};
const read = (content: unknown, more: Readonly<Record<string, string>> = {}) =>
  readConfig({ SEALPOST_RELAYS: fileOf(content), SMTP_PASSWORD: SECRET, ...more }).relays!;

const ses = { name: 'ses', url: 'smtp://email-smtp.eu-central-1.amazonaws.com:587' };
const own = { name: 'own', url: 'smtp://10.0.0.5:25?tls=off' };
const TEAM = '0198f000-0000-7000-8000-00000000000c';

void t.test('every field, and what stands without it', async (t) => {
  writeFileSync(join(directory, 'password'), `${SECRET}\n`);
  const { list, rules } = read(
    {
      relays: [
        {
          ...ses,
          user: { env: 'SMTP_PASSWORD' },
          password: { file: 'password' },
          connections: 4,
          ratePerSecond: 14,
          dkim: 'relay',
          returnPath: 'bounces@example.com',
          final: true,
          rampUp: { startPerDay: 50, factor: 2, untilPerDay: 1000 },
          connectSeconds: 5,
          silenceSeconds: 60,
        },
        { ...own, returnPath: 'sender', rampUp: [5, 10] },
      ],
      rules: [
        { when: { team: TEAM, senderDomain: ['Example.com', '*.example.com'], tag: 'news' }, relays: ['own'] },
        { when: { priority: ['low', 'high'], test: true }, relays: ['own', 'ses'] },
        { relays: ['ses'] },
      ],
    },
    { SEALPOST_SMTP_CONNECTIONS: '7' },
  );
  t.same(list, [
    {
      name: 'ses',
      url: `smtp://${encodeURIComponent(SECRET)}:${encodeURIComponent(SECRET)}@email-smtp.eu-central-1.amazonaws.com:587`,
      connections: 4,
      final: true,
      signs: false,
      returnPath: { address: 'bounces@example.com' },
      ratePerSecond: 14,
      rampUp: { startPerDay: 50, factor: 2, untilPerDay: 1000 },
      tokenFile: undefined,
      tokenCommand: undefined,
      timeouts: { setupMs: 5_000, silenceMs: 60_000 },
    },
    {
      ...own,
      connections: 7,
      final: false,
      signs: true,
      returnPath: 'sender',
      ratePerSecond: undefined,
      rampUp: [5, 10],
      tokenFile: undefined,
      tokenCommand: undefined,
      timeouts: { setupMs: 30_000, silenceMs: 300_000 },
    },
  ]);
  t.same(rules, [
    { team: [TEAM], senderDomain: ['example.com', '*.example.com'], tag: ['news'], relays: ['own'] },
    { priority: ['high', 'low'], test: true, relays: ['own', 'ses'] },
    { relays: ['ses'] },
  ]);
  t.same(read({ relays: [ses, own] }).rules, [{ relays: ['ses', 'own'] }], 'without rules: the order of the file');
});

void t.test('the file that docs/relays.md shows is taken', async (t) => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/relays.md', import.meta.url)), 'utf8');
  const [, shown = ''] = /^```json\n(.*?)^```$/ms.exec(page) ?? [];
  writeFileSync(join(directory, 'ses-smtp-password'), SECRET);
  const { list, rules } = read(shown.replace('/run/secrets/', ''), { SES_SMTP_USER: 'u', POSTMARK_TOKEN: 'p' });
  t.same(
    list.map(({ name, signs }) => [name, signs]),
    [
      ['ses', true],
      ['postmark', false],
      ['own', true],
    ],
  );
  t.equal(rules.length, 3);
});

void t.test(
  'with it mail leaves by relays, so a sender of account mails is needed, and SEALPOST_SMTP_URL is not',
  async (t) => {
    const SEALPOST_RELAYS = fileOf({ relays: [own] });
    t.ok(hasRelay(readConfig({ SEALPOST_RELAYS })));
    t.throws(() => readServeConfig({ SEALPOST_RELAYS }), /SEALPOST_ACCOUNT_SENDER/);
    const beyond = {
      SEALPOST_RELAYS,
      SEALPOST_ACCOUNT_SENDER: 'a@example.com',
      SEALPOST_PUBLIC_URL: 'https://m.example.com',
    };
    t.equal(readServeConfig(beyond).relays?.list.length, 1);
    for (const [name, value] of [
      ['SEALPOST_SMTP_URL', 'smtp://x'],
      ['SEALPOST_SMTP_URL', 'mailbox:'],
      ['SEALPOST_SMTP_FINAL', 'true'],
      ['SEALPOST_SMTP_TOKEN_COMMAND', '/bin/true'],
    ] as const)
      t.throws(() => readConfig({ SEALPOST_RELAYS, [name]: value }), {
        message: new RegExp(`SEALPOST_RELAYS and ${name} are both set`),
      });
  },
);

void t.test('what is wrong is told with its place, and no value is shown', async (t) => {
  const withRelay = (more: object) => ({ relays: [{ ...ses, ...more }] });
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ['{"relays": [\n{"name": "hunter2"', /is no JSON/],
    ['{"relays": [\n{"name": hunter2}]}', /is no JSON/],
    ['', /is no JSON/],
    ['[]', /.*/],
    ['null', /.*/],
    [{}, /, \/relays: is missing\.$/],
    [{ relays: [] }, /, \/relays: must be a list of 1 to 50 relays/],
    [{ relays: [ses], rule: [] }, /, \/rule: is not known; is rules meant/],
    [{ relays: [{ name: 'ses' }] }, /, \/relays\/0\/url: is missing/],
    [withRelay({ nmae: 1 }), /, \/relays\/0\/nmae: is not known; is name meant/],
    [withRelay({ name: 'Ses' }), /, \/relays\/0\/name: must be a name of 1 to 32/],
    [withRelay({ name: '-' }), /, \/relays\/0\/name/],
    [withRelay({ url: 'http://hunter2@x' }), /, \/relays\/0\/url: the SMTP URL must look like/],
    [withRelay({ url: 'smtp://u:hunter2@h:25?what=1' }), /, \/relays\/0\/url: the SMTP URL has the unknown parameter/],
    [withRelay({ url: 'smtp://h:99999' }), /, \/relays\/0\/url/],
    [withRelay({ url: 'smtp://u:hunter2@h', password: 'hunter2' }), /, \/relays\/0\/url: holds a user or a password/],
    [withRelay({ user: 'u' }), /, \/relays\/0\/url: the SMTP URL needs a user and a password/],
    [
      withRelay({ user: { env: 'NOT_SET' }, password: 'x' }),
      /, \/relays\/0\/user\/env: the environment variable NOT_SET is not set/,
    ],
    [withRelay({ user: 'u', password: { file: 'none' } }), /\/relays\/0\/password\/file.*none cannot be read/],
    [withRelay({ user: 'u', password: 7 }), /, \/relays\/0\/password: must be a text, \{"env"/],
    [withRelay({ url: 'smtp://u@h?auth=xoauth2' }), /, \/relays\/0\/url: has auth=xoauth2, which needs tokenFile/],
    [withRelay({ connections: 0 }), /, \/relays\/0\/connections: must be a whole number from 1 to 1000/],
    [withRelay({ connections: 1.5 }), /, \/relays\/0\/connections/],
    [withRelay({ ratePerSecond: 0 }), /, \/relays\/0\/ratePerSecond: must be a number of mails/],
    [withRelay({ ratePerSecond: 2.5 }), /, \/relays\/0\/ratePerSecond: must be a whole number if/],
    [withRelay({ dkim: 'yes' }), /, \/relays\/0\/dkim: must be "sign"/],
    [withRelay({ returnPath: 'nobody' }), /, \/relays\/0\/returnPath: must be "sender"/],
    [withRelay({ final: 'yes' }), /, \/relays\/0\/final: must be true or false/],
    [withRelay({ rampUp: [] }), /, \/relays\/0\/rampUp: must be a list/],
    [withRelay({ rampUp: [0] }), /, \/relays\/0\/rampUp: must be a list/],
    [
      withRelay({ rampUp: { startPerDay: 5, factor: 2, untilPerDay: 4 } }),
      /, \/relays\/0\/rampUp\/untilPerDay: must not be less/,
    ],
    [withRelay({ silenceSeconds: 0 }), /, \/relays\/0\/silenceSeconds: must be a whole number of seconds/],
    [{ relays: [ses, ses] }, /, \/relays\/1\/name: another relay is called ses/],
    [{ relays: [ses], rules: [] }, /, \/rules: must be a list of 1 to 200 rules/],
    [
      { relays: [ses], rules: [{ relays: ['own'] }] },
      /, \/rules\/0\/relays\/0: there is no relay own; the relays are ses/,
    ],
    [{ relays: [ses], rules: [{ relays: [] }] }, /, \/rules\/0\/relays: must be a list of names/],
    [
      { relays: [ses], rules: [{ when: { tag: 'a' }, relays: ['ses'] }] },
      /, \/rules\/0: is the last rule and has conditions/,
    ],
    [
      { relays: [ses], rules: [{ relays: ['ses'] }, { relays: ['ses'] }] },
      /, \/rules\/0: has no conditions, so that no later rule/,
    ],
    [
      { relays: [ses], rules: [{ when: { tags: 'a' }, relays: ['ses'] }] },
      /, \/rules\/0\/when\/tags: is not known; is tag meant/,
    ],
    [
      { relays: [ses], rules: [{ when: { team: 'sales' }, relays: ['ses'] }, { relays: ['ses'] }] },
      /, \/rules\/0\/when\/team: holds no id of a team/,
    ],
    [
      { relays: [ses], rules: [{ when: { senderDomain: 'a@b.c' }, relays: ['ses'] }, { relays: ['ses'] }] },
      /, \/rules\/0\/when\/senderDomain: holds no domain/,
    ],
    [
      { relays: [ses], rules: [{ when: { priority: 'urgent' }, relays: ['ses'] }, { relays: ['ses'] }] },
      /, \/rules\/0\/when\/priority: must be high, normal or low/,
    ],
    [' '.repeat(300_000), /has more than 262144 bytes/],
  ];
  for (const [content, message] of cases) {
    const shown = typeof content === 'string' ? content.slice(0, 40) : JSON.stringify(content);
    try {
      read(content);
      t.fail(`taken: ${shown}`);
    } catch (fault) {
      t.match(fault, { name: 'ConfigError', message }, shown);
      t.match((fault as Error).message, /^SEALPOST_RELAYS/, shown);
      t.notMatch((fault as Error).message, /hunter2/, 'no secret is shown');
    }
  }
  t.throws(() => readConfig({ SEALPOST_RELAYS: join(directory, 'none.json') }), /none\.json cannot be read/);
  t.throws(() => readConfig({ SEALPOST_RELAYS: directory }), { name: 'ConfigError' });
});
