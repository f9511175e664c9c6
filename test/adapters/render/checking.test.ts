/** The check of a send call says of every email what its rendering will say, though it does not write the mail. */
import t from 'tap';
import { compile } from '../../../src/adapters/render/email/renderer.js';
import { checkingRuntimeOf, runtimeOf } from '../../../src/adapters/render/email/runtime.js';
import { DomainError } from '../../../src/domain/core/errors.js';
import type { Json, JsonObject } from '../../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../../src/domain/rendering/check/email.js';
import type { ValueFormat } from '../../../src/domain/rendering/scope/definitions.js';
import { everyComponent, sinkDefinitions, sinkVariables } from '../../support/kitchen-sink.js';
import { company, environment, templateOf } from '../../support/rendering.js';

const verdict = (action: () => unknown): string => {
  try {
    action();
    return 'accepted';
  } catch (error) {
    if (error instanceof DomainError) return `${error.code}: ${error.message}`;
    throw error;
  }
};

const compiled = (template: Record<string, unknown>, limits: Limits = defaultLimits) =>
  compile(checkEmailTemplate(template, limits).content, limits).render;

const loop = {
  id: 'l',
  type: 'loop',
  props: { dataSource: 'rows', itemVariable: 'row' },
  children: [
    { id: 'x', type: 'rich-text', content: '<p>{{row}}</p>' },
    { id: 'i', type: 'image', props: { src: '{{row}}', alt: '{{row}}' } },
    { id: 'b', type: 'button', content: '{{row}}', props: { href: 'https://example.com/?q={{row}}' } },
  ],
};
const rowsOf = (rows: Json): JsonObject => ({ rows });

void t.test(
  'around the size limit the check and the rendering agree, whatever the values are written as',
  async (t) => {
    const limits = { ...defaultLimits, htmlSizeBytesMax: 100_000, componentsExpandedMax: 100_000 };
    const template = { ...templateOf([loop], { variables: [{ name: 'rows', type: 'array' }] }) };
    const render = compiled(template, limits);
    let refused = 0;
    let accepted = 0;
    for (const letter of ['a', '&', '"', '<', 'é', '€', '漢', '𝒳', '\ud800', '/', ' ', '%']) {
      for (let count = 1; count <= 120; count += 7) {
        const input = {
          variables: rowsOf(Array.from({ length: count }, () => letter.repeat(40))),
          environment: { ...environment, company },
        };
        const [checked, rendered] = [verdict(() => render.check(input)), verdict(() => render(input))];
        t.equal(checked, rendered, `${count} rows of ${JSON.stringify(letter)}`);
        if (rendered === 'accepted') accepted += 1;
        else refused += 1;
      }
    }
    t.ok(refused > 20 && accepted > 20, `${refused} were refused, ${accepted} accepted`);
  },
);

void t.test('every component gives the same verdict for good and for wrong variables', async (t) => {
  const wrong: readonly JsonObject[] = [
    sinkVariables,
    {},
    ...Object.keys(sinkVariables).flatMap((name) =>
      [null, 7, 'x', true, [1], { a: 1 }].map((value) => ({ ...sinkVariables, [name]: value })),
    ),
  ];
  for (const [name, component] of Object.entries(everyComponent)) {
    const render = compiled(templateOf([component], { variables: sinkDefinitions }));
    for (const variables of wrong) {
      const input = { variables, environment: { ...environment, company } };
      const rendered = verdict(() => render(input));
      if (verdict(() => render.check(input)) !== rendered)
        t.fail(`${name} with ${JSON.stringify(variables)}: ${rendered}`);
    }
  }
  t.pass('all agree');
});

void t.test('no formatted value is longer than the check reckons', async (t) => {
  const [checking, full] = [checkingRuntimeOf(defaultLimits), runtimeOf(defaultLimits)];
  const locales = [
    'en-US',
    'de-DE',
    'fr-CH',
    'ar-EG',
    'hi-IN',
    'ja-JP',
    'th-TH',
    'he-IL',
    'ru-RU',
    'ta-IN',
    'my-MM',
    'vi-VN',
    'el-GR',
    'zu-ZA',
    'fa-IR',
    'bn-BD',
  ];
  const values: readonly Json[] = [
    0,
    -1.5,
    999_999_999_999_999,
    -123_456_789_012.75,
    1e15,
    -1e300,
    1e-7,
    '12.5',
    '2026-11-21',
    '2026-11-21T23:59:59.999+14:00',
    8.64e15,
    -8.64e15,
    'no number',
    null,
    true,
    ['a'],
    { a: 1 },
  ];
  const styles = ['full', 'long', 'medium', 'short'] as const;
  const formats: readonly ValueFormat[] = [
    { style: 'number' },
    { style: 'percent' },
    { style: 'currency', currency: 'EUR' },
    { style: 'currency', currency: 'XAF' },
    { style: 'number', pattern: '#,##0.00' },
    { style: 'number', minimumFractionDigits: 20, maximumFractionDigits: 20 },
    { style: 'currency', currency: 'USD', minimumFractionDigits: 20, maximumFractionDigits: 20 },
    { style: 'date', pattern: 'EEEE, d MMMM yyyy' },
    { style: 'datetime', pattern: 'EEEE MMMM d yyyy HH:mm:ss zzzz' },
    ...styles.map((style) => ({ style: 'date' as const, dateStyle: style })),
    ...styles.flatMap((date) =>
      styles.map((time) => ({ style: 'datetime' as const, dateStyle: date, timeStyle: time })),
    ),
  ];
  let longest = 0;
  for (const format of formats) {
    for (const locale of locales) {
      for (const zone of ['UTC', 'America/Argentina/Buenos_Aires', 'Pacific/Auckland']) {
        const [reckoned, written] = [checking.SHOWN({ format }, locale, zone), full.SHOWN({ format }, locale, zone)];
        for (const value of values) {
          const text = written(value);
          longest = Math.max(longest, text.length);
          if (text.length > reckoned(value).length)
            t.fail(`${JSON.stringify(format)} ${locale} ${zone} ${JSON.stringify(value)} is ${text.length} long`);
        }
      }
    }
  }
  t.ok(longest > 60, `the longest is ${longest}`);
});
