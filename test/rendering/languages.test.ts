/** Texts of a template in several languages: which of them is shown, and what is told of them on save. */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits as limits, type Limits } from '../../src/domain/core/limits.js';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import { environment } from '../support/rendering.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import {
  documentInLanguage,
  emailInLanguage,
  languageKey,
  textInLanguage,
} from '../../src/domain/rendering/languages.js';
import { fallbackTags, nameOfText, translatorOf } from '../../src/domain/rendering/translations.js';

const mail = {
  subject: 'Order {{number}}',
  locale: 'en-GB',
  variables: [
    { name: 'number', type: 'string' },
    { name: 'name', type: 'string', fallback: 'friend', filters: ['upper'] },
    {
      name: 'items',
      type: 'array',
      schema: { itemSchema: { properties: { note: { type: 'string', fallback: 'none' } } } },
    },
    { name: 'state', type: 'string' },
  ],
  schema: {
    props: { preheader: 'Thank you' },
    sections: [
      {
        id: 's',
        type: 'main',
        components: [
          { id: 'hello', type: 'rich-text', content: '<p>Hello {{name}}</p>' },
          {
            id: 'open',
            type: 'button',
            content: 'Open',
            props: { href: 'https://example.com/en', backgroundColor: '#000000' },
          },
          {
            id: 'if',
            type: 'conditional',
            props: { condition: '{{state}}', operator: '==', value: 'Open' },
            children: [
              {
                id: 'picture',
                type: 'image',
                props: { src: 'https://example.com/a.png', alt: 'A parcel', width: 80, height: 40 },
              },
            ],
          },
          {
            id: 'table',
            type: 'table',
            props: {
              dataSource: '{{items}}',
              itemVariable: 'item',
              emptyText: 'Nothing',
              columns: [{ header: 'Note', content: '{{item.note}}', footer: 'End' }],
            },
          },
          { id: 'rows', type: 'table', props: { rows: [['Sum', 3, { content: 'Sum' }]] } },
        ],
      },
    ],
  },
};

const german = {
  'Order {{number}}': 'Bestellung {{number}}',
  'Thank you': 'Danke',
  '<p>Hello {{name}}</p>': '<p>Hallo {{name}}</p>',
  Open: 'Öffnen',
  'https://example.com/en': 'https://example.com/de',
  'A parcel': 'Ein Paket',
  Nothing: 'Nichts',
  Note: 'Bemerkung',
  End: 'Ende',
  Sum: 'Summe',
  friend: 'Freund',
  none: 'keine',
};

const checked = (translations: unknown, own: Partial<Limits> = {}) =>
  checkEmailTemplate({ ...mail, translations }, { ...limits, ...own });

const faultsOf = (check: () => unknown): readonly string[] => {
  try {
    check();
    return [];
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return (fault.details.errors ?? [{ field: fault.code, message: fault.message }]).map(
      ({ field, message }) => `${field}: ${message}`,
    );
  }
};

void t.test('from the tag that is wanted to shorter ones', async (t) => {
  t.same(fallbackTags('de-AT'), ['de-AT', 'de']);
  t.same(fallbackTags('zh-Hant-TW'), ['zh-Hant-TW', 'zh-Hant', 'zh']);
  t.same(fallbackTags('de-AT-u-nu-latn'), ['de-AT-u-nu-latn', 'de-AT-u-nu', 'de-AT', 'de']);
  const translate = translatorOf(
    { de: { Hello: 'Hallo', Bye: 'Tschüss' }, 'de-AT': { Hello: 'Servus' }, fr: { Hello: 'Salut' } },
    'de-AT',
  );
  t.same(['Hello', 'Bye', 'Other', 'constructor'].map(translate), ['Servus', 'Tschüss', 'Other', 'constructor']);
  t.equal(
    translatorOf({ 'de-AT': { Hello: 'Servus' } }, 'de')('Hello'),
    'Hello',
    'a shorter tag does not look for longer ones',
  );
  t.equal(translatorOf(undefined, 'de')('Hello'), 'Hello');
});

void t.test('every text of a mail in its language, and nothing else', async (t) => {
  const { content, warnings } = checked({ de: german });
  t.same(warnings, []);
  const made = emailInLanguage(content, { locale: 'de-AT', timeZone: 'Europe/Vienna' });
  t.match(made, { subject: 'Bestellung {{number}}', locale: 'de-AT', timeZone: 'Europe/Vienna' });
  t.notOk('translations' in made);
  const text = JSON.stringify(made);
  for (const [own, translated] of Object.entries(german)) {
    t.ok(text.includes(JSON.stringify(translated)), translated);
    if (own !== 'Open') t.notOk(text.includes(JSON.stringify(own)), own);
  }
  t.match(made.schema.sections[0]?.components[2]?.props, { value: 'Open' }, 'what a condition compares with stays');
  t.match(made.variables[1], { fallback: 'Freund', filters: ['upper'] });
  const { translations: _, ...own } = content;
  t.same(emailInLanguage(content, undefined), own);
  t.same(emailInLanguage(content, { locale: 'en-GB' }), own, 'its own language');
  t.same(emailInLanguage(content, { timeZone: 'Asia/Tokyo' }), { ...own, timeZone: 'Asia/Tokyo' });
  t.same(
    emailInLanguage(content, { locale: 'fr' }),
    { ...own, locale: 'fr' },
    'of a language that it has not, only how values are written',
  );
});

void t.test('a document: names of pages, margins, watermark, its own name', async (t) => {
  const document = {
    variables: [{ name: 'number', type: 'string' }],
    schema: {
      outputFormats: ['pdf', 'excel'],
      pages: [
        {
          pageId: 'p',
          pageName: 'Sheet',
          pageSettings: {
            footer: { content: 'Page {{pageNumber}}', align: 'end' },
            watermark: { text: 'Copy', color: '#ff0000' },
            contents: { title: 'Contents', levels: 2 },
          },
          sections: [{ id: 's', type: 'main', components: [{ id: 'a', type: 'rich-text', content: 'Text' }] }],
        },
      ],
    },
  };
  const translations = {
    de: {
      Sheet: 'Blatt',
      'Page {{pageNumber}}': 'Seite {{pageNumber}}',
      Copy: 'Kopie',
      Contents: 'Inhalt',
      Text: 'Wort',
      'Invoice {{number}}': 'Rechnung {{number}}',
    },
  };
  const { content, warnings } = checkAttachmentTemplate({ ...document, translations }, limits, 'Invoice {{number}}');
  t.same(warnings, []);
  t.match(documentInLanguage(content, { locale: 'de' }).schema.pages[0], {
    pageName: 'Blatt',
    pageSettings: {
      footer: { content: 'Seite {{pageNumber}}', align: 'end' },
      watermark: { text: 'Kopie', color: '#ff0000' },
      contents: { title: 'Inhalt', levels: 2 },
    },
    sections: [{ components: [{ content: 'Wort' }] }],
  });
  t.equal(textInLanguage('Invoice {{number}}', content, { locale: 'de-CH' }), 'Rechnung {{number}}');
  t.equal(textInLanguage('Invoice {{number}}', content, undefined), 'Invoice {{number}}');
  const misplaced = { de: { ...translations.de, Text: 'Seite {{pageNumber}}' } };
  t.match(
    faultsOf(() => checkAttachmentTemplate({ ...document, translations: misplaced }, limits, 'Invoice {{number}}')),
    [
      /^translations\.de: schema\.pages\[0\]\.sections\[0\]\.components\[0\]\.content: \{\{pageNumber\}\} is known only in the header/,
    ],
  );
});

void t.test('a text with quotation marks and lines is named without them', async (t) => {
  const text = '<p style="color:#6b7280">\n  C:\\Sum\t{{number}}\r\n</p>';
  const name = "<p style='color:#6b7280'>   C:/Sum {{number}} </p>";
  t.equal(nameOfText(text), name);
  t.equal(nameOfText(name), name);
  t.equal(JSON.stringify(nameOfText('"\\\n\u0000\ud800')).length, 5 + 2, 'JSON needs no escape for it');
  const translated = '<p style="color:#6b7280">Summe {{number}}</p>';
  for (const key of [name, text]) t.equal(translatorOf({ de: { [key]: translated } }, 'de')(text), translated);
  const content = [{ id: 'p', type: 'rich-text', content: text }];
  const own = { ...mail, schema: { sections: [{ id: 's', type: 'main', components: content }] } };
  const given = { 'Order {{number}}': 'Bestellung {{number}}', friend: 'Freund', none: 'keine' };
  for (const key of [name, text]) {
    const { content: saved, warnings } = checkEmailTemplate(
      { ...own, translations: { de: { ...given, [key]: translated } } },
      limits,
    );
    t.same(warnings, []);
    t.same(
      Object.keys(saved.translations?.['de'] ?? {}),
      [...Object.keys(given), name],
      'stored as any reader of JSON can read it',
    );
    t.equal(emailInLanguage(saved, { locale: 'de' }).schema.sections[0]?.components[0]?.content, translated);
  }
});

void t.test('what a language lacks is told, and what the template has not', async (t) => {
  const { Open: _, 'Thank you': __, 'https://example.com/en': ___, ...rest } = german;
  const told = (translations: unknown) =>
    checked(translations).warnings.map(({ field, message }) => `${field}: ${message}`);
  t.same(told({ de: { ...rest, Close: 'Schließen' } }), [
    'translations.de: "Close" is no text of the template, so it is never shown',
    'translations.de: has no text for "Thank you" (schema.props.preheader), so the template\'s own is shown',
    'translations.de: has no text for "Open" (schema.sections[0].components[1].content), so the template\'s own is shown',
  ]);
  t.same(told({ de: german, 'de-AT': { Sum: 'Total' } }), [], 'the shorter tag has the others');
  t.same(told({ 'en-US': { 'A parcel': 'A package' } }), [], 'a variety of its own language');
  t.equal(told({ fr: {} }).length, Object.keys(german).length - 1, 'an address is no text that every language needs');
});

void t.test('a translation is checked as the text that it stands for', async (t) => {
  const refused = (more: Readonly<Record<string, string>>) => faultsOf(() => checked({ de: { ...german, ...more } }));
  t.match(refused({ 'https://example.com/en': 'javascript:alert(1)' }), [
    /^translations\.de: schema\.sections\[0\]\.components\[1\]\.props\.href: must be an address/,
  ]);
  t.match(refused({ 'Order {{number}}': 'Bestellung {{number' }), [/^translations\.de: subject: /]);
  t.match(refused({ 'Order {{number}}': 'zwei\nZeilen' }), [/^translations\.de: subject: must be a single line/]);
  t.match(refused({ 'Order {{number}}': ' ' }), [/^translations\.de: subject: is required/]);
  t.match(refused({ friend: '{{name}}' }), [/^translations\.de: variables\[1\]\.fallback: cannot hold/]);
  t.match(refused({ none: 'x'.repeat(501) }), [
    /^translations\.de: variables\[2\]\.schema\.itemSchema\.properties\.note\.fallback: must be text of 1 to 500/,
  ]);
  t.match(refused({ 'A parcel': 'Ein {{nubmer}}' }), [
    /^translations\.de: schema\.sections\[0\]\.components\[2\]\.children\[0\]\.props\.alt: \{\{nubmer\}\}: no variable "nubmer" is declared; did you mean "number"/,
  ]);
  t.match(checked({ de: { ...german, 'A parcel': '{{whatever}}' } }).warnings, [
    {
      field: 'translations.de',
      message: /children\[0\]\.props\.alt: \{\{whatever\}\}: no variable "whatever" is declared/,
    },
  ]);
});

void t.test('calculated words per language, in mails and documents', async (t) => {
  const words = `count === 1 ? "piece" : "pieces"`;
  const variables = [
    { name: 'count', type: 'number', isCalculated: true, expression: 'lines.length' },
    { name: 'word', type: 'string', isCalculated: true, expression: words },
    {
      name: 'lines',
      type: 'array',
      schema: {
        itemSchema: { properties: { label: { type: 'string', isCalculated: true, expression: '`no ${index + 1}`' } } },
      },
    },
  ];
  const components = [
    { id: 'text', type: 'rich-text', content: '<p>{{count}} {{word}}</p>' },
    {
      id: 'loop',
      type: 'loop',
      props: { dataSource: 'lines', itemVariable: 'item' },
      children: [{ id: 'line', type: 'rich-text', content: '{{item.label}}' }],
    },
  ];
  const sections = [{ id: 's', type: 'main', components }];
  const german = {
    'S {{word}}': 'B {{word}}',
    "count === 1 ? 'piece' : 'pieces'": '__LANGUAGE__ === "de" && count === 1 ? "Stück" : "Stücke"',
    '`no ${index + 1}`': '`Nr. ${index + 1}`',
    'lines.length': '0',
  };
  const given = { subject: 'S {{word}}', locale: 'en-GB', variables, schema: { sections } };
  const saved = checkEmailTemplate({ ...given, translations: { de: german } }, limits);
  t.same(
    saved.warnings.map(({ message }) => message),
    ['"lines.length" is no text of the template, so it is never shown'],
    'an expression without words is the same in each language; a constant in one is no constant without braces',
  );
  const render = (locale: string, lines: readonly JsonObject[]): string => {
    const { subject, text } = openRenderer({ limits }).compileEmail(emailInLanguage(saved.content, { locale }))({
      variables: { lines },
      environment,
    });
    return `${subject}: ${text.replace(/\s+/g, ' ').trim()}`;
  };
  t.equal(render('de-AT', [{}]), 'B Stück: 1 Stück Nr. 1');
  t.equal(render('de', [{}, {}]), 'B Stücke: 2 Stücke Nr. 1 Nr. 2');
  t.equal(render('en-GB', [{}]), 'S piece: 1 piece no 1');
  t.equal(render('fr', []), 'S pieces: 0 pieces');

  const pages = [{ pageId: 'p', pageName: 'P', sections }];
  const { content } = checkAttachmentTemplate(
    { locale: 'en-GB', variables, schema: { outputFormats: ['pdf', 'excel'], pages }, translations: { de: german } },
    limits,
  );
  for (const format of ['pdf', 'excel'] as const)
    t.match(
      JSON.stringify(
        compileDocument(documentInLanguage(content, { locale: 'de' }), limits)({ lines: [{}] }, environment, format),
      ),
      /1 Stück.*Nr\. 1/,
    );

  const refused = (expression: string): unknown => {
    try {
      return checkEmailTemplate(
        { ...given, translations: { de: { ...german, "count === 1 ? 'piece' : 'pieces'": expression } } },
        limits,
      );
    } catch (error) {
      return error instanceof DomainError ? error.details.errors : error;
    }
  };
  t.match(refused('cuont === 1 ? "Stück" : "Stücke"'), [
    { field: 'translations.de', message: /^variables\[1\]\.expression: uses "cuont".*did you mean "count"/ },
  ]);
  t.match(refused('word + "e"'), [
    { field: 'translations.de', message: /variables\[1\]\.expression: depends on itself: word → word/ },
  ]);
  t.match(refused('"Stück'), [{ field: 'translations.de', message: /variables\[1\]\.expression/ }]);
});

void t.test('the form', async (t) => {
  t.same(checked(null).content.translations, undefined);
  t.same(checked({}).content.translations, undefined);
  t.match(
    faultsOf(() => checked([])),
    [/^translations: must be an object with an object of texts for each language/],
  );
  t.match(
    faultsOf(() => checked({ 'de-at': {}, 'not a tag': {}, 'en-GB': {}, fr: 'x', it: { Open: 1 } })),
    [
      'translations.de-at: must be written de-AT',
      /^translations\.not a tag: must be a language tag/,
      /^translations\.en-GB: is the template's own `locale`/,
      /^translations\.fr: must be an object/,
      'translations.it: "Open" must be text',
    ],
  );
  t.match(
    faultsOf(() => checked({ de: german, fr: {} }, { templateLanguagesMax: 1 })),
    ['translations: has 2 languages, the maximum is 1'],
  );
  t.match(
    faultsOf(() => checked({ de: german }, { templateTextsMax: 3 })),
    [/^translations\.de: has 12 texts, the maximum is 3/],
  );
});

void t.test('each language may be as large as a template of one, all together as four', async (t) => {
  const rows = Array.from({ length: 50 }, (_, row) =>
    Array.from({ length: 20 }, (_, column) => `<b>${row}</b> <i>${column}</i> A`),
  );
  const large = {
    ...mail,
    schema: { sections: [{ id: 's', type: 'main', components: [{ id: 't', type: 'table', props: { rows } }] }] },
  };
  const inLanguages = (tags: readonly string[]) =>
    checkEmailTemplate(
      { ...large, translations: Object.fromEntries(tags.map((tag) => [tag, { 'Order of {{name}}': tag }])) },
      limits,
    );
  t.equal(Object.keys(inLanguages(['de', 'fr', 'it', 'es']).content.translations ?? {}).length, 4);
  t.match(
    faultsOf(() => inLanguages(['de', 'fr', 'it', 'es', 'pt', 'nl', 'da', 'sv', 'fi'])),
    [/^translations: up to [a-z]{2} the texts of all languages together have more than 20,000 tags/],
  );
});

void t.test('a short text that stands in many places grows no further than a body may', async (t) => {
  const rows = Array.from({ length: 1_000 }, () => Array.from({ length: 20 }, () => 'a'));
  const wide = {
    ...mail,
    schema: { sections: [{ id: 's', type: 'main', components: [{ id: 't', type: 'table', props: { rows } }] }] },
  };
  const translations = { de: { a: 'b'.repeat(100_000) } };
  const began = process.cpuUsage();
  t.match(
    faultsOf(() => checkEmailTemplate({ ...wide, translations }, limits)),
    [/./],
  );
  t.ok(process.cpuUsage(began).user < 5_000_000);
});

void t.test('what is hidden in a long text is found without going over it again and again', async (t) => {
  const content = '<{{&'.repeat(100_000);
  const hostile = {
    ...mail,
    schema: { sections: [{ id: 's', type: 'main', components: [{ id: 'x', type: 'rich-text', content }] }] },
  };
  const began = process.cpuUsage();
  faultsOf(() => checkEmailTemplate({ ...hostile, translations: { de: german } }, limits));
  t.ok(process.cpuUsage(began).user < 5_000_000);
});

void t.test('names that nothing declares, in every language, take no long time together', async (t) => {
  const alike = 'a'.repeat(80);
  const digits = (at: number): string => String(at).padStart(4, '0');
  const variables = Array.from({ length: 500 }, (_, at) => ({ name: `${alike}bbbb${digits(at)}`, type: 'string' }));
  const paths = Array.from({ length: 200 }, (_, at) => `{{${alike}${digits(at)}cccc}}`).join(' ');
  const template = {
    subject: 'x',
    variables,
    schema: { sections: [{ id: 's', type: 'main', components: [{ id: 'a', type: 'rich-text', content: 'Hello' }] }] },
    translations: Object.fromEntries(
      [
        'de',
        'fr',
        'it',
        'es',
        'pt',
        'nl',
        'da',
        'sv',
        'fi',
        'nb',
        'pl',
        'cs',
        'hu',
        'ro',
        'el',
        'tr',
        'uk',
        'lt',
        'lv',
        'et',
      ].map((tag) => [tag, { Hello: `${tag} ${paths}`, x: tag }]),
    ),
  };
  const began = process.cpuUsage();
  t.equal(checkEmailTemplate(template, limits).warnings.length, 100);
  const { user } = process.cpuUsage(began);
  t.ok(user < 3_000_000, `${Math.round(user / 1_000)} ms`);
});

void t.test('the name of a language', async (t) => {
  const keys = [undefined, {}, { locale: 'de' }, { timeZone: 'UTC' }, { locale: 'de', timeZone: 'UTC' }].map(
    languageKey,
  );
  t.same(keys, ['', '', ':de:', '::UTC', ':de:UTC']);
});
