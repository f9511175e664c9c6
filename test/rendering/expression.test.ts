/**
 * Expressions that authors may write: each means what it means in JavaScript, and where it means something else that is
 * written here.
 */
import t from 'tap';
import fc from 'fast-check';
import { isDeepStrictEqual } from 'node:util';
import { compileExpression, type Moment } from '../../src/domain/rendering/expression/compile.js';
import { ExpressionError } from '../../src/domain/rendering/expression/values.js';
import { defaultExpressionLimits as limits } from '../../src/domain/core/limits.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';

const at = '2026-11-21T10:30:15.250Z';

const scope = {
  n: 7,
  half: 0.5,
  neg: -3.75,
  zero: 0,
  s: 'Hello, World',
  digits: '42',
  empty: '',
  yes: true,
  no: false,
  nothing: null,
  order: {
    id: 'A-1',
    customer: { name: 'Ada', tags: ['vip', 'eu'] },
    total: 99.5,
    note: null,
    'odd key': 1,
    rates: { eu: 0.2, us: 0.1 },
  },
  items: [
    { name: 'Mug', qty: 2, price: 4.5, tags: ['a', 'b'] },
    { name: 'Kettle', qty: 1, price: 12, tags: [] },
    { name: 'Apron', qty: 3, price: 0.25, tags: ['c'], discount: 0.1 },
  ],
  words: ['pear', 'Apple', 'fig', 'apple', 'éclair'],
  numbers: [3, 1, 10, 2, 2],
  nested: [[1, [2, [3, [4]]]], 5],
  package: 'parcel',
  Number: 'INV-7',
  missing: undefined,
} as const;
const names = new Set<string>(Object.keys(scope));
const given = JSON.parse(JSON.stringify(scope)) as JsonObject;

const evaluate = (source: string, moment: Partial<Moment> = {}): Json | undefined =>
  compileExpression(source, { names, limits }).evaluate(given, { at, ...moment });

/** Evaluates a source with the JavaScript engine; used only here, and only on sources of this file. */
const byEngine = (source: string): unknown => {
  const { Number: _, ...variables } = structuredClone(given);
  const run = new Function(...Object.keys(variables), 'missing', `return (${source}\n);`) as (
    ...values: unknown[]
  ) => unknown;
  return run(...Object.values(variables), undefined);
};

const sameAsJavaScript = [
  // literals and names
  '1',
  '-1.5e3',
  '0x1f',
  '"it\'s"',
  "'a\\u00e9\\n'",
  'true',
  'null',
  'undefined',
  '[]',
  '({})',
  '[1, "a", [true], {b: null}]',
  '{a: 1, "b c": 2, 3: 4}',
  'n',
  'missing',
  'package',
  // members
  'order.customer.name',
  'order["odd key"]',
  'order.customer.tags[0]',
  'order.customer.tags[n - 6]',
  'order.customer.tags.length',
  's.length',
  's[0]',
  's[99]',
  's["1"]',
  'items[1].name',
  'items["1"].name',
  'items[-1]',
  'items[0.5]',
  'items["01"]',
  'items[1e3]',
  'order.rates["e" + "u"]',
  'n.anything',
  'yes.x',
  'order.customer["tags"]["length"]',
  '"abc".length',
  '[1,2][1]',
  'items.foo',
  's.foo',
  // optional chaining
  'missing?.a',
  'missing?.a.b.c',
  'missing?.[0]',
  'nothing?.a',
  'order?.customer?.name',
  'order.nope?.name.first',
  'missing?.trim()',
  'missing?.map(x => x.y.z)',
  'missing?.a.b.map(x => x)',
  '(missing?.a)?.b',
  'order.note?.length ?? "none"',
  'missing?.a[order.total.x.y]',
  'order.nope?.[0].x ?? 1',
  // operators
  'n + half',
  'n - neg',
  'n * 3',
  'n / 2',
  'n % 4',
  '-n % 4',
  'n ** 2',
  '2 ** 3 ** 2',
  '(-2) ** 2',
  'n + s',
  's + n + half',
  '1 + 2 + "3"',
  '"3" * "4"',
  '"a" * 1 || "nan"',
  'digits - 2',
  '+digits',
  '+yes',
  '+null',
  '+[]',
  '+[5]',
  '-s || "nan"',
  '~n',
  '!n',
  '!!s',
  '!empty',
  'n & 3',
  'n | 8',
  'n ^ 2',
  'n << 2',
  '-9 >> 1',
  '-9 >>> 28',
  'true + true',
  'null + 1',
  '[] + []',
  '[1,2] + ""',
  '[1,[2,null,undefined]] + "x"',
  '({}) + ""',
  'order + ""',
  'n > 6',
  'n >= 7',
  'n < 7',
  'n <= 7',
  '"b" > "a"',
  '"10" < "9"',
  '"10" < 9',
  'null >= 0',
  'undefined >= 0',
  '[2] > 1',
  '"a" < 1',
  'yes > no',
  'n === 7',
  'n !== 7',
  '"7" == 7',
  'n == "7"',
  'null == undefined',
  'null == 0',
  'undefined == 0',
  'true == 1',
  'true == "1"',
  '[] == ""',
  '[1] == 1',
  'order == order',
  '[] == []',
  '({}) == "[object Object]"',
  '"a" != "b"',
  'NaN == NaN',
  'NaN !== NaN',
  'n && s',
  'zero && s',
  'zero || s',
  'empty ?? s',
  'nothing ?? s',
  'missing ?? s',
  'yes ? 1 : 2',
  'no ? 1 : no ? 2 : 3',
  '(n)',
  '((n) + (1))',
  'typeof n',
  'typeof s',
  'typeof missing',
  'typeof null',
  'typeof items',
  'typeof yes',
  'typeof undefined',
  '"id" in order',
  '"nope" in order',
  '0 in items',
  '"length" in items',
  '3 in items',
  'n /* a comment */ + 1 // and one more',
  ' \n\t n\n',
  // templates
  '`plain`',
  '`${n} items for ${order.customer.name}`',
  '`a${`b${n}`}c`',
  '`${[1,2]}${null}${missing}${({})}`',
  '`\\n\\u{1F600}`',
  '`${items.map(i => `${i.name}: ${i.qty}`).join("; ")}`',
  // arrays and objects
  '[...numbers, ...order.customer.tags, 1]',
  '[...[], ...[1]]',
  '({...order, total: 1})',
  '({...order.rates, ...{eu: 1}})',
  '({...null, ...missing, ...[1, 2]})',
  '({n, s, ["k" + n]: 1})',
  '({[n]: 1, 2: 2})',
  '({"constructor2": 1})',
  '[undefined, null]',
  '({a: undefined, b: 1})',
  '({toString: 1, valueOf: 2})',
  '({hasOwnProperty: 1}).hasOwnProperty',
  // methods of text
  's.toUpperCase()',
  's.toLowerCase()',
  '"  x ".trim()',
  '"  x ".trimStart()',
  '"  x ".trimEnd()',
  's.slice(1, 4)',
  's.slice(-3)',
  's.slice()',
  's.substring(4, 1)',
  's.charAt(1)',
  's.charAt(99)',
  's.at(-1)',
  's.at(99)',
  's.charCodeAt(0)',
  's.codePointAt(0)',
  '"".codePointAt(0)',
  's.includes("World")',
  's.includes("World", 8)',
  's.startsWith("Hell")',
  's.startsWith("lo", 3)',
  's.endsWith("d")',
  's.endsWith("Hello", 5)',
  's.indexOf("o")',
  's.indexOf("o", 5)',
  's.indexOf("")',
  's.lastIndexOf("o")',
  's.lastIndexOf("o", 5)',
  's.indexOf()',
  '"undefined".indexOf()',
  's.replace("o", "0")',
  's.replaceAll("o", "0")',
  's.replaceAll("l", "")',
  '"abc".replaceAll("", "-")',
  '"abc".replace("", "-")',
  '"aaa".replaceAll("aa", "b")',
  's.replace("x", "y")',
  's.split(", ")',
  's.split("")',
  's.split()',
  's.split("l", 2)',
  's.split("l", 0)',
  '"".split("")',
  '"".split(",")',
  's.split(undefined, 0)',
  '"5".padStart(3, "0")',
  '"5".padEnd(3)',
  '"5".padStart(0)',
  '"5".padStart(9, "ab")',
  '"5".padStart(5, "")',
  '"ab".repeat(3)',
  '"ab".repeat(0)',
  '"ab".repeat(2.9)',
  '"".repeat(1e9)',
  's.concat(1, null, "x")',
  '"e\\u0301".normalize()',
  '"é".normalize("NFD").length',
  '"a".localeCompare("b")',
  's.toString()',
  's.valueOf()',
  's.substring(2)',
  // numbers
  'neg.toFixed(1)',
  '(1234.5).toFixed(2)',
  'n.toString(2)',
  'n.toString()',
  '(0.000001234).toPrecision(2)',
  '(12345).toExponential(2)',
  'n.valueOf()',
  'yes.toString()',
  'yes.valueOf()',
  'neg.toFixed()',
  '(255).toString(16)',
  '(1e21).toFixed(2)',
  'Math.round(neg)',
  'Math.floor(neg)',
  'Math.ceil(neg)',
  'Math.trunc(neg)',
  'Math.abs(neg)',
  'Math.sign(neg)',
  'Math.max(...numbers)',
  'Math.min(1, ...numbers, -1)',
  'Math.pow(2, 10)',
  'Math.sqrt(2)',
  'Math.cbrt(27)',
  'Math.hypot(3, 4)',
  'Math.PI',
  'Math.log10(1000)',
  'Math.atan2(1, 1)',
  'Math.max("5", 3)',
  'Math.round(2.5)',
  'Math.round(-2.5)',
  'Math.min(null, 1)',
  'String(n)',
  'String()',
  'String(null)',
  'String([1,[2]])',
  'Boolean("")',
  'Boolean([])',
  'parseInt("12px")',
  'parseInt("ff", 16)',
  'parseFloat("1.5e2x")',
  'isNaN("x")',
  'isNaN("1")',
  'isFinite("1")',
  'isFinite(1/0)',
  // arrays
  'items.map(i => i.price)',
  'items.map((i, at) => at + i.name)',
  'items.map((i, at, all) => all.length - at)',
  'items.map(({ name, qty: count }) => name + count)',
  'items.map(({ name, discount = 0 }) => [name, discount])',
  'items.map(({ tags: [first, second = "none"] }) => [first, second])',
  'items.map((i) => ({ name: i.name, total: i.qty * i.price }))',
  'items.map(i => items.map(j => i.qty * j.qty))',
  'items.filter(i => i.qty > 1).map(i => i.name)',
  'items.filter(i => i.discount)',
  'items.reduce((s, i) => s + i.qty * i.price, 0)',
  'numbers.reduce((a, b) => Math.max(a, b))',
  'numbers.reduce((a, b, at, all) => a + at * all.length, 0)',
  '[1].reduce((a, b) => a + b)',
  'items.reduce((sum, { qty }) => sum + qty, 0)',
  'items.reduce((byName, i) => ({ ...byName, [i.name]: i.qty }), {})',
  'items.some(i => i.qty > 2)',
  'items.every(i => i.qty > 0)',
  'items.find(i => i.qty === 1).name',
  'items.find(i => i.qty === 9)',
  'items.findIndex(i => i.qty === 3)',
  'items.findLast(i => i.qty > 0).name',
  'items.findLastIndex(i => i.qty > 9)',
  'items.flatMap(i => i.tags)',
  'items.flatMap(i => i.qty)',
  '[[1], [2, [3]]].flatMap(x => x)',
  '[...numbers].sort()',
  '[...numbers].sort((a, b) => a - b)',
  '[...numbers].sort((a, b) => b - a)',
  '[...words].sort()',
  '[...words].sort((a, b) => a.localeCompare(b))',
  '[3, undefined, 1, null].sort()',
  '[3, undefined, 1].sort((a, b) => a - b)',
  '[true, "b", 1, [0]].sort()',
  '[...items].sort((a, b) => b.price - a.price || a.qty - b.qty).map(({ name }) => name)',
  '[2, 1].sort(() => NaN)',
  'words.slice(1, 3)',
  'words.slice(-2)',
  'words.slice()',
  'words.concat(["x"], "y", [["z"]])',
  'words.includes("fig")',
  'numbers.includes(NaN)',
  '[NaN].includes(NaN)',
  '[NaN].indexOf(NaN)',
  'numbers.indexOf(2)',
  'numbers.indexOf(2, 4)',
  'numbers.lastIndexOf(2)',
  'numbers.lastIndexOf(2, -2)',
  'words.join()',
  'words.join(" / ")',
  '[1, null, undefined, [2, 3]].join("-")',
  'words.at(-1)',
  'words.at(9)',
  'words.at()',
  '[...numbers].reverse()',
  'nested.flat()',
  'nested.flat(2)',
  'nested.flat(Infinity)',
  'nested.flat(0)',
  'numbers.toString()',
  'numbers.length',
  'words.map(String)',
  '["1", "x", ""].filter(Boolean)',
  '[].some(x => x)',
  '[].every(x => x)',
  '[[1, 2], [3, 4]].map(([a, b]) => a * b)',
  '[[1, 2]].map(([, b]) => b)',
  'numbers.map((x, i = 5) => x * i)',
  '[undefined, 1].map((x = 9) => x)',
  'words.map(w => w.length).filter((x, i, all) => all.indexOf(x) === i)',
  'items.map(n => n.name)',
  'items.map(i => [1, 2].map(i => i * 2))',
  'Array.isArray(items)',
  'Array.isArray(order)',
  'Object.keys(order.rates)',
  'Object.values(order.rates)',
  'Object.entries(order.rates).map(([k, v]) => `${k}=${v}`)',
  'Object.keys([1, 2])',
  'Object.entries(["a"])',
  // dates, from given text or numbers only
  'new Date("2026-02-03T04:05:06.789Z").toISOString()',
  'new Date("2026-02-03T04:05:06+02:00").getTime()',
  'new Date("2026-02-03")',
  'new Date(0)',
  'new Date(new Date(5)).getTime()',
  'new Date("2026-02-03") < new Date("2026-02-04")',
  'new Date("2026-02-03") - new Date("2026-02-01")',
  '+new Date(7)',
  'new Date("2026-02-03").getUTCDay()',
  'new Date("2026-02-28").getUTCMonth()',
  'Date.UTC(2026, 1, 3)',
  'Date.UTC(99, 0)',
  'Date.parse("2026-02-03T00:00:00Z")',
  'new Date(Date.UTC(2026, 11 + 1, 0)).toISOString().slice(0, 10)',
  'isNaN(new Date("no date"))',
  'typeof new Date(0)',
  'new Date(8.64e15 + 1).toJSON()',
  '({ when: new Date(0), list: [new Date(1)] })',
  'new Date(0).getUTCFullYear()',
  'new Date(1).x',
  '[new Date(0).valueOf(), new Date(3661000).getUTCHours(), new Date(3661000).getUTCMinutes(), new Date(3661000).getUTCSeconds(), new Date(5).getUTCMilliseconds(), new Date(0).getUTCDate()]',
  'new Date(null)',
  'new Date(true)',
];

void t.test('means what it means in JavaScript', async (t) => {
  for (const source of sameAsJavaScript) {
    const expected = byEngine(source) as unknown;
    const json = expected === undefined ? undefined : (JSON.parse(JSON.stringify(expected)) as unknown);
    try {
      t.strictSame(evaluate(source), json, source);
    } catch (error) {
      t.fail(source, { found: error });
    }
  }
});

void t.test('means what is promised where JavaScript would depend on the process or on what came before', async (t) => {
  const table: readonly (readonly [string, Json | undefined])[] = [
    ['new Date()', at],
    ['Date.now()', Date.parse(at)],
    ['new Date().getFullYear() + "-" + new Date().getMonth()', '2026-10'],
    ['new Date(2026, 0, 31, 12)', '2026-01-31T12:00:00.000Z'],
    ['new Date(Date.now() + 14 * 86400000).toISOString().slice(0, 10)', '2026-12-05'],
    ['new Date("2026-11-21T10:00")', '2026-11-21T10:00:00.000Z'],
    ['"on " + new Date(0)', 'on 1970-01-01T00:00:00.000Z'],
    ['String(new Date("nonsense"))', 'Invalid Date'],
    ['numbers.sort((a, b) => a - b)[0] + numbers[0]', 4],
    ['numbers.reverse()[0] + numbers[0]', 5],
    ['numbers.toSorted((a, b) => b - a)', [10, 3, 2, 2, 1]],
    ['numbers.toReversed()', [2, 2, 10, 1, 3]],
    ['"1 x".replace("x", "$&$$")', '1 $&$$'],
    ['["1", "2", "3"].map(Number)', [1, 2, 3]],
    ['"toString" in order', false],
    ['order.hasOwnProperty', undefined],
    ['items.map', undefined],
    ['-0', 0],
    ['"ä".localeCompare("z")', -1],
    ['Number("12") + Number(digits) + Number()', 54],
    ['Number + "!"', 'INV-7!'],
    ['Number.slice(0, 3) + Number.isInteger(1)', 'INVtrue'],
    ['n;', 7],
    ['179.99 + 69.99 === 249.98', true],
    ['179.99 + 69.99 - 249.98', 0],
    ['3 * 0.1', 0.3],
    ['[0.1, 0.2, 0.3].reduce((sum, one) => sum + one, 0)', 0.6],
    ['1 / 3 * 3', 1],
    ['1e-7 * 3', 3e-7],
    ['round(1.005, 2)', 1.01],
    ['round(-1.005, 2)', -1.01],
    ['round(2.5)', 3],
    ['round(1e-7, 7)', 1e-7],
    ['round(1e21, 2)', 1e21],
    ['round(-0.001, 2)', 0],
  ];
  for (const [source, expected] of table) t.strictSame(evaluate(source), expected, source);
});

void t.test('days, months and years are added as the calendar of the mail has them', async (t) => {
  const table: readonly (readonly [source: string, expected: Json | undefined, timeZone?: string])[] = [
    ['addMonths("2026-01-31", 1)', '2026-02-28'],
    ['addMonths("2028-01-31", 1)', '2028-02-29'],
    ['addMonths("2026-03-31", -1)', '2026-02-28'],
    ['addMonths("2026-11-30", 3)', '2027-02-28'],
    ['addMonths("2026-01-15", -13)', '2024-12-15'],
    ['addYears("2028-02-29", 1)', '2029-02-28'],
    ['addYears("2028-02-29", 4)', '2032-02-29'],
    ['addYears("2026-11-21", -2026)', '0000-11-21'],
    ['addDays("2026-12-31", 1)', '2027-01-01'],
    ['addDays("2028-03-01", -1)', '2028-02-29'],
    ['addDays("2026-11-21", 0)', '2026-11-21'],
    ['addDays("0050-01-01", 365)', '0051-01-01'],
    // A day without a time is in no time zone.
    ['addDays("2026-03-28", 1)', '2026-03-29', 'America/Los_Angeles'],
    // The clock shows 09:00 before and after it is put forward, and back.
    ['addDays("2026-03-28T08:00:00Z", 1)', '2026-03-29T07:00:00.000Z', 'Europe/Berlin'],
    ['addMonths("2026-10-24T09:00:00+02:00", 1)', '2026-11-24T08:00:00.000Z', 'Europe/Berlin'],
    ['addDays("2026-03-28T08:00:00Z", 1)', '2026-03-29T08:00:00.000Z'],
    // 02:30 is left out on 29 March and comes twice on 25 October.
    ['addDays("2026-03-28T01:30:00Z", 1)', '2026-03-29T01:30:00.000Z', 'Europe/Berlin'],
    ['addDays("2026-10-24T00:30:00Z", 1)', '2026-10-25T00:30:00.000Z', 'Europe/Berlin'],
    // It is 1 February there already.
    ['addMonths("2026-01-31T23:30:00Z", 1)', '2026-02-28T23:30:00.000Z', 'Europe/Berlin'],
    ['addMonths("2026-01-31T23:30:00Z", 1)', '2026-02-28T23:30:00.000Z'],
    ['addMonths("2026-01-31T11:30:00Z", 3)', '2026-04-30T12:30:00.000Z', 'Pacific/Auckland'],
    ['addMonths(new Date(), 1)', '2026-12-21T10:30:15.250Z'],
    ['addMonths(new Date("2026-01-31"), 1).getTime() === Date.parse("2026-02-28")', true],
    ['addMonths(missing, 1)', undefined],
    ['addMonths(nothing, 1)', undefined],
    ['addDays("2026-11-21", digits)', '2027-01-02'],
  ];
  for (const [source, expected, timeZone = 'UTC'] of table)
    t.strictSame(evaluate(source, { timeZone }), expected, `${source} in ${timeZone}`);
  for (const [source, reason] of [
    ['addMonths("soon", 1)', 'WRONG_ARGUMENT'],
    ['addMonths("", 1)', 'WRONG_ARGUMENT'],
    ['addMonths("2026-02-30", 1)', 'WRONG_ARGUMENT'],
    ['addMonths(7, 1)', 'WRONG_ARGUMENT'],
    ['addMonths(new Date("soon"), 1)', 'WRONG_ARGUMENT'],
    ['addMonths("2026-01-31")', 'WRONG_ARGUMENT'],
    ['addMonths("2026-01-31", nothing)', 'WRONG_ARGUMENT'],
    ['addMonths("2026-01-31", 0.5)', 'WRONG_ARGUMENT'],
    ['addDays("2026-01-31", "a few")', 'WRONG_ARGUMENT'],
    ['addYears("2026-01-31", 1 / zero)', 'WRONG_ARGUMENT'],
    ['addYears("2026-01-31", 8000)', 'TOO_LARGE'],
    ['addYears("2026-01-31", -2027)', 'TOO_LARGE'],
    ['addDays("9999-12-31", 1)', 'TOO_LARGE'],
    ['addDays("0000-01-01", -1)', 'TOO_LARGE'],
    ['addDays("2026-01-31", 1e300)', 'TOO_LARGE'],
    ['addMonths("2026-01-31", -1e300)', 'TOO_LARGE'],
    ['addDays("2026-01-31T10:00:00Z", 1e300)', 'TOO_LARGE'],
    ['addDays("2026-01-31T10:00:00Z", -3e6)', 'TOO_LARGE'],
    ['addYears("2026-01-31T10:00:00Z", 1e300)', 'TOO_LARGE'],
    ['addDays("9999-12-31T10:00:00Z", 1)', 'TOO_LARGE'],
  ] as const)
    t.throws(() => evaluate(source, { timeZone: 'Europe/Berlin' }), { name: 'ExpressionError', reason }, source);
});

void t.test('adding keeps the day and the time where it can', async (t) => {
  const zones = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia', 'Asia/Kathmandu'];
  const minutes = fc.integer({ min: Date.UTC(1980, 0, 1) / 60_000, max: Date.UTC(2060, 0, 1) / 60_000 });
  const shown = (iso: Json | undefined, timeZone: string): string =>
    new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' }).format(
      new Date(String(iso)),
    );
  fc.assert(
    fc.property(minutes, fc.integer({ min: -600, max: 600 }), fc.constantFrom(...zones), (minute, months, timeZone) => {
      const iso = new Date(minute * 60_000).toISOString();
      const day = evaluate(`addMonths("${iso.slice(0, 10)}", ${months})`, { timeZone });
      const [from, to] = [iso.slice(0, 10), String(day)];
      const lastDay = new Date(Date.UTC(Number(to.slice(0, 4)), Number(to.slice(5, 7)), 0)).getUTCDate();
      const monthsOf = (text: string): number => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7));
      const isRight =
        monthsOf(to) - monthsOf(from) === months && Number(to.slice(8)) === Math.min(Number(from.slice(8)), lastDay);
      const there = evaluate(`addDays("${iso}", ${months})`, { timeZone });
      const [before, after] = [shown(iso, timeZone), shown(there, timeZone)];
      const isSameTime = before.slice(-5) === after.slice(-5);
      // A time that the clock leaves out is later by what is left out, in Samoa by a whole day.
      const isLeftOut = !isSameTime && Date.parse(String(there)) > minute * 60_000 + (months - 1) * 86_400_000;
      return isRight && (isSameTime || isLeftOut);
    }),
    { numRuns: 500 },
  );
  t.pass('for every date');
});

void t.test('constants are read, and the pinned instant is the only one', async (t) => {
  const { evaluate: run, reads } = compileExpression('`${__COMPANY_NAME__} ${__CURRENT_YEAR__} ${n}`', {
    names: new Set(['n', '__COMPANY_NAME__', '__CURRENT_YEAR__']),
    limits,
  });
  t.equal(
    run(
      { n: 1, __COMPANY_NAME__: 'not this' },
      { at, constants: { __COMPANY_NAME__: 'Acme', __CURRENT_YEAR__: 2026 } },
    ),
    'Acme 2026 1',
  );
  t.same([...reads].sort(), ['__COMPANY_NAME__', '__CURRENT_YEAR__', 'n']);
  t.equal(run({}, { at }), 'undefined undefined undefined');
});

void t.test('says what it reads, and nothing that a parameter hides', async (t) => {
  const { reads } = compileExpression('items.map(n => n.qty * half + order.total)', { names, limits });
  t.same([...reads].sort(), ['half', 'items', 'order']);
});

void t.test(
  'neither the values nor the answer are shared: nothing given is changed, nothing answered changes what was given',
  async (t) => {
    const frozen = freeze(structuredClone(given)) as JsonObject;
    for (const source of sameAsJavaScript) compileExpression(source, { names, limits }).evaluate(frozen, { at });
    const answer = evaluate('order') as { customer: unknown };
    t.not(answer, given['order']);
    answer.customer = 'changed';
    t.match(given['order'], { customer: { name: 'Ada' } });
  },
);

void t.test('localeCompare orders by the rules of the language of the mail', async () => {
  const sorted = (locale?: string): Json | undefined =>
    evaluate('["Ö", "Z", "A", "Å"].sort((a, b) => a.localeCompare(b)).join()', locale === undefined ? {} : { locale });
  t.equal(sorted(), 'A,Å,Ö,Z');
  t.equal(sorted('sv'), 'A,Z,Å,Ö');
  t.equal(sorted('de-AT'), 'A,Å,Ö,Z');
  t.equal(evaluate('"ä".localeCompare("z")', { locale: 'sv' }), 1);
  const byNumber =
    '["10 b", "9 a", "Ä1", "a10", "a9"].sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).join()';
  t.equal(evaluate(byNumber, { locale: 'de' }), '9 a,10 b,Ä1,a9,a10');
  t.equal(evaluate(byNumber, { locale: 'sv' }), '9 a,10 b,a9,a10,Ä1');
  t.equal(
    evaluate('["item 10", "item 9"].sort((a, b) => a.localeCompare(b)).join()', { locale: 'de' }),
    'item 10,item 9',
  );
  t.equal(
    evaluate('["item 10", "item 9"].sort((a, b) => a.localeCompare(b)).join()', { locale: 'de-u-kn' }),
    'item 9,item 10',
  );
});

void t.test('the case of letters by the rules of the language of the mail', async () => {
  t.equal(evaluate('"istanbul".toLocaleUpperCase()', { locale: 'tr-TR' }), 'İSTANBUL');
  t.equal(evaluate('"ISPARTA".toLocaleLowerCase()', { locale: 'tr' }), 'ısparta');
  t.equal(evaluate('"Ì".toLocaleLowerCase()', { locale: 'lt' }), 'i\u0307\u0300');
  t.equal(evaluate('"άλφα".toLocaleUpperCase()', { locale: 'el' }), 'ΑΛΦΑ');
  t.equal(evaluate('"istanbul".toLocaleUpperCase()'), 'ISTANBUL');
  t.equal(evaluate('"istanbul".toUpperCase()', { locale: 'tr' }), 'ISTANBUL');
});

const freeze = (value: unknown): unknown => {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
};

/** Sources of the safe subset, as deep as fast-check likes. */
const sources = fc.letrec<{ any: string; number: string; text: string; list: string; truth: string }>((tie) => {
  const [any, number, text, list, truth] = [tie('any'), tie('number'), tie('text'), tie('list'), tie('truth')];
  const join = (parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> =>
    fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part))).map((all) => all.join(''));
  const one = (...options: string[]): fc.Arbitrary<string> => fc.constantFrom(...options);
  const depth = { depthSize: 'small', maxDepth: 5, withCrossShrink: true } as const;
  return {
    any: fc.oneof(
      depth,
      one(
        'n',
        's',
        'items',
        'missing',
        'nothing',
        'yes',
        'order',
        'words',
        '[]',
        '({})',
        '""',
        '0',
        'NaN',
        'undefined',
      ),
      number,
      text,
      list,
      truth,
      join(['(', truth, ' ? ', any, ' : ', any, ')']),
      join(['((', any, ')', one(' ?? ', ' || ', ' && '), '(', any, '))']),
      join(['({a: ', any, ', b: ', any, '})']),
      join(['({...', one('order', 'missing', 'items[0]'), ', a: ', any, '})']),
      join([list, '[', number, ']']),
      join(['order?.[', text, ']']),
    ),
    number: fc.oneof(
      depth,
      one('n', 'half', 'neg', 'zero', '3', '-1', '1e3', '0.5', 'digits'),
      join(['(', number, one(' + ', ' - ', ' * ', ' / ', ' % ', ' & ', ' | ', ' >> ', ' >>> '), number, ')']),
      join(['(-', any, ')']),
      join(['(+', any, ')']),
      join(['(~', any, ')']),
      join(['Math.', one('round', 'floor', 'abs', 'trunc', 'sign'), '(', any, ')']),
      join(['Math.max(', number, ', ', any, ')']),
      join([list, '.length']),
      join([text, '.length']),
      join(['parseInt(', any, ')']),
      join([text, '.indexOf(', any, ')']),
      join([list, '.indexOf(', any, ')']),
      join([list, '.reduce((a, x) => a + ', one('x', '1', 'a', '(x?.qty ?? 2)'), ', ', number, ')']),
      join([list, '.findIndex(x => ', truth, ')']),
    ),
    text: fc.oneof(
      depth,
      one('s', 'empty', 'digits', '"ab"', '" x "', '"\\u00e9"'),
      join(['(', text, ' + ', any, ')']),
      join(['`<${', any, '}>`']),
      join(['String(', any, ')']),
      join(['(typeof ', any, ')']),
      join([text, '.', one('trim', 'toUpperCase', 'toLowerCase'), '()']),
      join([text, '.slice(', number, ', ', any, ')']),
      join([text, '.padStart(', one('3', '9'), ', ', any, ')']),
      join([text, '.substring(', any, ', ', number, ')']),
      join([text, '.replaceAll(', one('"a"', '"l"', '""', 's'), ', ', one('"-"', '""', 'digits'), ')']),
      join([list, '.join(', any, ')']),
      join([text, '.charAt(', any, ')']),
    ),
    list: fc.oneof(
      depth,
      one('items', 'words', 'numbers', 'nested', '[]', '[1, "2", null]'),
      join(['[', any, ', ', any, ']']),
      join(['[...', list, ', ', any, ']']),
      join([list, '.slice(', any, ')']),
      join([list, '.concat(', any, ')']),
      join([list, '.filter((x, i) => ', truth, ')']),
      join([list, '.map((x, i) => ', any, ')']),
      join([list, '.map(x => ', one('x', '[x]', 'x?.qty', '`${x}`', 'typeof x'), ')']),
      join([list, '.flatMap(x => ', any, ')']),
      join([list, '.flat(', any, ')']),
      join([text, '.split(', text, ')']),
      join(['[...', list, '].sort()']),
      join(['[...', list, '].reverse()']),
    ),
    truth: fc.oneof(
      depth,
      one('yes', 'no', 'true'),
      join(['(', any, one(' === ', ' !== ', ' == ', ' != ', ' < ', ' <= ', ' > ', ' >= '), any, ')']),
      join(['(!', any, ')']),
      join([text, '.includes(', any, ')']),
      join([text, '.startsWith(', any, ')']),
      join([list, '.includes(', any, ')']),
      join([list, '.some(x => ', any, ')']),
      join([list, '.every(x => ', any, ')']),
      join(['Array.isArray(', any, ')']),
      join(['isNaN(', number, ')']),
    ),
  };
}).any;

type Outcome = Readonly<{ json: unknown }> | 'no JSON' | 'error';

const engineOutcome = (source: string): Outcome => {
  let value: unknown;
  try {
    value = byEngine(source);
  } catch {
    return 'error';
  }
  if (value === undefined) return { json: undefined };
  const odd = JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'number' && !Number.isFinite(member) ? '\u0000odd' : member,
  ).includes('\\u0000odd');
  return odd ? 'no JSON' : { json: JSON.parse(JSON.stringify(value)) as unknown };
};

const ourOutcome = (source: string): Outcome | 'too large' => {
  try {
    return { json: evaluate(source, { operationsMax: 1_000_000 }) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    if (error.reason === 'TOO_LARGE' || error.reason === 'TOO_MANY_OPERATIONS') return 'too large';
    return error.reason === 'NO_JSON' ? 'no JSON' : 'error';
  }
};

void t.test('any expression of the safe subset gives what the engine gives', async (t) => {
  let compared = 0;
  fc.assert(
    fc.property(sources, (source) => {
      const ours = ourOutcome(source);
      if (ours === 'too large') return;
      const theirs = engineOutcome(source);
      if (typeof theirs === 'object') compared += 1;
      if (!isDeepStrictEqual(ours, theirs))
        throw new Error(`${source}\nours: ${JSON.stringify(ours)}\ntheirs: ${JSON.stringify(theirs)}`);
    }),
    { numRuns: 3_000, seed: 20261121 },
  );
  t.ok(compared > 1_500, `${compared} of 3,000 gave a value in both`);
});
