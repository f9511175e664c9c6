/** Every operation of the API is used by the dashboard, or a line says why it is not. */
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import t from 'tap';
import { emailStatuses, recipientStatuses } from '../../src/domain/email/status.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Operations without a page, with the reason. */
const elsewhere: readonly (readonly [reason: string, operations: readonly string[]])[] = [
  ['programs send by the API; the page of one email sends again', ['sendEmail', 'sendEmails', 'resendEmail']],
  ['programs ask for approvals, and withdraw them', ['requestApproval', 'withdrawApproval']],
  [
    'an email is changed on its own page',
    ['rescheduleEmail', 'retryEmails', 'deleteEmails', 'retryEmail', 'cancelEmail', 'deleteEmail'],
  ],
  [
    'an email is read on its own page',
    ['getEmail', 'getEmailTimeline', 'getEmailContent', 'getEmailSource', 'getEmailAttachment', 'getRecipient'],
  ],
  [
    'a file becomes a draft on the page of templates; programs import and publish in one call',
    ['importTemplate', 'importAttachmentTemplate', 'importBlock'],
  ],
  ['the page of a template shows what is written, and the log of one email what was sent', ['showTemplate']],
  ['the page of a template reads the document by GET', ['previewAttachmentTemplateWith']],
  [
    'the page /account registers people and follows the links of mails',
    [
      ...['register', 'signInByLink', 'verifyAddress', 'resetPassword', 'changeAddress', 'resendVerification'],
      ...['forgotPassword', 'acceptInvitation'],
    ],
  ],
  ['the client refreshes a session by itself', ['refresh']],
  [
    'machines ask for them',
    ['followChanges', 'readJsonWebKeys', 'live', 'ready', 'reportFeedback', 'recordProviderEvents'],
  ],
  [
    'the page /mailbox shows the mailbox',
    [...['listMailboxMessages', 'clearMailbox', 'getMailboxMessage', 'getMailboxSource', 'getMailboxAttachment']],
  ],
];

type Description = Readonly<{ paths: Readonly<Record<string, Readonly<Record<string, { operationId?: string }>>>> }>;

void t.test('the search box knows the statuses of the service', async (t) => {
  const { statuses, faultOf } = (await import(
    pathToFileURL(join(root, 'dashboard/src/pages/emails/search.ts')).href
  )) as Readonly<{ statuses: readonly string[]; faultOf: (search: object) => string | undefined }>;
  t.same(statuses, emailStatuses);
  for (const copy of recipientStatuses) t.equal(faultOf({ copy }), undefined, copy);
  t.match(faultOf({ copy: 'lost' }), /takes one of/);
  t.equal(String(faultOf({ copy: 'lost' })).split(',').length, recipientStatuses.length);
});

void t.test('every operation has a page or a line of exemption', async (t) => {
  // Settings of tests are no settings of a service.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SEALPOST_')));
  const text = execFileSync(process.execPath, [join(root, 'bin/sealpost.js'), 'openapi'], {
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { paths } = JSON.parse(text) as Description;
  const operations = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId])),
  );
  t.ok(operations.length > 150, 'the description has the operations of the API');
  const sources = globSync('dashboard/src/**/*.{ts,tsx}', { cwd: root }).map((name) =>
    readFileSync(join(root, name), 'utf8'),
  );
  const used = new Set(
    sources.flatMap((source) =>
      [...source.matchAll(/import type \{([^}]*)\} from '#api'/g)].flatMap(([, names = '']) =>
        [...names.matchAll(/\b(\w+)Data\b/g)].map(([, name = '']) => name.toLowerCase()),
      ),
    ),
  );
  t.ok(used.size > 80, 'the dashboard names the operations that it uses');
  const exempt = new Set(elsewhere.flatMap(([, names]) => names));
  t.same(
    operations.filter((name) => !used.has(name.toLowerCase()) && !exempt.has(name)),
    [],
    'an operation without a page: give it one, or a line of exemption',
  );
});
