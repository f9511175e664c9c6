/**
 * Warnings in the answers to sends over HTTP about values that a mail lost, and the same warnings in the record after a
 * restart.
 */
import t from 'tap';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';

type Warning = Readonly<{ kind: string; path: string; field: string; shape: string; message: string }>;
type Sent = Readonly<{
  id: string;
  code?: string;
  message?: string;
  errors?: readonly object[];
  warnings?: readonly Warning[];
}>;
type Kept = Readonly<{ metadata: Readonly<{ warnings?: readonly Warning[] }> }>;

const dataDir = temporaryDirectory(t);
const settings = { SEALPOST_SMTP_URL: 'mailbox:' };
let app = await startTestApp({ isFounded: true, dataDir, settings });
t.teardown(() => app.stop());

const template = (slug: string, more: Readonly<Record<string, unknown>> = {}) => ({
  slug,
  name: 'Reset',
  subject: 'Reset your password',
  variables: [],
  schema: {
    sections: [
      {
        id: 'm',
        type: 'main',
        components: [{ id: 'b', type: 'button', content: 'Reset your password', props: { href: '{{url}}' } }],
      },
    ],
  },
  publish: true,
  ...more,
});
const to = [{ email: 'ann@example.org' }];
const send = (templateId: string, url: string) =>
  app.call<Sent>('POST', '/api/emails/send', { templateId, to, variables: { url } });

void t.test(
  'a link that cannot be followed: in the answer, in the record, and there after a start as well',
  async (t) => {
    for (const body of [template('reset'), template('strict', { strictVariables: true })])
      t.equal((await app.call('POST', '/api/templates', body)).status, 201);
    const told = {
      kind: 'link',
      path: 'url',
      field: 'schema.sections[0].components[0].props.href',
      shape: 'text that begins with /',
      message: /^is the address of a link and none that can be used/,
    };
    const { status, body } = await send('reset', '/reset?t=secret');
    t.match({ status, body }, { status: 201, body: { warnings: [told] } });
    t.notMatch(JSON.stringify(body.warnings), 'secret', 'the value itself is not told');

    const good = await send('reset', 'https://app.example.com/reset');
    t.equal(good.body.warnings, undefined);
    t.match(await send('strict', '/reset'), {
      status: 400,
      body: { code: 'VARIABLES_EMPTY', errors: [{ field: 'variables.url', message: `(at ${told.field})` }] },
    });

    const kept = async (id: string) => (await app.call<Kept>('GET', `/api/emails/${id}`)).body.metadata.warnings;
    t.same(await kept(body.id), body.warnings);
    await app.stop();
    app = await startTestApp({ dataDir, settings });
    t.same(await kept(body.id), body.warnings, 'made from the events alone');
    t.equal(await kept(good.body.id), undefined);
  },
);

void t.test(
  'what a document of the mail loses is told with its place in the call, once for both formats',
  async (t) => {
    const cells = {
      id: 't',
      type: 'table',
      props: { dataSource: 'lines', columns: [{ header: 'Note', content: '{{item.note}}' }] },
    };
    const link = { id: 'r', type: 'rich-text', content: '<p style="color:{{brand}}"><a href="{{url}}">Pay</a></p>' };
    const pages = [{ pageId: 'p', pageName: 'Bill', sections: [{ id: 's', type: 'main', components: [cells, link] }] }];
    const bill = {
      slug: 'bill',
      name: 'Bill',
      variables: [],
      schema: { outputFormats: ['pdf', 'excel'], pages },
      publish: true,
    };
    t.equal((await app.call('POST', '/api/templates/attachment', bill)).status, 201);
    const sent = async (variables: Readonly<Record<string, unknown>>) =>
      app.call<Sent>('POST', '/api/emails/send', {
        templateId: 'reset',
        to,
        variables: { url: 'https://app.example.com/reset' },
        attachments: [{ attachmentTemplateId: 'bill', variables }],
      });
    const good = { lines: [{ note: 'x' }], brand: '#123456', url: 'https://app.example.com/pay' };
    t.match(await sent(good), { status: 201, body: { warnings: undefined } });
    const { status, body } = await sent({ lines: [{ note: 'x' }, {}], brand: 'brandish', url: 'app.example.com/pay' });
    t.equal(status, 201);
    t.match(body.warnings, [
      { kind: 'missing', path: 'lines[1].note', field: /^attachments\[0\]: schema\.pages\[0\]/ },
      { kind: 'link', path: 'url', shape: 'text without a scheme' },
      { kind: 'color', path: 'brand' },
    ]);
    t.equal(body.warnings?.length, 3);
  },
);
