/** QR codes, bar codes and payment codes of a document: what they hold is settled here, an output only draws. */
import { invalidAt } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import { codeContent, codeKindOf, isBarKind } from '../codes.js';
import type { EpcFields } from '../epc.js';
import { compileJson, compileRaw } from '../fill/filling.js';
import { aligns, errorCorrections } from '../props.js';
import { fitsQrCode } from '../qr-code.js';
import { charge, type Scope, type State } from '../scope/scope.js';
import type { CompileComponent, Expander } from './expander.js';
import { colorOf, compilePoints, compileWord, defined } from './style.js';

const QR_POINTS = 96;

/** A code that says nothing is not there. */
export const qrCode: CompileComponent = ({ id, props = {} }, field, scope) => codeAt(props, { id, field, props: `${field}.props` }, scope);

/** `props`: the place of the props, for messages. */
type CodePlace = Readonly<{ id: string; field: string; props: string }>;

/** The same wherever its props stand. */
export const codeAt = (props: JsonObject, place: CodePlace, scope: Scope): Expander => {
  const { id, field } = place;
  const kind = codeKindOf(props['kind']);
  const value = compileText(props['value'], scope);
  const payment = compilePayment(props, scope);
  const [size, height] = [compilePoints(props['size'], scope), compilePoints(props['height'], scope)];
  const errorCorrection = compileWord(props['errorCorrection'], errorCorrections, scope);
  const [color, backgroundColor] = [colorOf(props['color'], scope), colorOf(props['backgroundColor'], scope)];
  const align = compileWord(props['align'], aligns, scope);
  const [gs1, showText] = [props['gs1'] === true, props['showText'] !== false];
  return (state, out) => {
    const content = codeContent(kind, gs1, value(state), () => payment(state));
    if (content === undefined) return;
    if ('fault' in content) throw invalidAt(`${place.props}.${content.prop}`, content.fault);
    const level = kind === 'epc' ? 'M' : (errorCorrection(state) ?? 'M');
    if (!isBarKind(kind)) fitsQrCode(content.text, level, field);
    out.push({
      type: 'qr-code',
      id,
      field,
      value: content.text,
      size: size(state) || (isBarKind(kind) ? undefined : QR_POINTS),
      errorCorrection: level,
      color: color(state) ?? '#000000',
      backgroundColor: backgroundColor(state) ?? '#ffffff',
      align: align(state),
      ...defined({ alt: content.alt, bars: isBarKind(kind) ? { kind, height: height(state) || undefined, showText, gs1 } : undefined }),
    });
  };
};

type TextOf = (state: State) => string;

const compileText = (text: Json | undefined, scope: Scope): TextOf => {
  const fill = compileRaw(typeof text === 'string' ? text : '', scope);
  return (state) => charge(fill(state), state, scope.limits);
};

/** The amount is the value itself: one that is written with a currency or grouped digits is no number any more. */
const compilePayment = (props: JsonObject, scope: Scope): ((state: State) => EpcFields) => {
  const text = (name: keyof EpcFields): TextOf => compileText(props[name], scope);
  const [name, iban, bic, purpose, reference, message] = [
    text('name'),
    text('iban'),
    text('bic'),
    text('purpose'),
    text('reference'),
    text('text'),
  ];
  const amount = compileJson(typeof props['amount'] === 'string' ? props['amount'].trim() : props['amount'], scope);
  return (state) => ({
    name: name(state),
    iban: iban(state),
    bic: bic(state),
    amount: amount(state),
    purpose: purpose(state),
    reference: reference(state),
    text: message(state),
  });
};
