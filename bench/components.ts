/** Rendering an email that holds every component, HTML and text, against the same email written by hand in Eta: at most 1.5 times its CPU. */
import { openRenderer } from '../src/adapters/render/email/renderer.js';
import type { JsonObject } from '../src/domain/json.js';
import { defaultLimits } from '../src/domain/limits.js';
import { checkEmailTemplate } from '../src/domain/rendering/check/check.js';
import { parcelByHand } from './limits/components.js';
import { machine } from './support/machine.js';
import { everyComponentTemplate, parcel } from './support/every-component.js';
import { comparePairs } from './support/pairs.js';
import { figuresOf, report } from './support/results.js';

const TARGET = 1.5;
const environment = {
  at: '2026-11-21T10:00:00Z',
  company: {
    name: '',
    legalName: '',
    email: '',
    phone: '',
    website: '',
    addressLine1: '',
    city: '',
    state: '',
    postalCode: '',
    country: '',
  },
};

const compiled = (template: unknown) =>
  openRenderer({ limits: defaultLimits }).compileEmail(checkEmailTemplate(template, defaultLimits).content);

const without = (type: string): JsonObject => {
  const schema = structuredClone(everyComponentTemplate.schema) as { sections: { components: { type: string }[] }[] };
  for (const section of schema.sections) section.components = section.components.filter((component) => component.type !== type);
  return { ...everyComponentTemplate, schema };
};

let bytes = 0;
const taken = ({ html, text }: Readonly<{ html: string; text: string }>): void =>
  void (bytes += Buffer.from(html).length + Buffer.from(text).length);

/** With the code, whose drawing costs more than all the rest, and without it. */
const compare = async (name: string, template: unknown, draws: boolean) => {
  const render = compiled(template);
  return comparePairs({
    name,
    ours: () => taken(render({ variables: parcel, environment })),
    limit: () => taken(parcelByHand(parcel, draws)),
    pairs: 20,
    operations: draws ? 300 : 3_000,
  });
};

const sameAsByHand = (): void => {
  const [ours, byHand] = [compiled(everyComponentTemplate)({ variables: parcel, environment }), parcelByHand(parcel, true)];
  const plain = (html: string): string => html.replace(/cid:[^"]*/, 'cid:');
  if (plain(ours.html) !== plain(byHand.html)) throw new Error(`the HTML differs:\n${ours.html}\n\n${byHand.html}`);
  if (ours.text !== byHand.text) throw new Error(`the text differs:\n${ours.text}\n\n${byHand.text}`);
  const [code] = ours.inline;
  if (code === undefined || !('bytes' in code) || byHand.code?.equals(code.bytes) !== true) throw new Error('the codes differ');
};

const run = async (): Promise<void> => {
  // Both must say the same before their speed means anything.
  sameAsByHand();
  const all = await compare('render an email with every component', everyComponentTemplate, true);
  const noCode = await compare('the same without its QR code', without('qr-code'), false);
  if (bytes === 0) throw new Error('nothing was rendered');
  report({
    name: 'components',
    figures: [...figuresOf(all, 'µs/email', { atMost: TARGET }), ...figuresOf(noCode, 'µs/email, no QR code', { atMost: TARGET })],
    machine: machine(),
    details: { all, noCode },
  });
};

await run();
