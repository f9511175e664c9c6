/**
 * The sample templates read well whatever optional variables a call leaves out: no sentence has a hole where a value
 * would stand.
 */
import t from 'tap';
import { makeWorkbook } from '../src/adapters/render/excel/make-workbook.js';
import { makePdf } from '../src/adapters/render/pdf/make-pdf.js';
import type { Json, JsonObject } from '../src/domain/core/json.js';
import { isJsonObject } from '../src/domain/core/json.js';
import { checkAttachmentTemplate } from '../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../src/domain/rendering/check/email.js';
import { defaultLimits } from '../src/domain/core/limits.js';
import type { VariableDefinition } from '../src/domain/rendering/scope/definitions.js';
import { expandTemplate } from './support/documents.js';
import { emptyLinesOf, holesOf } from './support/prose.js';
import { company, environment, renderTemplate } from './support/rendering.js';
import { placedWords, type PlacedWord } from './support/pdf-words.js';
import { readPdf } from './support/read-pdf.js';
import {
  accountTemplates,
  documentSamples,
  emailContentOf,
  emailSamples,
  leastOf,
  mostOf,
  sampleAttachment as attachment,
  sampleAttachments,
  sampleTemplate as email,
  sampleTemplates,
} from './support/samples.js';

type Path = readonly string[];

type Properties = Readonly<
  Record<string, Readonly<{ required?: boolean; properties?: Properties; itemSchema?: { properties?: Properties } }>>
>;

const optionalWithin = (properties: Properties | undefined, above: Path): readonly Path[] =>
  Object.entries(properties ?? {}).flatMap(([name, property]) => [
    ...(property.required === true ? [] : [[...above, name]]),
    ...optionalWithin(property.properties, [...above, name]),
    ...optionalWithin(property.itemSchema?.properties, [...above, name, '*']),
  ]);

/**
 * The paths of everything that a call may leave out; `*` stands for each item of an array. A default stands in for the
 * top level.
 */
const optionalOf = (variables: readonly VariableDefinition[]): readonly Path[] =>
  variables.flatMap(({ name, isCalculated, schema }) => {
    if (isCalculated === true || !isJsonObject(schema as Json)) return [];
    const { properties, itemSchema } = schema as { properties?: Properties; itemSchema?: { properties?: Properties } };
    return [...optionalWithin(properties, [name]), ...optionalWithin(itemSchema?.properties, [name, '*'])];
  });

const without = (value: Json, [head = '', ...rest]: Path): Json => {
  if (Array.isArray(value)) return value.map((item: Json) => without(item, rest));
  if (!isJsonObject(value)) return value;
  if (rest.length > 0) return { ...value, [head]: without(value[head] ?? null, rest) };
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== head));
};

const textsOf = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && ['html', 'text', 'content'].includes(name) ? [inner] : textsOf(inner),
  );
};

void t.test('emails, in each language', async (t) => {
  const accounts = accountTemplates.map((sample) => ({
    slug: sample.slug,
    name: sample.slug,
    locale: undefined,
    content: emailContentOf(sample),
    values: sample.exampleVariables,
  }));
  for (const { slug, name, locale, content, values } of [...emailSamples, ...accounts]) {
    const paths: readonly Path[] = [[], ...optionalOf(content.variables)];
    t.ok(
      slug !== 'order-confirmation' || paths.length > 5,
      'the order confirmation has variables that may be left out',
    );
    for (const path of paths) {
      const given = path.length === 0 ? values : (without(values, path) as JsonObject);
      const { html, text } = renderTemplate(content, given, locale === undefined ? {} : { language: { locale } });
      t.same([...holesOf(html), ...emptyLinesOf(html)], [], `${name} without ${path.join('.') || 'nothing'}`);
      t.notMatch(text, /\n{3}/, `${name}: the text part`);
    }
  }
});

void t.test('documents, in each language', async (t) => {
  for (const { name, locale, content, values } of documentSamples) {
    for (const path of [[], ...optionalOf(content.variables)] as readonly Path[]) {
      const given = path.length === 0 ? values : (without(values, path) as JsonObject);
      const texts = textsOf(expandTemplate(content, given, locale === undefined ? {} : { language: { locale } }));
      t.ok(texts.length > 0, name);
      const bad = texts.flatMap((text) => [...holesOf(text), ...emptyLinesOf(text)]);
      t.same(bad, [], `${name} without ${path.join('.') || 'nothing'}`);
    }
  }
});

void t.test(
  'each sample has a second language, one runs from the right, and every text has its translation',
  async (t) => {
    const own = [...sampleTemplates, ...sampleAttachments];
    for (const { slug, translations } of own) t.equal(Object.keys(translations ?? {}).length, 1, slug);
    t.match(
      renderTemplate(emailContentOf(email('invitation')), email('invitation').exampleVariables, {
        language: { locale: 'ar' },
      }).html,
      'dir="rtl"',
    );
    // The check below reports texts that a language lacks; an unchanged text is one of these.
    const same = new Set([
      'Online',
      'IBAN {{seller.iban}}<br>BIC {{seller.bic}}<br>{{seller.bank}}',
      '{{total}}',
      '{{report.title}}: {{revenue}}',
    ]);
    for (const { slug, translations } of own)
      for (const [text, translated] of Object.values(translations ?? {}).flatMap((texts) => Object.entries(texts)))
        t.ok(text !== translated || [...same].some((one) => text.includes(one)), `${slug}: ${text}`);
  },
);

void t.test('the fonts that are shipped have every character of the documents', async (t) => {
  for (const { name, locale, content, values } of documentSamples) {
    const strict = { ...content, schema: { ...content.schema, missingCharacters: 'refuse' } };
    const document = expandTemplate(strict, values, locale === undefined ? {} : { language: { locale } });
    await t.resolves(
      makePdf(document, new Map(), { title: name, author: company.name, createdAt: environment.at }, defaultLimits),
      name,
    );
  }
});

const mailOf = (slug: string, values: JsonObject, locale?: string): string =>
  renderTemplate(emailContentOf(email(slug)), values, locale === undefined ? {} : { language: { locale } }).text;

const documentOf = (slug: string, values: JsonObject, format: 'pdf' | 'excel' = 'pdf', locale?: string): string => {
  const { variables, schema, locale: own, timeZone, translations } = attachment(slug);
  const language = locale === undefined ? {} : { language: { locale } };
  return JSON.stringify(
    expandTemplate({ variables, schema, locale: own, timeZone, translations }, values, { format, ...language }),
  );
};

void t.test('a mail and the documents beside it name the same sums, for the same variables', async (t) => {
  const { order } = email('order-confirmation').exampleVariables as { order: JsonObject };
  const values = { ...attachment('invoice').exampleVariables, ...email('order-confirmation').exampleVariables };
  const odd = [
    { name: 'A', quantity: 3, price: 0.335 },
    { name: 'B', quantity: 1, price: 1.005 },
  ];
  const cases: readonly (readonly [JsonObject, string])[] = [
    [order, '€134.19'],
    [{ ...order, discount: 0, shipping: 0 }, '€140.47'],
    [{ ...order, items: odd, discount: 0, shipping: 0.1, taxRate: 0.07 }, '€2.27'],
  ];
  for (const [given, total] of cases) {
    const variables = { ...values, customer: { firstName: 'Ada', name: 'Ada' }, order: given } as JsonObject;
    t.match(mailOf('order-confirmation', variables), total);
    for (const format of ['pdf', 'excel'] as const) t.match(documentOf('invoice', variables, format), total, format);
    const inGerman = `${total.slice(1).replace('.', ',')}\u00a0€`;
    t.match(mailOf('order-confirmation', variables, 'de'), inGerman);
    t.match(documentOf('invoice', variables, 'pdf', 'de'), inGerman);
  }
  t.notMatch(
    mailOf('order-confirmation', { ...values, order: { ...order, discount: 0, shipping: 0 } } as JsonObject),
    /Discount|Shipping/,
  );
  const offer = { ...attachment('offer').exampleVariables, ...email('offer').exampleVariables };
  t.match(mailOf('offer', offer), '€13,035.54');
  t.match(documentOf('offer', offer), '€13,035.54');
  const report = { ...attachment('monthly-report').exampleVariables, ...email('monthly-report').exampleVariables };
  for (const said of [mailOf('monthly-report', report), documentOf('monthly-report', report)])
    t.match(said, '€166,770');
});

void t.test('an invoice names its seller, and none is made with the account of an example', async (t) => {
  const { seller: _, ...rest } = attachment('invoice').exampleVariables;
  t.throws(() => documentOf('invoice', rest), 'without a seller');
  const said = documentOf('invoice', attachment('invoice').exampleVariables);
  for (const fact of ['PT 500 000 000', 'PT50 0002 0123 1234 5678 9015 4', '5 December 2026', 'data:image/png', 'nSCT'])
    t.match(said, fact);
  const { order } = attachment('invoice').exampleVariables as { order: JsonObject };
  for (const other of [{ currency: 'USD' }, { items: [], discount: 0, shipping: 0 }])
    t.notMatch(
      documentOf('invoice', { ...attachment('invoice').exampleVariables, order: { ...order, ...other } }),
      'nSCT',
    );
});

void t.test('the samples have no warning, and no letters below 7 points', async (t) => {
  const pointsOf = (json: string): readonly number[] =>
    [...json.matchAll(/font-size:([\d.]+)(px|pt)/g)].map(([, size, unit]) => Number(size) * (unit === 'px' ? 0.75 : 1));
  for (const sample of sampleTemplates)
    t.same(checkEmailTemplate(emailContentOf(sample), defaultLimits).warnings, [], sample.slug);
  for (const { slug, name, variables, schema, locale, timeZone, translations } of sampleAttachments) {
    const checked = checkAttachmentTemplate({ variables, schema, locale, timeZone, translations }, defaultLimits, name);
    t.same(checked.warnings, [], slug);
    const sizes = pointsOf(JSON.stringify(schema));
    t.ok(sizes.length > 0 && Math.min(...sizes) >= 7, `${slug}: ${Math.min(...sizes)} points at least`);
  }
});

/** The least, the usual and the most variables of a call. */
const amountsOf = (variables: readonly VariableDefinition[], values: JsonObject) =>
  ({ least: leastOf(variables, values), usual: values, most: mostOf(variables, values) }) as const;

const metadata = { title: 'Sample', author: company.name, createdAt: environment.at };
const pdfOf = (content: (typeof documentSamples)[number]['content'], values: JsonObject): Promise<Uint8Array> =>
  makePdf(
    expandTemplate({ ...content, schema: { ...content.schema, missingCharacters: 'refuse' } }, values),
    new Map(),
    metadata,
    defaultLimits,
  );

const own = documentSamples.filter(({ locale }) => locale === undefined);

void t.test('each sample with the least, the usual and the most of its variables', async (t) => {
  for (const { name, content, values } of emailSamples)
    for (const [amount, given] of Object.entries(amountsOf(content.variables, values))) {
      const { html } = renderTemplate(content, given);
      t.same([...holesOf(html), ...emptyLinesOf(html)], [], `${name}: ${amount}`);
    }
  for (const { name, content, values } of own)
    for (const [amount, given] of Object.entries(amountsOf(content.variables, values))) {
      const texts = textsOf(expandTemplate(content, given));
      t.same(
        texts.flatMap((text) => [...holesOf(text), ...emptyLinesOf(text)]),
        [],
        `${name}: ${amount}`,
      );
      const sheets = readPdf(await pdfOf(content, given)).sheets.length;
      if (name === 'shipping-label') t.equal(sheets, 1, `the label with ${amount} is one sheet`);
      if (name === 'ticket')
        t.equal(sheets, (given['tickets'] as readonly Json[]).length, `a sheet for each ticket with ${amount}`);
      if (content.schema.outputFormats.includes('excel'))
        await t.resolves(
          makeWorkbook(expandTemplate(content, given, { format: 'excel' }), new Map(), metadata, defaultLimits),
        );
    }
  t.notMatch(
    mailOf('shipping-notice', leastOf(email('shipping-notice').variables, email('shipping-notice').exampleVariables)),
    /Packed|Guji/,
  );
});

/** A line that is missing moves those below it in its own block, and nothing else. */
const LINE_PT = 20;

void t.test('what stands over a fixed picture does not move', async (t) => {
  const placed = async (content: (typeof own)[number]['content'], values: JsonObject) =>
    placedWords(await pdfOf(content, values));
  let compared = 0;
  for (const { name, content, values } of own) {
    const pages = content.schema.pages.filter(({ pageSettings }) => pageSettings?.backgroundImage !== undefined);
    if (pages.length === 0) continue;
    const shown = { ...content, schema: { ...content.schema, pages } };
    const usual = await placed(shown, values);
    if (usual === undefined) return void t.comment('pdftotext is not here');
    const topsOf = (words: readonly PlacedWord[], text: string): readonly number[] =>
      words.filter((word) => word.page === 1 && word.text === text).map(({ top }) => top);
    const tops = content.variables.filter(({ required, isCalculated }) => required !== true && isCalculated !== true);
    const missing: readonly Path[] = [...optionalOf(content.variables), ...tops.map(({ name: top }) => [top])];
    const others = await Promise.all(
      [...missing.map((path) => without(values, path) as JsonObject), leastOf(content.variables, values)].map(
        async (given) => ({
          given,
          words: (await placed(shown, given)) ?? [],
        }),
      ),
    );
    for (const [at, { words }] of others.entries())
      for (const text of new Set(words.filter(({ page }) => page === 1).map((word) => word.text))) {
        const [before, after] = [topsOf(usual, text), topsOf(words, text)];
        if (before.length !== after.length) continue;
        const moved = after.map((top, index) => Math.abs(top - (before[index] ?? 0)));
        compared += 1;
        if (Math.max(...moved) > LINE_PT)
          t.fail(`${name} without ${missing[at]?.join('.') ?? 'all that is optional'}: ${text} moved`);
      }
    const last = [usual, (await placed(shown, mostOf(content.variables, values))) ?? []].map((words) =>
      ['From', 'Admits', 'Where'].flatMap((text) => topsOf(words, text)),
    );
    t.same(last[1], last[0], `${name}: what stands below long words is where it was`);
  }
  t.ok(compared > 200, `${compared} words compared`);
});
