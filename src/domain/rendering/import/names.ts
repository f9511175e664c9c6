/**
 * Names of an imported template: which of our paths a path of Handlebars means, the types that its uses tell, the
 * variables and sample values that result, and calculated variables for what our braces cannot say.
 */
import type { JsonObject } from '../../core/json.js';
import { isConstant } from '../scope/constants.js';
import { isConstantName, isKey, writePath, type Path } from '../scope/path.js';
import {
  comparisons,
  insertOf,
  patternOf,
  TooLarge,
  type Block,
  type Dialect,
  type Expr,
  type PathRef,
  type Place,
  type Statement,
} from './language.js';
import {
  isList,
  isPlural,
  isRecord,
  newUsage,
  samplesOf,
  singularOf,
  typeOf,
  variablesOf,
  type Calculated,
  type Usage,
} from './usage.js';

/** `dropped`: it is not in the template; `approximated`: it may look or act otherwise; `kept`: it is there in another form. */
export const importOutcomes = ['dropped', 'approximated', 'kept'] as const;
export type ImportOutcome = (typeof importOutcomes)[number];
/** In: what became of a thing of the source, its place, what it is, and what its author can do. */
export type AddNote = (done: ImportOutcome, at: Place, what: string, advice: string) => void;

type Loop = Readonly<{ item: string; index: string; source: Path; itemUsage: Usage; outer: Loop | undefined }>;
export type Scope = Readonly<{
  /** The path of `this`; undefined for all variables. */
  path: Path | undefined;
  usage: Usage;
  parent: Scope | undefined;
  isAlias: boolean;
  loop: Loop | undefined;
  /** Names inside of an expression for those of a loop in it. */
  inExpression: ReadonlyMap<string, string>;
}>;

/** A condition as the props of a conditional; `isNegated`: its children are those of the other branch. */
export type Condition = Readonly<{ props: JsonObject; isNegated: boolean }>;

/** Parts of a text that an expression can make: literals, values, and blocks of the same. */
export type TextPart = Exclude<Statement, Readonly<{ kind: 'unknown' }>>;

/** Names of other services for what constants of ours hold. */
const CONSTANTS: ReadonlyMap<string, string> = new Map([
  ['unsubscribe', '__UNSUBSCRIBE_URL__'],
  ['unsubscribe_preferences', '__UNSUBSCRIBE_URL__'],
  ['pm:unsubscribe', '__UNSUBSCRIBE_URL__'],
  ['pm:unsubscribe_url', '__UNSUBSCRIBE_URL__'],
  ['Sender_Name', '__COMPANY_NAME__'],
  ['Sender_Address', '__COMPANY_ADDRESS_LINE1__'],
  ['Sender_City', '__COMPANY_CITY__'],
  ['Sender_State', '__COMPANY_STATE__'],
  ['Sender_Zip', '__COMPANY_POSTAL_CODE__'],
]);

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const RESERVED = new Set(
  (
    'break case catch class const continue debugger default delete do else enum export extends false finally for function if import in ' +
    'instanceof new null return super switch this throw true try typeof var void while with yield let static await async of undefined ' +
    'NaN Infinity Math Number String Boolean Object Array Date JSON item index round addDays addMonths addYears parseInt parseFloat isNaN isFinite'
  ).split(' '),
);
const EXPRESSION_CHARS_MAX = 3_500;
const VARIABLES_MAX = 450;
const STEPS_MAX = 200_000;

export type Names = ReturnType<typeof openNames>;

/** In: the dialect, and values that the export brings. Out: the names of one template; `scan` comes first. */
export const openNames = (dialect: Dialect, sample: JsonObject | undefined, note: AddNote) => {
  const top = newUsage(sample);
  const work = { left: STEPS_MAX };
  /** Bounds the time of a conversion: each look at a node, a path or a name takes a step. */
  const spend = (steps: number): void => {
    work.left -= steps;
    if (work.left < 0)
      throw new TooLarge('takes too many steps: it has too many placeholders within each other or in one line');
  };
  const calculated = new Map<string, Calculated>();
  const told = new Set<string>();
  /** Names of items and indexes of loops. */
  const locals = new Set<string>();
  const root: Scope = {
    path: undefined,
    usage: top,
    parent: undefined,
    isAlias: false,
    loop: undefined,
    inExpression: new Map(),
  };
  const noteOnce = (key: string, ...given: Parameters<AddNote>): void => {
    if (told.has(key)) return;
    told.add(key);
    note(...given);
  };

  const memberUsage = (usage: Usage, name: string): Usage => {
    const known = usage.members.get(name);
    if (known !== undefined) return known;
    const made = newUsage(isRecord(usage.sample) && Object.hasOwn(usage.sample, name) ? usage.sample[name] : undefined);
    usage.members.set(name, made);
    return made;
  };
  const itemUsage = (usage: Usage): Usage =>
    (usage.item ??= newUsage(isList(usage.sample) ? usage.sample[0] : undefined));

  /** Undefined where our paths have no counterpart. */
  const resolve = (ref: PathRef, from: Scope): Readonly<{ path: Path; usage: Usage }> | undefined => {
    let scope = from;
    spend(1 + ref.up);
    for (let step = 0; step < ref.up; step += 1) scope = scope.parent ?? root;
    if (ref.data === 'index' && scope.loop !== undefined)
      return { path: [scope.loop.index], usage: newUsage(undefined) };
    if (ref.data !== undefined && ref.data !== 'root') return undefined;
    if (ref.data === 'root') scope = root;
    if (ref.parts.length > 0) while (scope.isAlias) scope = scope.parent ?? root;
    const [first] = ref.parts;
    if (scope.path === undefined && first !== undefined && ref.parts.length === 1) {
      const constant = isConstantName(first) && isConstant(first) ? first : CONSTANTS.get(first);
      if (constant !== undefined) return { path: [constant], usage: newUsage(undefined) };
    }
    if (scope.path === undefined && (first === undefined || isConstantName(first))) return undefined;
    let { usage } = scope;
    const path: (string | number)[] = [...(scope.path ?? [])];
    if (ref.parts.length + path.length > 18) return undefined;
    for (const [at, part] of ref.parts.entries()) {
      if (part === 'length' && at > 0 && at === ref.parts.length - 1 && !isRecord(usage.sample)) {
        itemUsage(usage);
        return { path: [...path, part], usage: { ...newUsage(0), isNumber: true } };
      }
      const isPlace = /^\d{1,6}$/.test(part) && path.length > 0 && !isRecord(usage.sample);
      if (!isPlace && !isKey(part)) return undefined;
      usage = isPlace ? itemUsage(usage) : memberUsage(usage, part);
      path.push(isPlace ? Number(part) : part);
    }
    return { path, usage };
  };

  const isOfNames = (parts: readonly Statement[]): 'names' | 'itself' | 'nothing' => {
    let found: 'names' | 'itself' | 'nothing' = 'nothing';
    const look = (expr: Expr): void => {
      if (expr.kind === 'call') return expr.args.forEach(look);
      if (expr.kind !== 'path' || expr.up > 0 || expr.data === 'root') return;
      if (expr.parts.length > 0 && !CONSTANTS.has(expr.parts[0] ?? '')) found = 'names';
      else if (expr.parts.length === 0 && found === 'nothing') found = 'itself';
    };
    const walk = (all: readonly Statement[]): void =>
      all.forEach((one) => {
        if (one.kind === 'value') look(one.value);
        if (one.kind !== 'block') return;
        one.args.forEach(look);
        if (one.name !== 'each' && one.name !== 'section' && one.name !== 'with') walk(one.body);
        walk(one.other);
      });
    walk(parts);
    return found;
  };

  /** The meaning of `{{#name}}`, which its value decides: a loop, another scope, or a condition. */
  const sectionKind = (ref: PathRef, scope: Scope, body: readonly Statement[]): 'each' | 'with' | 'if' => {
    const found = resolve(ref, scope);
    if (found === undefined) return 'if';
    const { usage } = found;
    if (isList(usage.sample) || usage.item !== undefined) return 'each';
    if (isRecord(usage.sample)) return 'with';
    if (usage.sample !== undefined) return 'if';
    const name = ref.parts.at(-1) ?? '';
    const uses = isOfNames(body);
    if (uses !== 'names') return uses === 'itself' && isPlural(name) ? 'each' : 'if';
    if (namesIn(body).has(name)) return 'if';
    return isPlural(name) && dialect === 'handlebars' ? 'each' : 'with';
  };

  const freshName = (wanted: string, taken: (name: string) => boolean): string => {
    const base =
      wanted
        .replace(/[^A-Za-z0-9_]/g, '')
        .replace(/^\d+/, '')
        .slice(0, 60) || 'value';
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? base : `${base}${number}`;
      spend(1);
      if (!taken(name) && !RESERVED.has(name)) return name;
    }
  };
  const isTakenAtTop = (name: string): boolean => top.members.has(name) || calculated.has(name) || locals.has(name);

  const intoLoop = (scope: Scope, source: Path, usage: Usage): Scope => {
    const last = source.findLast((step) => typeof step === 'string');
    const loopItem = itemUsage(usage);
    const name = singularOf(typeof last === 'string' ? last : 'entry');
    const item = freshName(name === last || RESERVED.has(name) ? `${name}Entry` : name, isTakenAtTop);
    locals.add(item);
    const index = freshName(`${item}Index`, isTakenAtTop);
    locals.add(index);
    const loop = { item, index, source, itemUsage: loopItem, outer: scope.loop };
    return { path: [item], usage: loopItem, parent: scope, isAlias: false, loop, inExpression: scope.inExpression };
  };
  const intoValue = (
    scope: Scope,
    { path, usage }: Readonly<{ path: Path; usage: Usage }>,
    isAlias: boolean,
  ): Scope => ({
    ...scope,
    path,
    usage,
    parent: scope,
    isAlias,
  });

  /** The scope of the body of a block; undefined where its path means nothing here. */
  type Entered =
    Readonly<{ kind: 'each'; source: Path; usage: Usage; scope: Scope }> | Readonly<{ kind: 'if'; scope: Scope }>;
  const enter = <Part>(block: Block<Part>, scope: Scope, scanned?: readonly Statement[]): Entered => {
    const [ref] = block.args;
    if (ref?.kind !== 'path') return { kind: 'if', scope };
    const kind =
      block.name === 'section'
        ? (sectionKinds.get(placeKey(block.at)) ?? sectionKind(ref, scope, scanned ?? []))
        : block.name === 'each' || block.name === 'with'
          ? block.name
          : 'if';
    if (block.name === 'section') sectionKinds.set(placeKey(block.at), kind);
    if (kind === 'if' && block.name !== 'section') return { kind: 'if', scope };
    const found = resolve(ref, scope);
    if (found === undefined) return { kind: 'if', scope };
    if (kind === 'each')
      return { kind, source: found.path, usage: found.usage, scope: intoLoop(scope, found.path, found.usage) };
    return { kind: 'if', scope: intoValue(scope, found, kind === 'if') };
  };
  const sectionKinds = new Map<string, 'each' | 'with' | 'if'>();

  const look = (expr: Expr, scope: Scope, how: 'shown' | 'tested' | 'number' | 'list'): void => {
    if (expr.kind === 'literal') return;
    if (expr.kind === 'path') {
      const usage = resolve(expr, scope)?.usage;
      if (usage === undefined) return;
      if (how === 'shown') usage.isShown = true;
      if (how === 'shown') usage.patterns.add('');
      if (how === 'tested') usage.isTested = true;
      if (how === 'number') usage.isNumber = true;
      if (how === 'list') itemUsage(usage);
      return;
    }
    if (expr.name === 'insert') {
      const { path, otherwise } = insertOf(expr);
      const usage = path && resolve(path, scope)?.usage;
      if (usage === undefined) return;
      usage.isShown = true;
      usage.patterns.add('');
      usage.fallback ??= otherwise;
      return;
    }
    const [first, second] = expr.args;
    if (expr.name === 'formatDate' && first?.kind === 'path' && second?.kind === 'literal') {
      resolve(first, scope)?.usage.patterns.add(String(second.value));
      return;
    }
    if (expr.name === 'length' && first !== undefined) return look(first, scope, 'list');
    if (Object.hasOwn(comparisons, expr.name)) {
      for (const [one, other] of [[first, second] as const, [second, first] as const]) {
        if (one?.kind !== 'path') continue;
        const usage = resolve(one, scope)?.usage;
        if (usage === undefined) continue;
        usage.isTested = true;
        if (other?.kind === 'literal' && other.value !== null) usage.equals ??= other.value;
        if (other?.kind === 'literal' && typeof other.value === 'number') usage.isNumber = true;
        else if (!/^(?:equals|eq|notEquals|ne|neq)$/.test(expr.name)) usage.isNumber = true;
      }
      expr.args.forEach((arg) => (arg.kind === 'call' ? look(arg, scope, 'tested') : undefined));
      return;
    }
    expr.args.forEach((arg) => look(arg, scope, 'tested'));
  };

  /** Reads every path, so that types are known before the first component is made. */
  const scan = (statements: readonly Statement[], scope: Scope = root): void => {
    for (const one of statements) {
      if (one.kind === 'value') look(one.value, scope, 'shown');
      if (one.kind !== 'block') continue;
      const { name, args, body, other } = one;
      const [first] = args;
      if (name === 'each' && first !== undefined) look(first, scope, 'list');
      else if (name === 'section' && first?.kind === 'path') {
        const kind = sectionKind(first, scope, body);
        sectionKinds.set(placeKey(one.at), kind);
        look(
          first,
          scope,
          kind === 'each' ? 'list' : kind === 'if' && isOfNames(body) === 'itself' ? 'shown' : 'tested',
        );
      } else if (name === 'if' || name === 'unless' || name === 'with')
        args.forEach((arg) => look(arg, scope, 'tested'));
      else look({ kind: 'call', name, args }, scope, 'tested');
      const before = new Set(locals);
      scan(body, enter(one, scope, body).scope);
      for (const local of locals) if (!before.has(local)) locals.delete(local);
      scan(other, scope);
    }
  };

  /** The path as an expression; undefined where expressions cannot read it. `within`: the loop whose member it is of. */
  const jsPath = (
    path: Path,
    scope: Scope,
    within: Loop | undefined,
  ): Readonly<{ js: string; isOfItem: boolean }> | undefined => {
    const [first, ...rest] = path;
    if (typeof first !== 'string') return undefined;
    const steps = rest
      .map((step) =>
        typeof step === 'number' ? `?.[${step}]` : IDENTIFIER.test(step) ? `?.${step}` : `?.[${JSON.stringify(step)}]`,
      )
      .join('');
    const local = scope.inExpression.get(first);
    if (local !== undefined) return { js: local + steps, isOfItem: false };
    for (let loop = scope.loop; loop !== undefined; loop = loop.outer) {
      if (first !== loop.item && first !== loop.index) continue;
      if (loop !== within || scope.inExpression.has(loop.item)) return undefined;
      return { js: (first === loop.item ? 'item' : 'index') + steps, isOfItem: true };
    }
    return IDENTIFIER.test(first) && !RESERVED.has(first) && !isConstantName(first)
      ? { js: first + steps, isOfItem: false }
      : undefined;
  };

  type Expression = { uses: boolean; within: Loop | undefined };
  const truthJs = (expr: Expr, scope: Scope, state: Expression): string | undefined => {
    if (expr.kind === 'literal') return JSON.stringify(Boolean(expr.value));
    if (expr.kind === 'path') {
      if (expr.data === 'first')
        return scope.loop === undefined
          ? undefined
          : joined(jsPath([scope.loop.index], scope, state.within), state, (js) => `${js} === 0`);
      const found = resolve(expr, scope);
      if (found === undefined) return undefined;
      const type = typeOf(found.usage);
      return joined(jsPath(found.path, scope, state.within), state, (js) =>
        type === 'array' ? `(${js}?.length ?? 0) > 0` : type === 'object' ? `(${js} ?? null) !== null` : `!!${js}`,
      );
    }
    const { name, args } = expr;
    const parts = (): readonly (string | undefined)[] => args.map((arg) => truthJs(arg, scope, state));
    const all = (sign: string): string | undefined => {
      const found = parts();
      return found.length === 0 || found.includes(undefined) ? undefined : `(${found.join(` ${sign} `)})`;
    };
    if (name === 'and' || name === 'or') return all(name === 'and' ? '&&' : '||');
    if (name === 'if') return all('&&');
    if (name === 'not' || name === 'unless') {
      const [one] = parts();
      return one === undefined ? undefined : `!(${one})`;
    }
    if (name === 'length') {
      const js = valueJs(expr, scope, state);
      return js && `${js} > 0`;
    }
    const operator = Object.hasOwn(comparisons, name) ? comparisons[name] : undefined;
    const [left, right] = args.map((arg) => valueJs(arg, scope, state));
    if (operator === undefined || left === undefined || right === undefined) return undefined;
    return `${left} ${operator === '==' ? '==' : operator} ${right}`;
  };
  const joined = (
    found: Readonly<{ js: string; isOfItem: boolean }> | undefined,
    state: Expression,
    write: (js: string) => string,
  ): string | undefined => {
    if (found === undefined) return undefined;
    state.uses ||= found.isOfItem;
    return write(found.js);
  };
  const valueJs = (expr: Expr, scope: Scope, state: Expression): string | undefined => {
    if (expr.kind === 'literal') return JSON.stringify(expr.value);
    if (expr.kind === 'path') {
      const found = resolve(expr, scope);
      if (found === undefined || (found.usage.patterns.size > 0 && typeOf(found.usage) === 'date')) return undefined;
      const otherwise = found.usage.fallback;
      return joined(jsPath(found.path, scope, state.within), state, (js) =>
        otherwise === undefined ? js : `(${js} || ${JSON.stringify(otherwise)})`,
      );
    }
    const [first] = expr.args;
    if (expr.name === 'length' && first !== undefined) {
      const js = valueJs(first, scope, state);
      return js && `(${js}?.length ?? 0)`;
    }
    const path = expr.name === 'insert' ? insertOf(expr).path : undefined;
    return path === undefined ? undefined : valueJs(path, scope, state);
  };

  const textJs = (parts: readonly TextPart[], scope: Scope, state: Expression): string | undefined => {
    const pieces = parts.map((part) => {
      switch (part.kind) {
        case 'text':
          return part.text.replace(/[`\\]|\$(?=\{)/g, '\\$&');
        case 'value': {
          const js = valueJs(part.value, scope, state);
          return js && `\${${js} ?? ""}`;
        }
        case 'block': {
          const entered = enter(part, scope);
          const isText = (one: Statement): one is TextPart => one.kind !== 'unknown';
          if (entered.kind === 'each') {
            const source = joined(jsPath(entered.source, scope, state.within), state, (js) => js);
            const { loop } = entered.scope;
            if (source === undefined || loop === undefined || part.other.length > 0) return undefined;
            const depth = scope.inExpression.size / 2;
            const inExpression = new Map([...scope.inExpression, [loop.item, `x${depth}`], [loop.index, `i${depth}`]]);
            const body = textJs(part.body.filter(isText), { ...entered.scope, inExpression }, state);
            return body && `\${(${source} ?? []).map((x${depth}, i${depth}) => ${body}).join("")}`;
          }
          const test = truthJs(testOf(part), scope, state);
          const body = textJs(part.body.filter(isText), entered.scope, state);
          const other = textJs(part.other.filter(isText), scope, state);
          return test === undefined || body === undefined || other === undefined
            ? undefined
            : `\${${test} ? ${body} : ${other}}`;
        }
      }
    });
    return pieces.includes(undefined) ? undefined : `\`${pieces.join('')}\``;
  };

  /** Makes a calculated variable, or a calculated member of the items of the innermost loop. Out: its path. */
  const calculate = (
    scope: Scope,
    wanted: string,
    type: Calculated['type'],
    write: (state: Expression) => string | undefined,
    pattern?: string,
  ): Path | undefined => {
    const within = scope.loop !== undefined && typeOf(scope.loop.itemUsage) === 'object' ? scope.loop : undefined;
    const state: Expression = { uses: false, within };
    const expression = write(state);
    if (expression === undefined || expression.length > EXPRESSION_CHARS_MAX) return undefined;
    const made: Calculated = { type, expression, ...(pattern === undefined ? {} : { pattern }) };
    const into = state.uses && within !== undefined ? within.itemUsage : undefined;
    const all = into?.calculated ?? calculated;
    spend(1 + all.size / 8 + expression.length / 64);
    const [known] =
      [...all].find(([, one]) => one.expression === expression && one.type === type && one.pattern === pattern) ?? [];
    if (known === undefined && calculated.size >= VARIABLES_MAX) return undefined;
    const isTaken = (one: string): boolean =>
      into === undefined ? isTakenAtTop(one) : into.members.has(one) || into.calculated.has(one);
    const name = known ?? freshName(wanted, isTaken);
    all.set(name, made);
    return into === undefined || within === undefined ? [name] : [within.item, name];
  };

  /** The call that a block tests. */
  const testOf = <Part>({ name, args }: Block<Part>): Expr =>
    name === 'section' || name === 'with'
      ? (args[0] ?? { kind: 'literal', value: false })
      : { kind: 'call', name, args };

  const wantedName = (expr: Expr): string => {
    if (expr.kind === 'literal') return 'shown';
    if (expr.kind === 'path') return expr.parts.at(-1) ?? 'shown';
    return expr.args.map(wantedName).find((name) => name !== 'shown') ?? 'shown';
  };
  const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

  const lastIndexOf = (scope: Scope): Path | undefined => {
    const { loop } = scope;
    if (loop === undefined) return undefined;
    const around: Scope = { ...scope, loop: loop.outer };
    return calculate(around, `${String(loop.source.at(-1))}LastIndex`, 'number', (state) =>
      joined(jsPath(loop.source, around, state.within), state, (js) => `(${js}?.length ?? 0) - 1`),
    );
  };

  const testCondition = (expr: Expr, scope: Scope): Condition | undefined => {
    if (expr.kind === 'path') {
      const { loop } = scope;
      if (expr.data === 'first' && loop !== undefined)
        return { props: { condition: loop.index, operator: '==', value: 0 }, isNegated: false };
      if (expr.data === 'last' && loop !== undefined) {
        const last = lastIndexOf(scope);
        return (
          last && {
            props: { condition: loop.index, operator: '==', value: `{{${writePath(last)}}}` },
            isNegated: false,
          }
        );
      }
      const found = resolve(expr, scope);
      if (found === undefined) return undefined;
      const condition = writePath(found.path);
      switch (found.path.length === 1 && found.path[0] === loop?.index ? 'number' : typeOf(found.usage)) {
        case 'boolean':
          return { props: { condition, operator: '==', value: true }, isNegated: false };
        case 'array':
          return { props: { condition: `${condition}.length`, operator: '>', value: 0 }, isNegated: false };
        case 'object':
          return { props: { condition, operator: 'exists' }, isNegated: false };
        case 'string':
        case 'date':
          return { props: { condition, operator: 'isEmpty' }, isNegated: true };
        case 'number':
          return calculatedCondition(expr, scope) ?? { props: { condition, operator: 'exists' }, isNegated: false };
      }
    }
    if (expr.kind === 'literal') return undefined;
    const { name, args } = expr;
    const [first, second] = args;
    if ((name === 'if' || name === 'unless' || name === 'not') && first !== undefined) {
      const found = testCondition(first, scope);
      return found && (name === 'if' ? found : { ...found, isNegated: !found.isNegated });
    }
    const operator = Object.hasOwn(comparisons, name) ? comparisons[name] : undefined;
    if (operator !== undefined && first !== undefined && second !== undefined) {
      const isTurned = first.kind === 'literal' && second.kind === 'path';
      const [left, right] = isTurned ? [second, first] : [first, second];
      const sign = isTurned ? (TURNED[operator] ?? operator) : operator;
      const found = left.kind === 'path' ? resolve(left, scope) : undefined;
      const value =
        right.kind === 'literal' ? right.value : right.kind === 'path' ? placeholderOf(right, scope) : undefined;
      if (found !== undefined && value !== undefined)
        return { props: { condition: writePath(found.path), operator: sign, value }, isNegated: false };
    }
    return calculatedCondition(expr, scope);
  };
  const calculatedCondition = (expr: Expr, scope: Scope): Condition | undefined => {
    const path = calculate(scope, `has${upperFirst(wantedName(expr))}`, 'boolean', (state) =>
      truthJs(expr, scope, state),
    );
    return path && { props: { condition: writePath(path), operator: '==', value: true }, isNegated: false };
  };
  const placeholderOf = (ref: PathRef, scope: Scope): string | undefined => {
    const found = resolve(ref, scope);
    return found && `{{${writePath(found.path)}}}`;
  };

  /** `{{path}}` for a value that is shown; undefined where it cannot be carried over. */
  const shown = (expr: Expr, scope: Scope, as: 'text' | 'link' | 'picture'): string | undefined => {
    if (expr.kind === 'literal') return String(expr.value ?? '').replaceAll('{', '&#123;');
    if (expr.kind === 'path') {
      if (expr.data === 'first' || expr.data === 'last') return undefined;
      const found = resolve(expr, scope);
      if (found === undefined) return undefined;
      if (as !== 'text') found.usage.isLink = true;
      if (as === 'picture') found.usage.isPicture = true;
      return `{{${writePath(found.path)}}}`;
    }
    const [first, second] = expr.args;
    if (expr.name === 'insert') {
      const { path } = insertOf(expr);
      return path && shown(path, scope, as);
    }
    if (expr.name === 'length' && first?.kind === 'path') {
      const found = resolve(first, scope);
      return found && `{{${writePath([...found.path, 'length'])}}}`;
    }
    if (expr.name === 'formatDate' && first?.kind === 'path' && second?.kind === 'literal') {
      const found = resolve(first, scope);
      const pattern = patternOf(String(second.value));
      if (found === undefined || pattern === undefined) return undefined;
      if (typeOf(found.usage) === 'date' && found.usage.patterns.size === 1) return `{{${writePath(found.path)}}}`;
      const path = calculate(
        scope,
        `${first.parts.at(-1) ?? 'date'}Written`,
        'date',
        (state) => joined(jsPath(found.path, scope, state.within), state, (js) => js),
        pattern,
      );
      return path && `{{${writePath(path)}}}`;
    }
    return undefined;
  };

  /** `{{path}}` of a calculated text; undefined where no expression can make it. */
  const text = (parts: readonly TextPart[], scope: Scope): string | undefined => {
    const named = parts.find((part) => part.kind === 'block');
    const wanted = named === undefined ? 'text' : `${wantedName(testOf(named))}Text`;
    const path = calculate(scope, wanted, 'string', (state) => textJs(parts, scope, state));
    return path && `{{${writePath(path)}}}`;
  };

  /** True where a value may be a list, as a `{{#each}}` over an object is not. */
  const isLoopable = (usage: Usage): boolean => !isRecord(usage.sample);
  const hasGuessedTypes = (): boolean => sample === undefined && top.members.size > 0;

  return {
    spend,
    root,
    scan,
    resolve,
    enter,
    shown,
    text,
    condition: <Part>(block: Block<Part>, scope: Scope) => testCondition(testOf(block), scope),
    variables: (): readonly JsonObject[] => variablesOf(top, calculated),
    /** Values of all variables for a preview: those of the export, and others made up. */
    samples: (): JsonObject => samplesOf(top, calculated),
    isLoopable,
    hasGuessedTypes,
    noteOnce,
  };
};

const placeKey = ({ line, column }: Place): string => `${line}:${column}`;
const TURNED: Readonly<Record<string, '==' | '!=' | '>' | '<' | '>=' | '<='>> = {
  '>': '<',
  '<': '>',
  '>=': '<=',
  '<=': '>=',
};
const namesIn = (parts: readonly Statement[]): ReadonlySet<string> =>
  new Set(
    parts.flatMap((one): readonly string[] =>
      one.kind === 'value' && one.value.kind === 'path' && one.value.up === 0 && one.value.parts.length === 1
        ? [one.value.parts[0] ?? '']
        : one.kind === 'block'
          ? [...namesIn(one.body), ...namesIn(one.other)]
          : [],
    ),
  );
