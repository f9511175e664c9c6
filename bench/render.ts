/** Rendering a 10-row order confirmation, HTML and text, against the same email written by hand in Eta: at most 1.5 times its CPU. */
import { openRenderer } from '../src/adapters/render/email/renderer.js';
import { defaultLimits } from '../src/domain/limits.js';
import { checkEmailTemplate } from '../src/domain/rendering/check/check.js';
import { renderByHand, type OrderVariables } from './limits/render.js';
import { machine } from './support/machine.js';
import { orderConfirmation } from './support/order-confirmation.js';
import { comparePairs } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';

const TARGET = 1.5;
const at = '2026-11-21T10:00:00Z';
const company = {
  name: 'Northwind Coffee',
  legalName: 'Northwind Coffee Lda.',
  email: 'hello@northwind.example',
  phone: '',
  website: 'https://northwind.example',
  addressLine1: 'Rua do Sol 3',
  city: 'Lisboa',
  state: '',
  postalCode: '1200-001',
  country: 'Portugal',
};

const withRows = (rows: number): OrderVariables => {
  const variables = structuredClone(orderConfirmation.exampleVariables) as OrderVariables;
  const names = ['Ceramic mug', 'Pour-over kettle', 'Fish & chips <large>', 'Ethiopia Guji', 'Filter papers'];
  variables.order.items = Array.from({ length: rows }, (_, row) => ({
    name: names[row % names.length] ?? '',
    variant: `Lot ${row + 1}`,
    quantity: row + 1,
    total: (row + 1) * 12.35,
  }));
  return variables;
};

const run = async (): Promise<void> => {
  const { subject, variables: definitions, schema } = orderConfirmation;
  const { content } = checkEmailTemplate({ subject, variables: definitions, schema }, defaultLimits);
  const render = openRenderer({ limits: defaultLimits }).compileEmail(content);
  const variables = withRows(10);
  const environment = { at, company };
  let bytes = 0;
  const ours = (): void => {
    const { html, text } = render({ variables, environment });
    bytes += Buffer.from(html).length + Buffer.from(text).length;
  };
  const limit = (): void => {
    const { html, text } = renderByHand(variables, company, at);
    bytes += Buffer.from(html).length + Buffer.from(text).length;
  };
  // Both must say the same before their speed means anything.
  const [a, b] = [render({ variables, environment }), renderByHand(variables, company, at)];
  const visible = (html: string): string =>
    html
      .replace(/<style>.*?<\/style>|<[^>]*>/gs, ' ')
      .replace(/&#(\d{2,7});/g, (_, code: string) => String.fromCodePoint(Number(code)))
      .replace(/\s+/g, ' ');
  if (visible(a.html) !== visible(b.html)) throw new Error(`the two do not say the same:\n${visible(a.html)}\n${visible(b.html)}`);
  if (Math.abs(a.html.length / b.html.length - 1) > 0.02) throw new Error(`the two differ in size: ${a.html.length} and ${b.html.length}`);
  const result = await comparePairs({ name: 'render a 10-row order confirmation', ours, limit, pairs: 20, operations: 4_000 });
  if (bytes === 0) throw new Error('nothing was rendered');
  report({
    name: 'render',
    figures: figuresOf(result, 'µs/email', { atMost: TARGET }),
    machine: machine(),
    details: { ...result, htmlBytes: Buffer.byteLength(a.html), textBytes: Buffer.byteLength(a.text) },
  });
};

await run();
