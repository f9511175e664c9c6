/**
 * The results of a bulk send over HTTP: which format, what stands in it, and that it is read no faster than it is
 * taken.
 */
import { Readable } from 'node:stream';
import t from 'tap';
import type { BatchResult } from '../../src/api/bulk.js';
import { resultLines, resultWriter } from '../../src/commands/bulk/results.js';
import { BATCH, batchResult, fakeServer } from '../http/fakes.js';

const url = `/api/emails/batch/${BATCH}/results`;
const headers = { authorization: 'Bearer full' };

void t.test('JSON lines or CSV, by the query or by Accept', async (t) => {
  const { app, calls } = await fakeServer();
  t.teardown(() => app.close());
  const get = (query: string, accept?: string) =>
    app.inject({ url: url + query, headers: { ...headers, ...(accept && { accept }) } });
  const lines = await get('');
  t.equal(lines.statusCode, 200);
  t.equal(lines.headers['content-type'], 'application/x-ndjson; charset=utf-8');
  const [first, second, end] = lines.body.split('\n');
  t.same(JSON.parse(first!), batchResult);
  t.match(JSON.parse(second!), { place: 1, status: 'skipped', email: null, emailId: null });
  t.equal(end, '');
  const table = await get('?format=csv');
  t.equal(table.headers['content-type'], 'text/csv; charset=utf-8');
  t.match(table.headers['content-disposition'], `filename="batch-${BATCH}.csv"`);
  t.equal(
    table.body,
    [
      'place,email,status,emailId,error,reply,sentAt,deliveredAt,line',
      `0,'=1+1@example.com,sent,${batchResult.emailId},,"250 ""OK"", taken",${batchResult.sentAt},,2`,
      `1,,skipped,,'-none,,,,3`,
      '',
    ].join('\r\n'),
    'a cell that begins like a formula is none',
  );
  for (const [query, accept, type] of [
    ['', 'text/csv', 'text/csv'],
    ['', 'text/csv, application/x-ndjson', 'application/x-ndjson'],
    ['', '*/*', 'application/x-ndjson'],
    ['?format=jsonl', 'text/csv', 'application/x-ndjson'],
    ['?format=csv', 'application/x-ndjson', 'text/csv'],
  ] as const)
    t.equal((await get(query, accept)).headers['content-type'], `${type}; charset=utf-8`, `${query} ${accept}`);
  t.match(
    (await get('?format=csv&status=failed')).body,
    /^place,.*\r\n1,/,
    'the head of the table stands there where the first have another status',
  );
  t.same(calls.at(-1)?.slice(2), [BATCH, 'failed']);
  for (const query of ['?format=xml', '?status=nowhere', '?else=1'])
    t.match((await get(query)).json(), { statusCode: 400, code: 'VALIDATION_ERROR' }, query);
  const stranger = await app.inject({ url, headers: { authorization: 'Bearer stranger' } });
  t.match(stranger.json(), { statusCode: 404, code: 'BATCH_NOT_FOUND' });
  t.match((await app.inject({ url: url.replace(BATCH, 'x'), headers })).json(), {
    statusCode: 404,
    code: 'BATCH_NOT_FOUND',
  });
});

void t.test('a reader who takes nothing more lets nothing more be read', async (t) => {
  let read = 0;
  let isEnded = false;
  async function* all(): AsyncGenerator<readonly BatchResult[]> {
    try {
      for (; read < 10_000; read += 1) yield [{ ...batchResult, reply: 'x'.repeat(1_000) }];
    } finally {
      isEnded = true;
    }
  }
  const stream = Readable.from(resultLines(all(), await resultWriter('jsonl')), { objectMode: false });
  await new Promise((resolve) => stream.once('readable', resolve));
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  t.ok(read < 20, `${read} are read`);
  stream.destroy();
  await new Promise((resolve) => stream.once('close', resolve));
  t.equal(isEnded, true, 'and one who goes away ends it');
});
