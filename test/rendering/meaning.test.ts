/** The meaning of paths, texts, conditions, dates, formats, constants, addresses and colours. */
import t from 'tap';
import { substituterOf } from '../../src/domain/rendering/fill/shown-value.js';
import fc from 'fast-check';
import type { Json } from '../../src/domain/core/json.js';
import { holds, type Operator } from '../../src/domain/rendering/scope/conditions.js';
import { constantsOf } from '../../src/domain/rendering/scope/constants.js';
import {
  cssBorder,
  cssBox,
  cssColor,
  cssFontFamily,
  cssLength,
  cssLineHeight,
} from '../../src/domain/rendering/css.js';
import { parseDate } from '../../src/domain/rendering/scope/dates.js';
import { formatterOf, writeValue } from '../../src/domain/rendering/scope/formats.js';
import { isKey, parsePath, readPath, writePath, type Path } from '../../src/domain/rendering/scope/path.js';
import { parsePathText, parseTemplatedText } from '../../src/domain/rendering/fill/templated-text.js';
import { isLinkBase, isOwnScheme, safeImage, safeLink } from '../../src/domain/rendering/addresses.js';
import { company } from '../support/rendering.js';

const utc = { locale: 'en-US', timeZone: 'UTC' };

void t.test('paths', async (t) => {
  const good: [string, (string | number)[]][] = [
    ['name', ['name']],
    ['customer.name', ['customer', 'name']],
    ['order.items[0].name', ['order', 'items', 0, 'name']],
    ['a[1][2].b-c', ['a', 1, 2, 'b-c']],
    ['größe.ñ_1', ['größe', 'ñ_1']],
  ];
  for (const [text, path] of good) t.same(parsePath(text, 20), { ok: true, path }, text);
  for (const text of [
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    'a[',
    'a[]',
    'a[x]',
    'a[-1]',
    'a[1',
    'a[1]b',
    '1a',
    'a b',
    '__proto__',
    'a.__proto__',
    'a'.repeat(101),
  ]) {
    t.equal(parsePath(text, 20).ok, false, text);
  }
  t.match(parsePath('a.b.c', 2), { ok: false, message: /more than 2 segments/ });
  t.equal(writePath(['order', 'items', 0, 'name']), 'order.items[0].name');

  const keys: readonly (readonly [text: string, path: Path, canonical?: string])[] = [
    ['order["1st item"]', ['order', '1st item']],
    ["order['1st item'].name", ['order', '1st item', 'name'], 'order["1st item"].name'],
    ['["a.b"]', ['a.b']],
    ['["2024"][0]', ['2024', 0]],
    ['order[ "state" ]', ['order', 'state'], 'order.state'],
    ['["order"].state', ['order', 'state'], 'order.state'],
    ['a["x]y"]["[0]"]', ['a', 'x]y', '[0]']],
    ['a["say \\"hi\\""]', ['a', 'say "hi"']],
    [`a["it's"]`, ['a', "it's"]],
    ["a['it\\'s']", ['a', "it's"], `a["it's"]`],
    ['a["R\\u0026D \\u007b\\u007d \\u003cb\\u003e"]', ['a', 'R&D {} <b>']],
    ['a["back\\\\slash \\n"]', ['a', 'back\\slash \n']],
    ['a["größe 名前 🎁"]', ['a', 'größe 名前 🎁']],
    ['a["constructor"]', ['a', 'constructor'], 'a.constructor'],
  ];
  for (const [text, path, canonical = text] of keys) {
    t.same(parsePath(text, 20), { ok: true, path }, text);
    t.equal(writePath(path), canonical);
  }
  for (const [text, message] of [
    ['a["__proto__"]', /not a key/],
    ['["__proto__"]', /not a key/],
    ['a["\\u005f_proto__"]', /not a key/],
    ['a[""]', /not a key/],
    ['a["  "]', /not a key/],
    [`a["${'x'.repeat(201)}"]`, /not a key/],
    ['a["x', /does not end/],
    ['a["x]', /does not end/],
    ['a["x\']', /does not end/],
    ['a["x"', /does not end/],
    ['a["x"]b', /goes on after/],
    ['a["x\\q"]', /no escape/],
    ['a["<b>"]', /write it as \\u003c/],
    ['a["R&D"]', /write it as \\u0026/],
    ['[0]', /lacks a name/],
  ] as const)
    t.match(parsePath(text, 20), { ok: false, message }, text);
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }).filter(isKey), fc.nat({ max: 999_999 })),
        {
          minLength: 1,
          maxLength: 5,
        },
      ),
      (path) => {
        const whole = ['root', ...path];
        const written = writePath(whole);
        t.same(parsePath(written, 20), { ok: true, path: whole });
        t.same(parseTemplatedText(`<a title="{{${written}}}">{{ ${written} }}</a>`, 20).parts.length, 5);
      },
    ),
  );

  const values = JSON.parse(
    '{"a": {"b": [1, {"c": "x"}]}, "s": "text", "n": null, "__proto__": {"polluted": 1}}',
  ) as Json;
  t.equal(readPath(values, ['a', 'b', 1, 'c']), 'x');
  t.equal(readPath(values, ['a', 'b', 'length']), 2);
  for (const path of [
    ['a', 'x'],
    ['a', 'b', 9],
    ['a', 'b', 'map'],
    ['s', 'length'],
    ['s', 0],
    ['n', 'x'],
    ['a', 'constructor'],
    ['a', 'toString'],
    ['a', 'hasOwnProperty', 'call'],
    ['a', 0],
  ]) {
    t.equal(readPath(values, path), undefined, path.join('.'));
  }
});

void t.test('what stands in a comment of HTML is text', (t) => {
  const parsed = (text: string) => parseTemplatedText(text, 20);
  const b = { path: ['b'], source: 'b' };
  for (const comment of [
    '<!-- {{a b}} -->',
    '<!--{{#if x}}-->',
    '<!--[if mso]>{{ <![endif]-->',
    '<!-- {{ --><!-- }} {{a -->',
    '<!-- <a title="-->',
  ])
    t.same(parsed(`x${comment}{{b}}`), { parts: [`x${comment}`, b], faults: [] }, comment);
  t.same(parsed('<!-- {{a}} -->{{b}}<!-- {{c}} -->').parts, ['<!-- {{a}} -->', b, '<!-- {{c}} -->']);
  for (const outside of ['<!-->', '<!--->', '<a title="<!--">', "<a title='<!-- x'>"])
    t.same(parsed(`${outside}{{b}}-->`).parts, [outside, b, '-->'], `${outside} opens no comment`);
  t.same(parsed('<!-- {{b}}').parts, ['<!-- ', b], 'a comment without an end');
  t.match(parsed('<!-- x --><p>{{a b}}</p>').faults, [/a blank behind "a"/]);
  for (const piece of ['<!--{{a-->', '<!--', '<a "', "<a '<!--"])
    t.ok(parsed(`${piece.repeat(50_000)}-->`), 'in linear time');
  t.end();
});

void t.test('a placeholder that is refused names the character that is hard to see', (t) => {
  const names: readonly (readonly [string, string])[] = [
    ['{{first\u00a0name}}', 'a no-break space (U+00A0) behind "first"'],
    ['{{first&nbsp;name}}', 'a no-break space (U+00A0) behind "first"'],
    ['{{&nbsp;name}}', 'a no-break space (U+00A0) at its beginning'],
    ['{{first&#8239;name}}', 'a no-break space (U+202F) behind "first"'],
    ['{{first name}}', 'a blank behind "first"'],
    ['{{first\tname}}', 'a tab (U+0009) behind "first"'],
    ['{{first\nname}}', 'a line break (U+000A) behind "first"'],
    ['{{first\u2003name}}', 'a blank of another width (U+2003) behind "first"'],
    ['{{na\u200bme}}', 'a zero-width space (U+200B) behind "na"'],
    ['{{na&#x200B;me}}', 'a zero-width space (U+200B) behind "na"'],
    ['{{a.na\u200dme}}', 'a zero-width joiner (U+200D) behind "a.na"'],
    ['{{na\u00adme}}', 'a soft hyphen (U+00AD) behind "na"'],
    ['{{\u200ename}}', 'an invisible mark of direction (U+200E) at its beginning'],
    ['{{na\u0007me}}', 'an invisible character (U+0007) behind "na"'],
    ['{{“name”}}', 'a curly quotation mark (U+201C) at its beginning'],
    ['{{a[“1st item”]}}', 'a curly quotation mark (U+201C) behind "a["'],
    ['{{a[&bdquo;x&ldquo;]}}', 'a curly quotation mark (U+201E) behind "a["'],
    ['{{a\u2013b}}', 'a dash that is not "-" (U+2013) behind "a"'],
  ];
  for (const [text, name] of names) {
    const [fault = ''] = parseTemplatedText(text, 20).faults;
    t.ok(fault.includes(` has ${name}: names are letters`), `${JSON.stringify(text)}: ${fault}`);
  }
  t.match(parsePathText('first\u00a0name', 20), { ok: false, message: /has a no-break space/ }, 'a data source too');
  t.same(parseTemplatedText('{{\u00a0name\ufeff}}', 20).faults, [], 'at the ends they are no part of the name');
  t.end();
});

void t.test('templated text', async (t) => {
  t.same(parseTemplatedText('Hi {{ name }}, {{order.items[0].name}}! }} {', 20), {
    parts: [
      'Hi ',
      { path: ['name'], source: 'name' },
      ', ',
      { path: ['order', 'items', 0, 'name'], source: 'order.items[0].name' },
      '! }} {',
    ],
    faults: [],
  });
  const faults: [string, RegExp][] = [
    ['{{name', /character 1 is never closed/],
    ['ab {{}}', /is empty/],
    ['{{  }}', /is empty/],
    ['{{{name}}}', /two on each side/],
    ['{{#if x}}', /conditional or a loop component/],
    ['{{/each}}', /conditional or a loop component/],
    ['{{a + b}}', /is not a path/],
    ['{{a | upper}}', /is not a path/],
    ['{{fn()}}', /is not a path/],
    ['{{<b>name</b>}}', /markup/],
    ['{{a..b}}', /lacks a name/],
    ['{{items[x]}}', /is not an index/],
    ['{{order["1st item]}}', /does not end with its quotation mark/],
    ['{{order[“1st item”]}}', /a curly quotation mark/],
    ['{{order["a" + "b"]}}', /does not end with its quotation mark/],
    ['{{order["a"] > 10}}', /what is compared stands in a conditional/],
    ['{{order["a"] || "b"}}', /is not a path|what is compared/],
    ['{{__NO_SUCH__}}', /not a global constant/],
    ['{{__proto__}}', /not a global constant|not a name/],
  ];
  for (const [text, message] of faults) t.match(parseTemplatedText(text, 20).faults[0], message, text);
  t.equal(parseTemplatedText('{{}}{{}}', 20).faults.length, 2, 'every fault is named');
  t.same(parsePathText(' items ', 20), { ok: true, path: ['items'] });
  t.same(parsePathText('{{ order.items }}', 20), { ok: true, path: ['order', 'items'] });
  t.same(parsePathText('{{ order["line items"] }}', 20), { ok: true, path: ['order', 'line items'] });
  t.same(parsePathText('order["line items"]', 20), { ok: true, path: ['order', 'line items'] });
  t.same(
    parseTemplatedText('{{a[&quot;x y&quot;]}}{{a[&#39;x y&#39;]}}', 20).parts.map(
      (part) => typeof part === 'object' && part.path,
    ),
    [
      ['a', 'x y'],
      ['a', 'x y'],
    ],
  );
  t.equal(parsePathText('x {{items}}', 20).ok, false);
  const huge = '{{'.repeat(500_000);
  t.ok(parseTemplatedText(huge, 20).faults.length > 0, 'a megabyte of braces is answered');
  fc.assert(
    fc.property(fc.string(), (text) => {
      const { parts, faults } = parseTemplatedText(text, 20);
      return (
        faults.length > 0 ||
        parts.map((part) => (typeof part === 'string' ? part : `{{${part.source}}}`)).join('').length <= text.length
      );
    }),
  );
});

void t.test('the eleven operators', async (t) => {
  const table: [Json | undefined, Operator, Json | undefined, boolean][] = [
    [10, '==', '10', true],
    ['10.0', '==', 10, true],
    ['a', '==', 'a', true],
    ['a', '==', 'A', false],
    [true, '==', 'true', true],
    [false, '==', 'false', true],
    [undefined, '==', null, true],
    [null, '==', 'x', false],
    [0, '==', '', false],
    [0, '==', false, false],
    ['2026-11-21', '==', '2026-11-21T00:00:00Z', true],
    ['1', '==', '1.0', false],
    [[1], '==', [1], false],
    ['0x10', '==', 16, false],
    [10, '!=', '11', true],
    ['a', '!=', 'a', false],
    [undefined, '!=', 'x', true],
    [undefined, '!=', null, false],
    [10, '>', 9, true],
    ['10', '>', '9', true],
    ['10', '>', 9, true],
    ['b', '>', 'a', true],
    [undefined, '>', 0, false],
    [null, '>', -1, false],
    ['2026-11-21', '>', '2026-11-20T23:59:59Z', true],
    [true, '>', 0, false],
    [5, '>', 'abc', false],
    [1, '<', 2, true],
    ['2', '<', '10', true],
    ['2026-01-01T01:00:00+02:00', '<', '2026-01-01T00:00:00Z', true],
    [[], '<', 1, false],
    [2, '>=', 2, true],
    [2, '>=', '2', true],
    [1, '>=', 2, false],
    [undefined, '>=', undefined, false],
    [2, '<=', 2, true],
    [3, '<=', 2, false],
    ['a', '<=', 'b', true],
    [null, '<=', 1, false],
    ['hello world', 'contains', 'lo w', true],
    ['hello', 'contains', 'H', false],
    [['a', 'b'], 'contains', 'b', true],
    [[1, 2], 'contains', '2', true],
    [['a'], 'contains', 'x', false],
    [1234, 'contains', '23', true],
    [undefined, 'contains', 'x', false],
    [{ a: 1 }, 'contains', 'a', false],
    ['hello', 'startsWith', 'he', true],
    ['hello', 'startsWith', 'lo', false],
    [1234, 'startsWith', 12, true],
    [null, 'startsWith', '', false],
    ['hello', 'endsWith', 'lo', true],
    ['hello', 'endsWith', 'he', false],
    ['', 'exists', undefined, true],
    [0, 'exists', undefined, true],
    [false, 'exists', undefined, true],
    [null, 'exists', undefined, false],
    [undefined, 'exists', undefined, false],
    ['', 'isEmpty', undefined, true],
    [[], 'isEmpty', undefined, true],
    [{}, 'isEmpty', undefined, true],
    [null, 'isEmpty', undefined, true],
    [undefined, 'isEmpty', undefined, true],
    [0, 'isEmpty', undefined, false],
    [false, 'isEmpty', undefined, false],
    [' ', 'isEmpty', undefined, false],
    [[0], 'isEmpty', undefined, false],
  ];
  for (const [left, operator, right, expected] of table) {
    t.equal(holds(operator, left, right), expected, `${JSON.stringify(left)} ${operator} ${JSON.stringify(right)}`);
  }
  const value = fc.oneof(fc.jsonValue() as fc.Arbitrary<Json>, fc.constant(undefined));
  fc.assert(fc.property(value, value, (a, b) => holds('==', a, b) !== holds('!=', a, b)));
  fc.assert(fc.property(value, value, (a, b) => holds('==', a, b) === holds('==', b, a)));
  fc.assert(fc.property(value, value, (a, b) => holds('>', a, b) === holds('<', b, a)));
  fc.assert(fc.property(value, value, (a, b) => !(holds('>', a, b) && holds('<=', a, b))));
});

void t.test('dates', async (t) => {
  t.same(parseDate('2026-11-21'), { epochMs: Date.UTC(2026, 10, 21), dateOnly: true });
  t.same(parseDate('0050-01-02')?.epochMs, Date.parse('0050-01-02'), 'a year below 100 is that year');
  t.same(parseDate('2024-02-29T23:59:60.5-05:30')?.epochMs, Date.UTC(2024, 2, 1, 5, 30, 0, 500));
  for (const wrong of ['2026-02-29', '1900-02-29', '2026-00-10', '2026-13-10', '2026-04-31', '2026-01-00'])
    t.equal(parseDate(wrong), undefined, wrong);
  t.same(parseDate('2026-11-21T09:30'), { epochMs: Date.UTC(2026, 10, 21, 9, 30), dateOnly: false });
  t.same(parseDate('2026-11-21T09:30:05.123456Z'), { epochMs: Date.UTC(2026, 10, 21, 9, 30, 5, 123), dateOnly: false });
  t.same(parseDate('2026-11-21T09:30:00+02:00'), { epochMs: Date.UTC(2026, 10, 21, 7, 30), dateOnly: false });
  t.same(parseDate('2024-02-29'), { epochMs: Date.UTC(2024, 1, 29), dateOnly: true });
  for (const text of [
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-32',
    '21.11.2026',
    '2026-1-1',
    '2026-11-21T24:00',
    '2026-11-21T10:60',
    '20261121',
    'yesterday',
    '2026-11-21T10:00:00+25:00',
    '',
  ]) {
    t.equal(parseDate(text), undefined, text);
  }
  fc.assert(
    fc.property(
      fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
      (date) => parseDate(date.toISOString())?.epochMs === date.getTime(),
    ),
  );
});

void t.test('formats', async (t) => {
  const write = (value: Json, format: Parameters<typeof formatterOf>[0], language = utc): string =>
    formatterOf(format, language)(value).replace(/[\u00a0\u202f]/g, ' ');
  t.equal(write(1234.5, { style: 'number' }), '1,234.5');
  t.equal(write('1234.5', { style: 'number', minimumFractionDigits: 2 }), '1,234.50');
  t.equal(write(1234.5, { style: 'currency', currency: 'EUR' }), '€1,234.50');
  t.equal(write(1234.5, { style: 'currency', currency: 'EUR', locale: 'de-DE' }), '1.234,50 €');
  t.equal(write(1234.5, { style: 'currency', currency: 'JPY' }), '¥1,235');
  t.equal(write(0.256, { style: 'percent', maximumFractionDigits: 1 }), '25.6%');
  t.equal(write(1234.567, { style: 'number', pattern: '#,##0.00' }), '1,234.57');
  t.equal(write(7, { style: 'number', pattern: '000' }), '007');
  t.equal(
    write(0.3 - 0.1 - 0.2, { style: 'currency', currency: 'EUR' }),
    '€0.00',
    'what is rounded to zero has no sign',
  );
  t.equal(write(-0, { style: 'percent' }), '0%');
  t.equal(write(-0.004, { style: 'number', pattern: '#,##0.00' }), '0.00');
  t.equal(write(-0.005, { style: 'currency', currency: 'EUR' }), '-€0.01');
  t.equal(write('2026-11-21', { style: 'date', dateStyle: 'long' }), 'November 21, 2026');
  t.equal(
    write('2026-11-21T23:30:00Z', {
      style: 'datetime',
      dateStyle: 'short',
      timeStyle: 'short',
      timeZone: 'Europe/Berlin',
      locale: 'de-DE',
    }),
    '22.11.26, 00:30',
  );
  t.equal(
    write('2026-11-21', { style: 'date', dateStyle: 'short', timeZone: 'America/Los_Angeles' }),
    '11/21/26',
    'a day has no time zone',
  );
  t.equal(write('2026-11-21T09:05:07Z', { style: 'time' }), '9:05 AM');
  t.equal(
    write('2026-11-21T21:05:07Z', {
      style: 'datetime',
      pattern: "yyyy-MM-dd HH:mm:ss 'o''clock' h a EEE EEEE d MMM MMMM yy",
    }),
    "2026-11-21 21:05:07 o'clock 9 PM Sat Saturday 21 Nov November 26",
  );
  t.equal(
    write('2026-11-21T23:30:00Z', {
      style: 'datetime',
      pattern: 'd. MMMM HH:mm',
      locale: 'de-DE',
      timeZone: 'Europe/Berlin',
    }),
    '22. November 00:30',
  );
  t.equal(write(0, { style: 'date', pattern: 'yyyy' }), '1970');
  for (const [locale, pattern, text] of [
    ['ru', 'LLLL yyyy', 'март 2026'],
    ['ru', 'MMMM yyyy', 'март 2026'],
    ['ru', 'd MMMM yyyy', '5 марта 2026'],
    ['ru', 'd LLLL', '5 март'],
    ['pl', 'MMMM yyyy', 'marzec 2026'],
    ['cs', 'MMMM yyyy', 'březen 2026'],
    ['uk', 'MMMM yyyy', 'березень 2026'],
    ['el', 'MMMM yyyy', 'Μάρτιος 2026'],
    ['hr', 'MMMM yyyy', 'ožujak 2026'],
    ['fi', 'MMMM yyyy', 'maaliskuu 2026'],
    ['cs', 'd MMM yyyy', '5 bře 2026'],
    ['sk', 'd MMM yyyy', '5 mar 2026'],
    ['fi', 'd MMM yyyy', '5 maalis 2026'],
    ['ja', 'MMM', '3月'],
    ['zh', 'MMM', '3月'],
    ['en-US', 'MMM d', 'Mar 5'],
    ['bg', 'd MMM yyyy', '5 март 2026'],
    ['lt', 'd MMM yyyy', '5 kov. 2026'],
    ['lt', 'LLL', 'kov.'],
    ['ja', 'd MMM', '5 3月'],
    ['de', 'EEE, d. MMM', 'Do., 5. März'],
    ['de', 'EEE', 'Do'],
    ['lv', 'EEEE, d. MMMM', 'ceturtdiena, 5. marts'],
    ['en-US', 'EEEEE MMMMM d', 'T M 5'],
    ['uk', 'LLLLL', 'Б'],
    ['en-US', 'y G', '2026 AD'],
    ['de', 'y GGGG', '2026 n. Chr.'],
    ['en-US', 'GGGGG', 'A'],
    // The calendar and the digits of the language.
    ['fa-IR', 'd MMMM yyyy', '۱۴ اسفند ۱۴۰۴'],
    ['fa-IR', 'yyyy/MM/dd', '۱۴۰۴/۱۲/۱۴'],
    ['fa-IR', 'EEEE yy', 'پنجشنبه ۰۴'],
    ['fa-IR', 'y GGGG', '۱۴۰۴ هجری شمسی'],
    ['fa-IR-u-ca-gregory', 'yyyy/MM/dd', '۲۰۲۶/۰۳/۰۵'],
    ['fa-IR-u-nu-latn', 'yyyy/MM/dd', '1404/12/14'],
    ['ar-SA', 'd MMMM yyyy', '٥ مارس ٢٠٢٦'],
    ['ar-SA-u-ca-islamic-umalqura', 'd MMMM yyyy', '١٦ رمضان ١٤٤٧'],
    ['ar-AE', 'd MMMM yyyy', '5 مارس 2026'],
    ['th-TH', 'd MMMM yyyy', '5 มีนาคม 2569'],
    ['th-TH-u-nu-thai', 'dd/MM/yy', '๐๕/๐๓/๖๙'],
    ['ur-IN', 'd MMMM yyyy', '۵ مارچ ۲۰۲۶'],
    ['mr-IN', 'd MMMM yyyy', '५ मार्च २०२६'],
    ['bn-BD', 'dd.MM.yyyy', '০৫.০৩.২০২৬'],
    ['hi-u-nu-deva', 'd MMM yyyy', '५ मार्च २०२६'],
    ['zh-u-nu-hanidec', 'yyyy年M月d日 MMMM', '二〇二六年三月五日 三月'],
    ['ja-JP-u-ca-japanese', 'Gy年M月d日', '令和8年3月5日'],
    ['zh-TW-u-ca-roc', 'Gy年M月d日', '民國115年3月5日'],
    ['he-IL-u-ca-hebrew', 'd MMMM y', 'ט״ז אדר תשפ״ו'],
    ['en-u-ca-hebrew', 'd MMMM yyyy', '16 Adar 5786'],
    ['zh-u-ca-chinese', 'y MMMM d', '2026 正月 17'],
    ['am-ET-u-ca-ethiopic', 'd MMMM yyyy', '26 የካቲት 2018'],
    ['en-u-ca-iso8601', 'd MMMM yyyy', '5 March 2026'],
  ] as const)
    t.equal(write('2026-03-05', { style: 'date', pattern, locale }), text, `${locale} ${pattern}`);
  for (const [day, locale, pattern, text] of [
    ['2024-02-20', 'en-u-ca-hebrew', 'd MMMM yyyy', '11 Adar I 5784'],
    ['2024-03-20', 'en-u-ca-hebrew', 'd MMM, M', '10 Adar II, Adar II'],
    ['2025-07-28', 'zh-u-ca-chinese', 'y MMMM d', '2025 闰六月 4'],
    ['2025-07-28', 'zh-u-ca-chinese', 'M', '闰6'],
    ['2025-07-28', 'en-u-ca-chinese', 'MM LLLL', '6bis Sixth Monthbis'],
    ['2025-12-31', 'fa-IR', 'd LLLL', '۱۰ دی'],
  ] as const)
    t.equal(write(day, { style: 'date', pattern, locale }), text, `${day} ${locale} ${pattern}`);
  t.equal(
    write('2026-03-20T21:30:00Z', {
      style: 'datetime',
      pattern: 'd MMMM HH:mm',
      locale: 'fa-IR',
      timeZone: 'Asia/Tehran',
    }),
    '۱ فروردین ۰۱:۰۰',
    'the day of the time zone in the calendar of the language',
  );
  t.equal(write('2026-03-05T09:05:00Z', { style: 'time', pattern: 'HH:mm', locale: 'bn-BD' }), '০৯:০৫');
  for (const locale of [
    ...[
      'en-US',
      'fa-IR',
      'ar-SA',
      'ar-EG',
      'ar-AE',
      'th-TH',
      'ur-PK',
      'ur-IN',
      'mr-IN',
      'bn-BD',
      'ne-NP',
      'my-MM',
      'ckb-IQ',
      'ps-AF',
    ],
    ...[
      'ar-SA-u-ca-islamic-umalqura',
      'ja-JP-u-ca-japanese',
      'he-IL-u-ca-hebrew',
      'en-u-ca-hebrew-nu-thai',
      'fa-IR-u-ca-gregory-nu-latn',
    ],
  ])
    for (const day of ['2026-03-05', '2024-02-29', '2025-12-31']) {
      const styled = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', dateStyle: 'long' }).formatToParts(
        new Date(day),
      );
      const year = styled.find(({ type }) => type === 'year')?.value;
      const number = styled.find(({ type }) => type === 'day')?.value ?? '';
      const money = new Intl.NumberFormat(locale).format(7);
      t.equal(write(day, { style: 'date', pattern: 'y', locale }), year, `${locale}: the year of both`);
      const shown = write(day, { style: 'date', pattern: 'd', locale });
      t.ok(
        number === shown || number === write(day, { style: 'date', pattern: 'dd', locale }),
        `${locale}: the day of both`,
      );
      if (!locale.startsWith('he'))
        t.equal(
          write('2026-07-17T07:07:07Z', { style: 'time', pattern: 'm', locale }),
          money,
          `${locale}: the digits of numbers`,
        );
    }
  t.equal(write('not a number', { style: 'currency', currency: 'EUR' }), 'not a number');
  t.equal(write('not a date', { style: 'date' }), 'not a date');
  t.equal(write(5, { style: 'currency', currency: 'nonsense' }), '5', 'a format that Intl refuses writes the value');
  const styles = [
    { style: 'currency', currency: 'EUR' },
    { style: 'currency', currency: 'USD', locale: 'de-CH' },
    { style: 'currency', currency: 'INR', locale: 'en-IN' },
    { style: 'currency', currency: 'PLN', locale: 'pl-PL' },
    { style: 'currency', currency: 'JPY', locale: 'ja-JP' },
    { style: 'currency', currency: 'EGP', locale: 'ar-EG' },
    { style: 'number', locale: 'fr-FR' },
    { style: 'number', minimumFractionDigits: 0, maximumFractionDigits: 10, locale: 'pt-PT' },
    { style: 'number', minimumFractionDigits: 0, maximumFractionDigits: 10, locale: 'ar-EG' },
    { style: 'number', minimumFractionDigits: 1, maximumFractionDigits: 3, locale: 'hi-IN' },
    { style: 'number', minimumFractionDigits: 2, maximumFractionDigits: 2, locale: 'es-ES' },
    { style: 'currency', currency: 'EUR', locale: 'pt-PT' },
    { style: 'currency', currency: 'CHF', locale: 'de-CH' },
    { style: 'currency', currency: 'ILS', locale: 'he-IL' },
    { style: 'currency', currency: 'EUR', locale: 'nl-NL' },
    { style: 'percent' },
    { style: 'percent', maximumFractionDigits: 1, locale: 'en-GB' },
    { style: 'percent', minimumFractionDigits: 2, maximumFractionDigits: 2, locale: 'de-DE' },
    { style: 'percent', minimumFractionDigits: 3, maximumFractionDigits: 3, locale: 'es-ES' },
    { style: 'percent', locale: 'tr-TR' },
    { style: 'percent', locale: 'fa-IR' },
  ] as const;
  for (const format of styles) {
    const { locale = 'en-US', style, ...rest } = { locale: 'en-US', ...format };
    const intl = new Intl.NumberFormat(locale, {
      ...(style === 'number' ? {} : { style }),
      ...rest,
      signDisplay: 'negative',
    });
    const ours = formatterOf(format, utc);
    fc.assert(
      fc.property(
        fc.oneof(
          fc.double({ noNaN: true, min: -1e12, max: 1e12 }),
          fc.integer().map((cents) => cents / 100),
          fc.integer({ min: -200_000, max: 200_000 }).map((parts) => parts / 100_000),
          fc.integer(),
          fc.constantFrom(0, -0, -0.001, 999.995, -999_999_999.99, 1e9, -1e9, Number.MIN_VALUE),
        ),
        (value) => {
          if (ours(value) !== intl.format(value)) throw new Error(`${value}: ${ours(value)} and ${intl.format(value)}`);
        },
      ),
      { numRuns: 500 },
    );
  }
});

void t.test('dates that are written again and again are those of Intl', async () => {
  const styles = [
    { style: 'date', dateStyle: 'long' },
    { style: 'time', timeStyle: 'short' },
    { style: 'datetime', dateStyle: 'short', timeStyle: 'short' },
    { style: 'datetime', dateStyle: 'medium', timeStyle: 'medium' },
  ] as const;
  // Clocks that are odd minutes away from UTC, change at odd minutes, or were seconds away from it.
  const zones = ['UTC', 'Europe/Lisbon', 'Asia/Kathmandu', 'America/St_Johns', 'Africa/Monrovia', 'Europe/Amsterdam'];
  for (const { style, ...rest } of styles)
    for (const timeZone of zones) {
      const ours = formatterOf({ style, ...rest }, { locale: 'en-GB', timeZone });
      const intl = new Intl.DateTimeFormat('en-GB', { timeZone, ...rest });
      const around = fc.constantFrom('1936-12-31T23:40:28', '1972-01-07T00:44:30', '2006-10-29T02:31:00', '2026-11-21');
      fc.assert(
        fc.property(around, fc.array(fc.integer({ min: -200_000, max: 200_000 }), { minLength: 2 }), (day, aways) => {
          for (const away of aways) {
            const ms = Date.parse(day.length === 10 ? day : `${day}Z`) + away;
            const [written, expected] = [ours(ms), intl.format(ms)];
            if (written !== expected) throw new Error(`${timeZone}, ${ms}: ${written} and ${expected}`);
          }
        }),
        { numRuns: 30 },
      );
    }
});

void t.test('values without a format', async (t) => {
  const table: [Json | undefined, string][] = [
    ['a\x00b\x1f', 'ab'],
    ['a\tb\nc', 'a\tb\nc'],
    [12, '12'],
    [true, 'true'],
    [null, ''],
    [undefined, ''],
    [['a', 1, null], 'a, 1, '],
    [{ a: 1 }, '{"a":1}'],
    [[[1]], '[[1]]'],
  ];
  for (const [value, text] of table) t.equal(writeValue(value), text, JSON.stringify(value));
});

void t.test('global constants', async (t) => {
  const at = (time: string, locale = 'en-US', timeZone = 'UTC') =>
    constantsOf({ locale, timeZone })({ at: time, company });
  t.match(at('2026-11-21T23:30:00.000Z'), {
    __CURRENT_DATE__: '2026-11-21',
    __CURRENT_YEAR__: 2026,
    __CURRENT_MONTH__: 11,
    __CURRENT_DAY__: 21,
    __CURRENT_DAY_NAME__: 'Saturday',
    __COMPANY_NAME__: company.name,
    __COMPANY_LEGAL_NAME__: company.legalName,
    __COMPANY_COUNTRY__: company.country,
  });
  t.match(at('2026-12-31T23:30:00.000Z', 'de-DE', 'Europe/Berlin'), {
    __CURRENT_DATE__: '2027-01-01',
    __CURRENT_YEAR__: 2027,
    __CURRENT_DAY_NAME__: 'Freitag',
    __LANGUAGE__: 'de',
    __LOCALE__: 'de-DE',
  });
  for (const [locale, language] of [
    ['pt', 'pt'],
    ['zh-Hant-TW', 'zh'],
    ['fil-PH', 'fil'],
  ] as const)
    t.match(at('2026-12-31T23:30:00.000Z', locale), { __LANGUAGE__: language, __LOCALE__: locale });
  const constants = constantsOf(utc);
  const first = constants({ at: '2026-11-21T10:00:00.000Z', company });
  t.equal(constants({ at: '2026-11-21T10:00:59.000Z', company }), first, 'remembered within the minute');
  t.equal(constants({ at: '2026-11-22T10:00:00.000Z', company }).__CURRENT_DAY__, 22);
  t.equal(
    constants({ at: '2026-11-22T10:00:00.000Z', company: { ...company, name: 'Other' } }).__COMPANY_NAME__,
    'Other',
  );
});

void t.test('addresses', async (t) => {
  for (const link of [
    'https://example.com',
    'HTTP://example.com/a?b=c#d',
    'mailto:a@b.example',
    'tel:+351210000000',
    'sms:+351210000000?body=Hi',
    'sms:?body=Hi',
    'https://münchen.example/ä',
    'https://user@host:8080?x',
    'https://[::1]/',
    '#top',
    ' https://example.com/a b ',
  ])
    t.type(safeLink(link), 'string', link);
  t.equal(safeLink(' https://example.com/a b '), 'https://example.com/a%20b');
  for (const link of [
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '/relative',
    'relative',
    'www.example.com',
    'cid:logo',
    '',
    '#',
    'https://',
    'https:example.com',
    'https://a(b)',
    'https://<b>',
    'https://javascript:x',
    'https://user:password@host',
    'https:///x',
    'blob:https://a',
    'about:blank',
    'sms:javascript',
    'myapp://open',
    'ftp://a',
  ]) {
    t.equal(safeLink(link), undefined, link);
  }
  for (const image of ['https://example.com/a.png', 'data:image/png;base64,iVBORw0KGgo='])
    t.equal(safeImage(image), image);
  for (const image of [
    'data:image/svg+xml;base64,AAAA',
    'data:image/png,x',
    'data:text/html;base64,AAAA',
    'javascript:x',
    'cid:logo',
    'asset:123',
    'mailto:a@b.c',
  ])
    t.equal(safeImage(image), undefined, image);
});

void t.test('addresses that a template allows besides', (t) => {
  const rules = { base: 'https://app.example.com/shop/', schemes: ['myapp', 'x-call'] };
  const completed: readonly (readonly [string, string])[] = [
    ['/reset', 'https://app.example.com/reset'],
    ['/reset?token=a+b#x', 'https://app.example.com/reset?token=a+b#x'],
    ['reset?x=1', 'https://app.example.com/shop/reset?x=1'],
    ['?x=1', 'https://app.example.com/shop/?x=1'],
    ['./reset.html', 'https://app.example.com/shop/reset.html'],
    ['../reset', 'https://app.example.com/reset'],
    ['../../../reset', 'https://app.example.com/reset'],
    ['/a/../../b', 'https://app.example.com/b'],
    ['index.html#top', 'https://app.example.com/shop/index.html#top'],
    ['v1.2/reset', 'https://app.example.com/shop/v1.2/reset'],
    ['.well-known/x', 'https://app.example.com/shop/.well-known/x'],
    ['/files/My file.pdf', 'https://app.example.com/files/My%20file.pdf'],
    [' /re\u200bset ', 'https://app.example.com/reset'],
  ];
  for (const [given, whole] of completed) {
    t.equal(safeLink(given, rules), whole, given);
    t.equal(safeImage(given, rules), whole, `${given} as a picture`);
    t.equal(safeLink(given), undefined, `${given} without a base`);
  }
  t.equal(safeLink('logo.png', { base: 'https://app.example.com', schemes: [] }), 'https://app.example.com/logo.png');
  t.equal(safeLink('?x', { base: 'https://app.example.com/a/b', schemes: [] }), 'https://app.example.com/a/b?x');
  for (const same of [
    'https://other.example/a',
    'mailto:a@b.example',
    '#top',
    'tel:+1',
    'myapp://open?x=1',
    'MyApp:open',
    'x-call:7',
  ])
    t.equal(safeLink(same, rules), same, same);
  for (const bad of [
    '',
    '#',
    '//evil.example/x',
    '/\\evil.example',
    '\\\\evil.example',
    '\t//evil.example',
    'app.example.com/reset',
    'app.example.com:8080/reset',
    'example.com',
    'www.example/x',
    'ana@example.com',
    'call us',
    'javascript:alert(1)',
    'java\u0000script:alert(1)',
    'otherapp://open',
    'myapp',
    'myapp:',
    'data:text/html,x',
    'file:///etc/passwd',
  ])
    if (bad === 'myapp') t.equal(safeLink(bad, rules), 'https://app.example.com/shop/myapp');
    else t.equal(safeLink(bad, rules), undefined, bad);
  t.equal(safeImage('myapp://picture', rules), undefined, 'schemes are for links');

  for (const base of ['https://a.example', 'http://a.example:8080/b/', 'https://münchen.example/ä', 'https://[::1]/'])
    t.equal(isLinkBase(base), true, base);
  for (const base of [
    '',
    7,
    'a.example',
    '/a',
    'ftp://a.example',
    'https://',
    'https://u:p@a.example',
    'https://a.example?x',
    'https://a.example/#x',
    'https://a.example/a b',
    ' https://a.example',
    'https://a.example:99999',
    `https://a.example/${'a'.repeat(500)}`,
    'javascript:alert(1)',
  ])
    t.equal(isLinkBase(base), false, String(base));
  for (const scheme of ['myapp', 'x-call', 'com.example.app', 'whatsapp', 'geo', 'ftp'])
    t.equal(isOwnScheme(scheme), true, scheme);
  for (const scheme of [
    'javascript',
    'data',
    'vbscript',
    'file',
    'blob',
    'about',
    'filesystem',
    'view-source',
    'ms-msdt',
    'search-ms',
  ])
    t.equal(isOwnScheme(scheme), false, scheme);
  for (const scheme of ['', 'MyApp', 'myapp:', 'my app', '1app', 7, null, 'a'.repeat(41)])
    t.equal(isOwnScheme(scheme), false, String(scheme));
  t.end();
});

void t.test('CSS values', async (t) => {
  for (const color of [
    '#fff',
    '#FFFFFF',
    '#ffffff80',
    'rgb(1,2,3)',
    'rgba(1, 2, 3, 0.5)',
    'hsl(120deg 50% 50%)',
    'RebeccaPurple',
    'transparent',
  ])
    t.type(cssColor(color), 'string', color);
  for (const color of ['#ff', 'url(x)', 'red;x:y', 'expression(1)', 'nocolour', 'rgb(1,2)', 'var(--x)', '', 5, null])
    t.equal(cssColor(color), undefined, String(color));
  t.same(
    [
      cssLength(16),
      cssLength('16'),
      cssLength('1.5em'),
      cssLength('50%'),
      cssLength(0),
      cssLength('-1px'),
      cssLength('calc(1px)'),
      cssLength(NaN),
    ],
    ['16px', '16px', '1.5em', '50%', '0', undefined, undefined, undefined],
  );
  t.same(
    [cssBox(8), cssBox('8 16px'), cssBox('1 2 3 4 5'), cssBox('8px;x')],
    ['8px', '8px 16px', undefined, undefined],
  );
  t.same(
    [
      cssBorder('1px solid #DDD'),
      cssBorder('red 2px'),
      cssBorder(true),
      cssBorder('none'),
      cssBorder('1px solid url(x)'),
      cssBorder('2px dashed rgb(1, 2, 3)'),
    ],
    ['1px solid #ddd', '2px solid red', '1px solid #e5e7eb', 'none', undefined, '2px dashed rgb(1, 2, 3)'],
  );
  t.same(
    [cssFontFamily('"Open Sans", Arial'), cssFontFamily('a;b'), cssFontFamily('url(x)')],
    ["'Open Sans', Arial", undefined, undefined],
  );
  t.same(
    [cssLineHeight(1.5), cssLineHeight('1.5'), cssLineHeight('24px'), cssLineHeight(24), cssLineHeight('x')],
    ['1.5', '1.5', '24px', '24px', undefined],
  );
});

void t.test('text is cut between what people see as characters', (t) => {
  const cut = (text: string, truncate: number) => substituterOf({ filters: [{ truncate }] } as never, 'en')(text);
  for (const [text, charsMax, shown] of [
    ['abcdef', 6, 'abcdef'],
    ['abcdef', 4, 'abc…'],
    ['ab 🇵🇹🇩🇪', 5, 'ab…'],
    ['ab 🇵🇹🇩🇪', 6, 'ab 🇵🇹…'],
    ['👨‍👩‍👧‍👦 family', 4, '…'],
    ['👨‍👩‍👧‍👦 family', 9, '👨‍👩‍👧‍👦…'],
    ['cafe\u0301 noir', 5, 'caf…'],
  ] as const)
    t.equal(cut(text, charsMax), shown, `${text} ${charsMax}`);
  t.end();
});
