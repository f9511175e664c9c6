/** The programs that benchmarks measure our mails against write the same mails, so that their ratios mean something. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { orderMails, parcelMails, sampleOrderMails } from '../bench/support/mails.js';
import { assertDefined } from '../src/domain/core/ids.js';
import { drawChart, writePage, type Published } from '../bench/support/performance.js';
import { assertSameMail } from '../bench/support/same-mail.js';
import { projectRoot } from '../bench/support/scratch.js';

void t.test('an order confirmation by hand says what ours says', (t) => {
  for (const rows of [1, 10]) {
    const { ours, byHand } = orderMails(rows);
    t.doesNotThrow(() => assertSameMail(ours(), byHand()), `${rows} rows`);
  }
  t.end();
});

void t.test('the order confirmation of the usual stack says what the sample of the service says', (t) => {
  for (const n of [0, 7]) {
    const { ours, peer } = sampleOrderMails(n);
    const [mail, other] = [ours(), peer()];
    t.equal(other.subject, mail.subject);
    t.doesNotThrow(() => assertSameMail(mail, other), `order ${n}`);
  }
  t.end();
});

void t.test('a parcel with every component by hand says what ours says, and its code is the same picture', (t) => {
  const { ours, byHand } = parcelMails(true);
  const [mail, hand] = [ours(), byHand()];
  t.doesNotThrow(() => assertSameMail(mail, hand));
  const [code] = mail.inline;
  t.ok(code !== undefined && 'bytes' in code && hand.code?.equals(code.bytes) === true);
  t.end();
});

void t.test('another word, link or much more to write is told', (t) => {
  const { ours } = orderMails(1);
  const mail = ours();
  const other = (change: (html: string) => string) => () => assertSameMail({ ...mail, html: change(mail.html) }, mail);
  t.throws(other((html) => html.replace('Subtotal', 'Sum')));
  t.throws(other((html) => html.replace(/href="https:[^"]*"/, 'href="#"')));
  t.throws(other((html) => html.replace('</style>', `${'a{}'.repeat(1_000)}</style>`)));
  t.throws(() => assertSameMail({ ...mail, text: `${mail.text}!` }, mail));
  t.end();
});

const file = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');
const published = JSON.parse(file('bench/published.json')) as Published;

void t.test('the page of performance and its chart say what the published results say', (t) => {
  // The counted work changes more often than the page is written; a test of its own holds bench/counts.json.
  const page = file('docs/performance.md');
  const work = /^<!-- measured: work -->\n.*?<!-- end -->/ms;
  const written = writePage(page, published, { send: {} });
  t.equal(page.replace(work, ''), written.replace(work, ''), 'the page');
  t.equal(file('docs/img/performance.svg'), drawChart(published), 'the chart');
  t.end();
});

void t.test('a new result changes its row of the page and its bar of the chart, and nothing else', (t) => {
  const page = file('docs/performance.md');
  const counted = { send: { hashes: 9 } };
  const peers = assertDefined(published['peers'], 'the published result of peers');
  const figures = peers.figures.map((figure) => (figure.what === 'ours' ? { ...figure, value: 123_456 } : figure));
  const changed = { ...published, peers: { ...peers, figures } };
  const written = writePage(page, changed, counted);
  t.match(written, '| the whole way | 123,456 µs | the usual stack');
  t.match(written, '| hashes | 9 |');
  t.match(drawChart(changed), '>123,456 µs</text>');
  const around = (text: string): string => text.replace(/<!-- measured: .*?<!-- end -->/gs, '');
  t.equal(around(written), around(page));
  t.throws(() => writePage(page.replace('<!-- measured: disk -->', ''), published, counted), /no place for disk/);
  t.end();
});

void t.test('a benchmark without a result has no row and no bar', (t) => {
  const written = writePage(file('docs/performance.md'), {}, { send: {} });
  t.notMatch(written, 'the whole way |');
  t.notMatch(written, 'NaN');
  t.notMatch(drawChart({}), 'NaN');
  t.end();
});
