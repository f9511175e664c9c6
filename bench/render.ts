/**
 * Rendering a 10-row order confirmation, HTML and text, against the same email written by hand in Eta: at most 1.5
 * times its CPU.
 */
import { machine } from './support/machine.js';
import { orderMails } from './support/mails.js';
import { comparePairs } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';
import { assertSameMail } from './support/same-mail.js';

const TARGET = 1.5;
const ROWS = 10;

const { ours, byHand } = orderMails(ROWS);
const mail = ours();
assertSameMail(mail, byHand());
let bytes = 0;
const taken = ({ html, text }: Readonly<{ html: string; text: string }>): void =>
  void (bytes += Buffer.from(html).length + Buffer.from(text).length);
const result = await comparePairs({
  name: `render a ${ROWS}-row order confirmation`,
  ours: () => taken(ours()),
  limit: () => taken(byHand()),
  pairs: 20,
  operations: 4_000,
});
if (bytes === 0) throw new Error('nothing was rendered');
report({
  name: 'render',
  figures: figuresOf(result, 'µs/email', { atMost: TARGET }),
  machine: machine(),
  details: { ...result, htmlBytes: Buffer.byteLength(mail.html), textBytes: Buffer.byteLength(mail.text) },
});
