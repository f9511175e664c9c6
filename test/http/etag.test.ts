/**
 * Entity tags: what `If-Match` may say, and that changes of templates are handed on for the revisions that it names.
 */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { expectedRevisions } from '../../src/http/server/headers.js';
import { bearer, fakeServer } from './fakes.js';

const revisionsOf = (header: string | undefined) =>
  expectedRevisions({ headers: header === undefined ? {} : { 'if-match': header } });

void t.test('the header names revisions, compared strongly', async (t) => {
  for (const any of [undefined, '*', ' * ']) t.equal(revisionsOf(any), undefined, String(any));
  for (const [header, revisions] of [
    ['"7"', [7]],
    ['"7", "8"', [7, 8]],
    ['"7","8" ,, \t"0"', [7, 8, 0]],
    ['W/"7"', []],
    ['W/"7", "8"', [8]],
    ['"abc", "7x", "-1", ""', []],
    [`"${'9'.repeat(40)}"`, []],
  ] as const)
    t.same(revisionsOf(header), revisions, header);
  for (const wrong of [
    '',
    ',',
    '7',
    '"7',
    '7"',
    '*, "7"',
    '"7" "8"',
    'w/"7"',
    '"a b"',
    '"a\u0001"',
    `${'"7",'.repeat(2_000)}x`,
  ])
    t.throws(
      () => revisionsOf(wrong),
      { constructor: DomainError, code: 'VALIDATION_ERROR', details: { errors: [{ field: 'If-Match' }] } },
      wrong,
    );
});

void t.test(
  'answers with a template carry its tag, and changes are made for the revisions of the header',
  async (t) => {
    const { app, calls } = await fakeServer();
    t.teardown(() => app.close());
    const ask = async (
      method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
      url: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ) => {
      const response = await app.inject({
        method,
        url,
        headers: {
          ...bearer('unlimited'),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
      return [response.statusCode, response.headers['etag']];
    };
    const create = { name: 'n', subject: 's', schema: {} };
    t.same(await ask('POST', '/api/templates', create), [201, '"7"']);
    t.same(await ask('POST', '/api/templates/attachment', { name: 'n', schema: {} }), [201, '"7"']);
    t.same(await ask('POST', '/api/templates/attachment/import', { name: 'n', schema: {} }), [201, '"7"']);
    for (const [kind, name] of [
      ['', 'Template'],
      ['attachment/', 'AttachmentTemplate'],
    ] as const) {
      const path = `/api/templates/${kind}welcome`;
      const changes = [
        ['PATCH', path, { name: 'n' }, `update${name}`, ['welcome', { name: 'n' }], '"7"'],
        ['POST', `${path}/publish`, undefined, `publish${name}`, ['welcome'], '"7"'],
        ['POST', `${path}/versions/3/restore`, undefined, `restore${name}Version`, ['welcome', '3'], '"7"'],
        ['DELETE', path, undefined, `delete${name}`, ['welcome'], undefined],
      ] as const;
      t.same(await ask('GET', path), [200, '"7"']);
      for (const [method, url, body, command, args, tag] of changes) {
        t.same(await ask(method, url, body), [200, tag], `${method} ${url}`);
        t.same([calls.at(-1)?.[0], calls.at(-1)?.slice(2)], [command, args]);
        t.same(await ask(method, url, body, { 'if-match': '"7", W/"8"' }), [200, tag]);
        t.same(calls.at(-1)?.slice(2), [...args, [7]]);
        const before = calls.length;
        t.same(await ask(method, url, body, { 'if-match': '7' }), [400, undefined]);
        t.equal(calls.length, before);
      }
      t.same(await ask('GET', `${path}/versions/3`), [200, undefined]);
      t.same(await ask('POST', `${path}/restore`), [200, '"7"'], 'its body may be absent');
      t.same(calls.at(-1)?.slice(2), ['welcome', {}]);
      t.same(await ask('POST', `${path}/restore`, { slug: 'x', a: 1 }), [400, undefined]);
    }
  },
);
