/**
 * Expressions that want out of their bounds: each is refused with its reason, or comes to something harmless, in little
 * time.
 */
import t from 'tap';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { compileExpression } from '../../src/domain/rendering/expression/compile.js';
import { ExpressionError, type ExpressionReason } from '../../src/domain/rendering/expression/values.js';
import { defaultExpressionLimits as limits } from '../../src/domain/core/limits.js';

const at = '2026-11-21T10:30:15.250Z';
const names = new Set(['n', 's', 'o', 'list', 'long', 'many', 'unit-price', 'key', 'deep', '__COMPANY_NAME__']);
const repeated = 'ab'.repeat(15_000);
const scope = JSON.parse(
  JSON.stringify({
    n: 1,
    s: 'abc',
    list: [1, 2, 3],
    key: 'constructor',
    long: repeated,
    many: Array.from({ length: 1_000 }, (_, i) => i),
  }),
) as JsonObject;
// Hostile values of a caller: names of methods as data, and a member "__proto__" of its own.
const hostile = JSON.parse(
  '{"toString": 1, "valueOf": {}, "constructor": {"constructor": "x"}, "__proto__": {"polluted": true}, "then": 1, "toJSON": 2, "length": -1, "map": 3, "hasOwnProperty": null}',
) as Json;
const given: JsonObject = { ...scope, o: hostile };

const evaluate = (
  source: string,
  more: Readonly<{ values?: JsonObject; operationsMax?: number }> = {},
): Json | undefined =>
  compileExpression(source, { names, limits }).evaluate(more.values ?? given, { at, operationsMax: 1_000, ...more });

const reasonOf = (source: string): ExpressionReason | Readonly<{ gave: Json | undefined }> => {
  try {
    return { gave: evaluate(source) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    if (!(error.at >= 0 && error.at <= source.length))
      throw new Error(`a place outside: ${error.at}`, { cause: error });
    if (error.message === '' || error.message.length > 400)
      throw new Error(`no sentence: ${error.message}`, { cause: error });
    return error.reason;
  }
};

const refused: Readonly<Record<string, readonly string[]>> = {
  NOT_ALLOWED: [
    // to the constructors, from every kind of value
    '"".constructor',
    '"".constructor.constructor("return process")()',
    '(1).constructor',
    'true.constructor',
    '[].constructor',
    '({}).constructor',
    '(x => x).constructor',
    '`${1}`.constructor',
    'n.constructor',
    'o.constructor',
    'list.map.constructor',
    'new Date().constructor',
    'Math.constructor',
    'Math.max.constructor',
    'Number.constructor("return 1")()',
    'String.prototype',
    'Object.prototype',
    'Array.prototype.map',
    '[]["constructor"]',
    '[]["const" + "ructor"]',
    '[][key]',
    's[["constructor"]]',
    'o?.constructor',
    'o?.["constructor"]',
    's[`constructor`]',
    'o.__proto__',
    '({}).__proto__',
    '[].__proto__.map',
    'o["__proto__"]',
    's["__pro" + "to__"]',
    'list.prototype',
    'o.\\u0063onstructor',
    'o.c\\u006fnstructor',
    'o["\\x63onstructor"]',
    'o["\\u{63}onstructor"]',
    'o.\\u{63}onstructor',
    '[].\\u005f_proto__',
    '({}).__defineGetter__("x", 1)',
    '({}).__lookupGetter__("x")',
    'o.__defineSetter__',
    '"constructor" in o',
    // in destructuring and in objects made
    'list.map(({ constructor }) => constructor)',
    'list.map(({ constructor: c }) => c)',
    'list.map(({ __proto__: p }) => p)',
    '({ __proto__: o })',
    'Function("return this")()',
    's.trim.bind(s)()',
    '({ "__proto__": o })',
    '({ ["__proto__"]: o })',
    '({ ["__pro" + "to__"]: null })',
    '({ constructor: 1 })',
    '({ \\u005f_proto__: o })',
    'list.map(({ ["constructor"]: c }) => c)',
    'list.map(({ "constructor": c }) => c)',
    // code that is not an expression of ours
    'this',
    'this.process',
    '(() => this)()',
    '(() => 1)()',
    '(function () { return this })()',
    'function () {}',
    'new Function("return 1")()',
    'new Object()',
    'new Array(1e9)',
    'new (class {})()',
    'new Proxy({}, {})',
    'new Map()',
    'new String("x")',
    'new n',
    'new Date.constructor("x")',
    'new list.map(x => x)',
    'class {}',
    'class extends null {}',
    '(class { static { n } })',
    'async x => x',
    'async () => await n',
    'async function () {}',
    'function* () { yield 1 }',
    'list.map(async x => x)',
    'list.map(function (x) { return x })',
    'list.map(function* (x) { yield x })',
    'list.map(x => { return x })',
    'list.map(x => { while (true) {} })',
    'x => x',
    '[x => x]',
    '({ f: x => x })',
    'list.map(x => y => x)',
    'n ? x => x : 1',
    '[...[x => x]]',
    '({ get a() { return 1 } })',
    '({ set a(x) {} })',
    '({ toString() { return "x" } })',
    '({ async a() {} })',
    '({ *a() {} })',
    '({ valueOf: () => 1 })',
    '({ toJSON: () => 1 })',
    '({ ["x"]: () => 1 })',
    'import("node:fs")',
    'n`x`',
    's.raw`x`',
    'String.raw`x`',
    '(x => x)`y`',
    '/a+/',
    '/(a+)+$/.test(s)',
    's.replace(/a/g, "b")',
    's.split(/(?:)/)',
    '10n',
    '10n ** 10n',
    '(10n).constructor',
    'n = 2',
    'o.a = 1',
    'n += 1',
    'n ||= 1',
    'n ??= 1',
    '[n] = [1]',
    '({ n } = o)',
    'list.map(x => x = 1)',
    'list.map(x => n = x)',
    'n++',
    '--n',
    'o.a++',
    'delete o.a',
    'void 0',
    'n, s',
    '(n, s)',
    'list.map(x => (x, 1))',
    's instanceof n',
    'eval?.("1")',
    'n?.()',
    's.trim?.()',
    'list["map"](x => x)',
    's["trim"]()',
    '[].concat["call"]()',
    '(n)()',
    '(s.trim)()',
    's.trim()()',
    '"x"()',
    '[1, , 2]',
    '[,]',
    'list.map((...all) => all)',
    'list.map(([...all]) => all)',
    'list.map(({ ...all }) => all)',
    'list.map((a, b, c, d, e) => a)',
    'Math',
    'Date',
    'Date + 1',
    'Object',
    '[Math][0]',
    'typeof Math',
    'Array.from',
    'Object["keys"](o)',
    'Math["max"](1)',
    'Number.isInteger',
    'String + 1',
    '({ Math })',
    'isNaN',
    '((s)).constructor',
    '(s?.trim)?.constructor',
    '((list))["constructor"]',
    'list.at(0).constructor',
    '"a"["length"].constructor',
    'list.map(x => x.constructor)',
    'list.reduce((a, x) => a.constructor, s)',
    'Object.keys(o).constructor',
    'Object.entries(o).map(([k, v]) => s[k])',
  ],
  UNKNOWN_NAME: [
    'process',
    'globalThis',
    'global',
    'window',
    'self',
    'require',
    'module',
    'exports',
    'console',
    'Buffer',
    'arguments',
    'eval',
    'Function',
    'Symbol',
    'Symbol.iterator',
    'Proxy',
    'Reflect',
    'Reflect.construct',
    'JSON',
    'JSON.stringify(o)',
    'Promise',
    'WebAssembly',
    'Intl',
    'RegExp',
    'BigInt',
    'Error',
    'Map',
    'WeakRef',
    'Atomics',
    'SharedArrayBuffer',
    'setTimeout',
    'fetch',
    'crypto',
    'performance.now()',
    'undeclared',
    'typeof undeclared',
    'undeclared?.x',
    '__COMPANY_FAX__',
    'unit - price',
    'run',
    'scope',
    'context',
    'list.map(x => y)',
    'await',
    'let',
    'yield',
    '({ process })',
    '`${process}`',
    'proc\\u0065ss',
    'list.map(x => x) && x',
    'hasOwnProperty',
    'toString',
    '__proto__',
    'constructor',
    'constructor.constructor',
    '__defineGetter__',
  ],
  UNKNOWN_METHOD: [
    'eval("1")',
    'require("fs")',
    'setTimeout("1")',
    'fetch("http://x")',
    'Symbol("x")',
    'BigInt(1)',
    'Array(1e9)',
    'Object(1)',
    'Date()',
    'RegExp("a")',
    's.matchAll("a")',
    's.match("a")',
    's.search("a")',
    's.anchor("x")',
    's.big()',
    'n.toLocaleString()',
    'list.push(4)',
    'list.pop()',
    'list.splice(0)',
    'list.fill(1)',
    'list.copyWithin(0, 1)',
    'list.forEach(x => x)',
    'list.keys()',
    'list.entries()',
    'list.values()',
    'new Date().setTime(0)',
    'new Date().toLocaleString()',
    'new Date().getTimezoneOffset()',
    'o.hasOwnProperty("x")',
    'o.isPrototypeOf(o)',
    'list.propertyIsEnumerable("x")',
    's.trim.call(s)',
    's.trim.apply(s)',
    'list.map.call(list, x => x)',
    'o.then(1)',
    'list.reduceRight((a, b) => a)',
  ],
  UNKNOWN_STATIC: [
    'Math.random()',
    'Array.from({ length: 1e9 })',
    'Array.of(1)',
    'Object.assign({}, o)',
    'Object.create(null)',
    'Object.defineProperty({}, "x", {})',
    'Object.getPrototypeOf(s)',
    'Object.setPrototypeOf({}, o)',
    'Object.fromEntries([])',
    'Object.getOwnPropertyDescriptors(s)',
    'Object.freeze(list)',
    'String.fromCharCode(1)',
    'String.raw({ raw: "x" })',
    'Number.prototype.toFixed()',
    'Date.prototype.getTime()',
    'Math.max.call(1)',
    'Function.prototype.call()',
  ],
  SYNTAX: [
    '',
    '   ',
    '// nothing',
    'n +',
    '(n',
    'n)',
    'n n',
    'n; s',
    'n;;',
    '{',
    'if (n) 1',
    'for (;;) {}',
    'while (1) {}',
    'return n',
    'var x = 1',
    'let x = 1',
    'throw n',
    'import x from "y"',
    'new.target',
    'import.meta',
    'super.x',
    'super()',
    '"a',
    '`a',
    '`${',
    'a b c',
    '#x in o',
    'o.#x',
    '/a',
    '/(/',
    '1..',
    '0b2',
    '"\\u{110000}"',
    '`\\u{110000}`',
    'x =>',
    '=> x',
    'n ?? s || n',
    '-n ** 2',
    '#!n',
    'n // x\n s',
    '\u0000',
    '\uD800',
    '({ a: 1, })}',
    'async () => { for await (const x of y) {} ',
    'enum',
    '({ async *[Symbol.iterator]( })',
  ],
  WRONG_ARGUMENT: [
    'list.map()',
    'list.map(n)',
    'list.map(1)',
    'list.map("x")',
    'list.filter(o)',
    'list.map(Math.max)',
    'list.map(parseInt)',
    'list.map(eval)',
    'list.sort(1)',
    'list.sort("x")',
    'list.map(...[1])',
    'list.map(x => x, o)',
    'list.reduce((a, b) => a, 0, 1)',
    'list.reduce((a, b) => a, ...list)',
    '[].reduce((a, b) => a)',
    's.repeat(-1)',
    's.repeat(Infinity)',
    's.repeat(1/0)',
    'n.toFixed(101)',
    'n.toFixed(-1)',
    'n.toFixed(1e9)',
    'n.toString(1)',
    'n.toString(37)',
    'n.toPrecision(0)',
    'n.toPrecision(1000)',
    's.normalize("NFZ")',
    's.localeCompare("b", "de")',
    's.localeCompare("b", undefined, { numeric: "yes" })',
    's.localeCompare("b", undefined, { usage: "search" })',
    's.localeCompare("b", undefined, null)',
    's.toLocaleUpperCase("tr")',
    'Object.keys(null)',
    'Object.keys("abc")',
    'Object.keys()',
    'Object.values(1)',
    'list.find(undefined)',
  ],
  WRONG_VALUE: [
    'o.nope.x',
    'o.nope[0]',
    'null.x',
    'undefined.x',
    'list[9].x',
    'o.nope.trim()',
    'list.find(x => x > 9).name',
    's.map(x => x)',
    'o.map(x => x)',
    'n.trim()',
    'list.trim()',
    'o.toString()',
    'o.valueOf()',
    'o.toJSON()',
    's.getTime()',
    'new Date().trim()',
    'list.toFixed()',
    '[...s]',
    '[...o]',
    '[...n]',
    '[...null]',
    'Math.max(...s)',
    '({ ...s })',
    '({ ...n })',
    '"x" in s',
    '"x" in n',
    '"x" in null',
    'list.map(({ a: { b } }) => b)',
    'list.map(([a]) => a)',
    '[null].map(({ a }) => a)',
    '["ab"].map(([a]) => a)',
    'new Date("x").toISOString()',
    'list.map(x => x.y.z)',
    '(o?.nope).x',
    '(o?.nope?.x).y',
    'o?.nope.x',
  ],
  NO_JSON: [
    'NaN',
    '1 / 0',
    '-1 / 0',
    '9 ** 9 ** 9',
    '1e999',
    's * 1',
    '[1, [NaN]]',
    '({ a: Infinity })',
    'new Date("x")',
    'new Date(NaN)',
    'new Date(8.64e15 + 1)',
    '[new Date("x")]',
    'n.x + 1',
    'Math.max()',
    'Math.sqrt(-1)',
    'o.nope * 2',
    'parseInt("x")',
    'Number(o)',
    'Date.parse("tomorrow")',
    'Number.MAX_VALUE * 2',
  ],
};

void t.test('every way out is closed, with its reason', async (t) => {
  let count = 0;
  for (const [group, sources] of Object.entries(refused)) {
    for (const source of sources) {
      count += 1;
      const reason = reasonOf(source);
      // A namespace's unknown function is a namespace that stands for a value, or a name that is none.
      const expected = group === 'UNKNOWN_STATIC' ? ['NOT_ALLOWED', 'UNKNOWN_NAME'] : [group];
      t.ok(
        typeof reason === 'string' && expected.includes(reason),
        `${JSON.stringify(source)} is refused as ${group}`,
        { found: reason },
      );
    }
  }
  t.ok(count > 300, `${count} sources`);
  t.equal(Object.getOwnPropertyDescriptor(Object.prototype, 'polluted'), undefined);
});

void t.test('odd, and harmless', async (t) => {
  const table: readonly (readonly [string, Json | undefined])[] = [
    ['o.toString', 1],
    ['o.map', 3],
    ['o.length', -1],
    ['o + ""', '[object Object]'],
    ['`${o}`', '[object Object]'],
    ['o == "[object Object]"', true],
    ['o > 1', false],
    ['[o] + ""', '[object Object]'],
    ['isNaN(o)', true],
    ['({ ...o }).polluted', undefined],
    ['({ ...o }).toJSON', 2],
    ['Object.keys(o).includes("__proto__")', false],
    ['Object.keys({ ...o }).length', 8],
    ['[o, o].length', 2],
    ['list.polluted', undefined],
    ['s.trim', undefined],
    ['s?.trim', undefined],
    ['typeof s.trim', 'undefined'],
    ['o.then', 1],
    ['o?.["polluted"]', undefined],
    ['({}).toString', undefined],
    ['({}) === o', false],
    ['[o].map(({ toString, then: x }) => toString + x)', [2]],
    ['"x".padStart(-1)', 'x'],
    ['"x".padStart(NaN)', 'x'],
    ['s[-1]', undefined],
    ['s[1e99]', undefined],
    ['list[4294967296]', undefined],
    ['list[NaN]', undefined],
    ['list["length "]', undefined],
    ['list.at(-1e99)', undefined],
    ['list.slice(-Infinity, Infinity)', [1, 2, 3]],
    ['s.slice(NaN, Infinity)', 'abc'],
    ['[[], [[]], [[[]]]].flat(-1).length', 3],
    ['list.flat(NaN)', [1, 2, 3]],
    ['s.split("", -1)', ['a', 'b', 'c']],
    ['s.split("", 4294967297)', ['a']],
    ['s.substring(Infinity, -Infinity)', 'abc'],
    ['"".repeat(9007199254740991)', ''],
    ['list.sort(() => 1).length', 3],
    ['list.sort((a, b) => "x").length', 3],
    ['list.map(({ length }) => length ?? null)', [null, null, null]],
    ['list.map(list => list)', [1, 2, 3]],
    ['list.map(undefined => 1)', [1, 1, 1]],
    ['list.map(Math => Math)', [1, 2, 3]],
    ['list.map(constructor => constructor)', [1, 2, 3]],
    ['list.map(arguments => arguments)', [1, 2, 3]],
    ['list.map((a = b, b = 1) => a)', [1, 2, 3]],
    ['n <!-- a comment', 1],
    ['010', 8],
    ['9007199254740993', 9007199254740992],
    ['"\\ud800"', '\ud800'],
    ['new Date(-8.64e15)', '-271821-04-20T00:00:00.000Z'],
  ];
  for (const [source, expected] of table) t.strictSame(reasonOf(source), { gave: expected }, source);
});

const tooMuch: readonly (readonly [string, readonly ExpressionReason[]])[] = [
  // sizes that the author chooses
  ['s.repeat(1e9)', ['TOO_LARGE']],
  ['s.repeat(2 ** 31)', ['TOO_LARGE']],
  ['"x".repeat(32768)', ['TOO_LARGE']],
  ['s.padStart(1e9)', ['TOO_LARGE']],
  ['s.padEnd(Infinity)', ['TOO_LARGE']],
  ['s.padStart(1e9, s)', ['TOO_LARGE']],
  ['s.padEnd(2 ** 53, "")', ['TOO_LARGE']],
  ['long.replaceAll("a", long)', ['TOO_LARGE', 'TOO_MANY_OPERATIONS']],
  ['"".padEnd(3e4, "a").replaceAll("", "abcdefgh")', ['TOO_LARGE']],
  ['long.split("")', ['TOO_LARGE']],
  ['long.split("a")', ['TOO_LARGE']],
  ['long + long', ['TOO_LARGE']],
  ['`${long}${long}`', ['TOO_LARGE']],
  ['long.concat(long)', ['TOO_LARGE']],
  ['[long, long].join()', ['TOO_LARGE']],
  ['[long, long] + ""', ['TOO_LARGE']],
  ['String([long, long])', ['TOO_LARGE']],
  ['[...many, ...many]', ['TOO_LARGE', 'TOO_MANY_OPERATIONS']],
  ['[...many, 1]', ['TOO_LARGE', 'TOO_MANY_OPERATIONS']],
  ['many.concat(many)', ['TOO_LARGE']],
  ['many.flatMap(x => [x, x])', ['TOO_MANY_OPERATIONS']],
  ['Math.max(...many, ...many)', ['TOO_MANY_OPERATIONS', 'TOO_LARGE']],
  // loops
  ['many.map(x => many.map(y => 1))', ['TOO_MANY_OPERATIONS']],
  ['many.map(x => x + 1)', ['TOO_MANY_OPERATIONS']],
  ['many.filter(x => many.includes(x))', ['TOO_MANY_OPERATIONS']],
  ['many.sort((a, b) => b - a)', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 200).sort((a, b) => ((b * 7) % 13) - ((a * 7) % 13))', ['TOO_MANY_OPERATIONS']],
  ['many.some(x => many.some(y => many.some(z => false)))', ['TOO_MANY_OPERATIONS']],
  ['many.reduce((a, x) => a + x, "")', ['TOO_MANY_OPERATIONS']],
  ['[many, many].flat()', ['TOO_MANY_OPERATIONS', 'TOO_LARGE']],
  ['many.slice() && many.slice()', ['TOO_MANY_OPERATIONS']],
  ['many.every(x => x < many.length)', ['TOO_MANY_OPERATIONS']],
  // doubling
  ['many.slice(0, 60).reduce(a => [a, a], [])', ['TOO_LARGE']],
  ['many.slice(0, 60).reduce(a => ({ a, b: a }), {})', ['TOO_LARGE']],
  ['many.slice(0, 17).reduce(a => [a, a], many.slice(0, 300).map(x => undefined))', ['TOO_LARGE']],
  ['many.slice(0, 60).reduce(a => [a, a], [1]) + ""', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 60).reduce(a => [a, a], [1]).flat(Infinity)', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 60).reduce(a => [a, a], [1]).join()', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 60).reduce(a => [a, a], [1]) == ""', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 60).reduce(a => [...a, ...a], [1])', ['TOO_MANY_OPERATIONS', 'TOO_LARGE']],
  ['many.slice(0, 60).reduce(a => a + a, s)', ['TOO_LARGE', 'TOO_MANY_OPERATIONS']],
  ['many.slice(0, 60).reduce(a => `${a}${a}`, s)', ['TOO_LARGE', 'TOO_MANY_OPERATIONS']],
  ['many.slice(0, 200).reduce(a => [a], 1)', ['TOO_LARGE']],
  ['many.slice(0, 200).reduce(a => ({ a }), 1)', ['TOO_LARGE']],
  ['many.slice(0, 100).map(x => long)', ['TOO_LARGE']],
  ['many.slice(0, 30).reduce(a => [a, a, a, a], long)', ['TOO_LARGE']],
  // long texts, over and over
  ['many.map(x => long.toUpperCase())', ['TOO_MANY_OPERATIONS']],
  ['many.map(x => long.includes(long.slice(1)))', ['TOO_MANY_OPERATIONS']],
  ['long.includes("b".padEnd(15000, "a"))', ['TOO_MANY_OPERATIONS']],
  ['"a".repeat(32000).indexOf("b" + "a".repeat(16000))', ['TOO_MANY_OPERATIONS']],
  ['"a".repeat(32000).replaceAll("b" + "a".repeat(16000), "")', ['TOO_MANY_OPERATIONS']],
  ['"a".repeat(32000).split("b" + "a".repeat(16000))', ['TOO_MANY_OPERATIONS']],
  ['many.map(x => long < long)', ['TOO_MANY_OPERATIONS']],
  ['many.map(x => +long)', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 30).map(x => "\\ufdfa".repeat(3000).normalize("NFKD"))', ['TOO_LARGE', 'TOO_MANY_OPERATIONS']],
  ['many.slice(0, 99).map(x => parseInt(long))', ['TOO_MANY_OPERATIONS']],
  ['many.slice(0, 99).map(x => long.localeCompare(long))', ['TOO_MANY_OPERATIONS']],
];

void t.test('what would take too much is stopped when the bound is crossed', async (t) => {
  for (const [source, reasons] of tooMuch) {
    const before = process.cpuUsage();
    const reason = reasonOf(source);
    const { user } = process.cpuUsage(before);
    t.ok(typeof reason === 'string' && reasons.includes(reason), source, { found: reason });
    t.ok(user < 250_000, `${source} takes ${user} µs`);
  }
});

void t.test('sources that are too long or too deep', async (t) => {
  const wrapped = (open: string, inner: string, close: string, times: number): string =>
    open.repeat(times) + inner + close.repeat(times);
  const deep = [
    wrapped('(', '1', ')', 150),
    wrapped('(', '1', ')', 1_900),
    wrapped('[', '1', ']', 1_900),
    '!'.repeat(3_900) + '1',
    wrapped('(-', '1', ')', 900),
    wrapped('{a:', '1', '}', 900),
    '1' + '+1'.repeat(1_500),
    'o' + '.a'.repeat(1_500),
    'o' + '?.a'.repeat(1_200),
    's' + '[0]'.repeat(1_200),
    's' + '.trim()'.repeat(500),
    'n?'.repeat(800) + '1' + ':1'.repeat(800),
    '`${'.repeat(700) + '1' + '}`'.repeat(700),
    'list.map(x=>'.repeat(250) + '1' + ')'.repeat(250),
    '2' + '**2'.repeat(1_200),
    'n' + '&&n'.repeat(1_200),
    wrapped('(', 'x=>x', ')', 1_500),
    `list.map((${wrapped('[', 'a', ']', 500)}) => 1)`,
    `list.map((${wrapped('{a:', 'b', '}', 500)}) => 1)`,
    '...'.repeat(1_000) + 'n',
    'typeof '.repeat(560) + 'n',
    'new '.repeat(900) + 'n',
    'a=>'.repeat(1_300) + '1',
    'async '.repeat(600) + 'x',
    '<!--'.repeat(900),
  ];
  for (const source of deep) {
    t.ok(source.length <= limits.expressionCharsMax, `${source.slice(0, 12)}… is short enough to be read`);
    t.ok(['TOO_DEEP', 'SYNTAX', 'NOT_ALLOWED'].includes(String(reasonOf(source))), `${source.slice(0, 12)}…`, {
      found: reasonOf(source),
    });
  }
  t.same(reasonOf('1'.padStart(limits.expressionCharsMax)), { gave: 1 });
  t.equal(reasonOf('1'.padStart(limits.expressionCharsMax + 1)), 'TOO_LONG');
  t.equal(reasonOf('('.repeat(1e6)), 'TOO_LONG');
  t.same(reasonOf('1' + '+1'.repeat(90)), { gave: 91 }, 'what people write is not too deep');
});

void t.test('the parser running out of stack is an error like any other', async (t) => {
  const source = '('.repeat(100_000);
  const roomy = { ...limits, expressionCharsMax: 1e6, expressionDepthMax: 1e6 };
  t.throws(() => compileExpression(source, { names, limits: roomy }), { name: 'ExpressionError', reason: 'TOO_DEEP' });
});

void t.test('operations are counted, the same on every machine', async (t) => {
  const cost = (source: string): number => {
    for (let max = 0; ; max += 1) {
      try {
        evaluate(source, { operationsMax: max });
        return max;
      } catch (error) {
        if (!(error instanceof ExpressionError) || error.reason !== 'TOO_MANY_OPERATIONS') throw error;
      }
    }
  };
  const table: readonly (readonly [string, number])[] = [
    ['n', 0],
    ['n + 1', 1],
    ['o?.then', 0],
    ['list[0]', 1],
    ['n && n', 1],
    ['n ? 1 : 2', 1],
    ['`${n}`', 1],
    ['[1, 2, 3]', 3],
    ['[]', 1],
    ['({ a: 1, b: 2 })', 2],
    ['[...list]', 4],
    ['s.trim()', 1],
    ['s.slice(0, 1)', 2],
    ['Math.max(1, 2, 3)', 3],
    ['list.map(x => x)', 4],
    ['list.reduce((a, x) => a + x, 0)', 7],
    ['list.join()', 4],
    ['list.slice(1)', 3],
    ['list.includes(9)', 4],
    ['list.sort()', 4],
    ['long.trim()', 1 + 117 + 117],
    ['long.length', 0],
    ['Object.keys({ a: 1 })', 3],
    ['list.map(({ a, b }) => 1)', 10],
  ];
  for (const [source, expected] of table) t.equal(cost(source), expected, source);
  const items = Array.from({ length: 300 }, () => ({ qty: 1, price: 2 }));
  const values = { list: items };
  t.equal(
    evaluate('list.reduce((s, i) => s + i.qty * i.price, 0)', { values }),
    600,
    'an order of 300 lines is within 1,000 operations',
  );
  t.throws(
    () => evaluate('list.reduce((s, i) => s + i.qty * i.price, 0)', { values: { list: [...items, ...items] } }),
    {
      reason: 'TOO_MANY_OPERATIONS',
      message: /1,000 operations/,
    },
  );
});

void t.test('values are read, never called: what a careless caller leaves on them stays asleep', async (t) => {
  const called: string[] = [];
  const trap = {};
  for (const name of [
    'toString',
    'valueOf',
    'toJSON',
    'join',
    'map',
    Symbol.toPrimitive,
    Symbol.iterator,
    Symbol.isConcatSpreadable,
  ]) {
    Object.defineProperty(trap, name, { value: () => called.push(String(name)) });
  }
  const source =
    '`${o}` + (o + 1) + (o == 1) + (o > 1) + [o, o] + s.concat(o) + s.split(o).length + [1].concat(o).length + isNaN(o) + parseInt(o) + [o].sort().length';
  t.match(evaluate(source, { values: { o: trap, s: 'x' } }), /^\[object Object\]\[object Object\]1falsefalse/);
  t.same(called, []);
});

void t.test('sentences name the place and what to write instead', async (t) => {
  const table: readonly (readonly [string, RegExp, number])[] = [
    [
      'n + o.customer.name',
      /reads "\.name" of "o\.customer", which is missing; write "o\.customer\?\.name" if it may be missing/,
      4,
    ],
    ['o.list[0]', /write "o\.list\?\.\[0\]"/, 0],
    ['o.list.map(x => x)', /reads "\.map" of "o\.list", which is missing; write "o\.list\?\.map"/, 0],
    ['n + total', /"total", which is neither a variable/, 4],
    ['unit-price', /"-" in its name, such as "unit-price"/, 0],
    ['n = 1', /to compare, write "==="/, 0],
    ['n +', /cannot be read as a JavaScript expression: unexpected token at character 4/, 3],
    ['n s', /goes on after its end, at character 3/, 2],
    ['list.push(1)', /cannot change values/, 5],
    [
      'list.map(n)',
      /calls "map" without a function: write one with an arrow, as in items\.map\(item => item\.price\)/,
      5,
    ],
    ['s.map(x => x)', /calls "map" on text, which has no such method/, 2],
    ['1 / 0', /results in Infinity/, 0],
  ];
  for (const [source, message, place] of table)
    t.throws(() => evaluate(source), { name: 'ExpressionError', message, at: place }, source);
});

/** Pieces of code in any order: whatever comes out is an answer or a refusal. */
const pieces = [
  'n',
  's',
  'o',
  'list',
  'many',
  'long',
  'key',
  '.',
  '?.',
  '[',
  ']',
  '(',
  ')',
  '{',
  '}',
  ',',
  ':',
  '?',
  '=>',
  '...',
  '`',
  '${',
  '"',
  "'",
  '/',
  '+',
  '-',
  '*',
  '**',
  '!',
  '=',
  '==',
  '<',
  '&&',
  '??',
  'new ',
  'typeof ',
  'in ',
  'async ',
  'await ',
  'yield ',
  'function',
  'class ',
  'this',
  'super',
  'import',
  'constructor',
  '__proto__',
  'prototype',
  'Math',
  'Date',
  'Number',
  'Object',
  'map',
  'reduce',
  'sort',
  'flat',
  'repeat',
  'x',
  '(x=>',
  '(a,b)=>',
  '1',
  '1e9',
  '0',
  'null',
  'undefined',
  '\\u0063',
  '#',
  ';',
  '\n',
  '//',
  '/*',
  '*/',
  'get ',
  'static ',
  'toString',
  'length',
];

void t.test('random code never does anything but answer or refuse', async (t) => {
  let refusals = 0;
  let answers = 0;
  const outcome = (source: string): void => {
    if (typeof reasonOf(source) === 'string') refusals += 1;
    else answers += 1;
  };
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((some) => some.join('')),
      outcome,
    ),
    { numRuns: 20_000, seed: 7 },
  );
  const all = Object.values(refused).flat();
  fc.assert(
    fc.property(
      fc.constantFrom(...all),
      fc.constantFrom(...all),
      fc.constantFrom('.', '?.', '+', '[', '(', ',', ' => ', '?', ''),
      (a, b, between) => outcome(`${a}${between}${b}`),
    ),
    { numRuns: 10_000, seed: 8 },
  );
  t.ok(refusals > 20_000 && answers > 100, `${refusals} refused, ${answers} answered`);
  t.equal(({} as Record<string, unknown>)['polluted'], undefined);
});
