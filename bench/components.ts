/**
 * Rendering an email that holds every component, HTML and text, against the same email written by hand in Eta: at most
 * 1.5 times its CPU.
 */
import type { JsonObject } from '../src/domain/core/json.js';
import { everyComponentTemplate } from './support/every-component.js';
import { machine } from './support/machine.js';
import { parcelMails } from './support/mails.js';
import { comparePairs } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';
import { assertSameMail } from './support/same-mail.js';

const TARGET = 1.5;

const without = (type: string): JsonObject => {
  const schema = structuredClone(everyComponentTemplate.schema) as { sections: { components: { type: string }[] }[] };
  for (const section of schema.sections)
    section.components = section.components.filter((component) => component.type !== type);
  return { ...everyComponentTemplate, schema };
};

let bytes = 0;
const taken = ({ html, text }: Readonly<{ html: string; text: string }>): void =>
  void (bytes += Buffer.from(html).length + Buffer.from(text).length);

/** With the code, whose drawing costs more than all the rest, and without it. */
const compare = async (name: string, template: unknown, draws: boolean) => {
  const { ours, byHand } = parcelMails(draws, template);
  return comparePairs({
    name,
    ours: () => taken(ours()),
    limit: () => taken(byHand()),
    pairs: 20,
    operations: draws ? 300 : 3_000,
  });
};

const run = async (): Promise<void> => {
  const { ours, byHand } = parcelMails(true);
  assertSameMail(ours(), byHand());
  const all = await compare('render an email with every component', everyComponentTemplate, true);
  const noCode = await compare('the same without its QR code', without('qr-code'), false);
  if (bytes === 0) throw new Error('nothing was rendered');
  report({
    name: 'components',
    figures: [
      ...figuresOf(all, 'µs/email', { atMost: TARGET }),
      ...figuresOf(noCode, 'µs/email, no QR code', { atMost: TARGET }),
    ],
    machine: machine(),
    details: { all, noCode },
  });
};

await run();
