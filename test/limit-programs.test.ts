/** The programs that benchmarks measure our mails against write the same mails, so that their ratios mean something. */
import t from 'tap';
import { orderMails, parcelMails, sampleOrderMails } from '../bench/support/mails.js';
import { assertSameMail } from '../bench/support/same-mail.js';

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
