/** Bar codes and payment codes of a mail: pictures inside it, with what they say beside them in the text part. */
import type { Json, JsonObject } from '../../../../domain/core/json.js';
import { codeKindOf, epcProps } from '../../../../domain/rendering/codes.js';
import { hasPlaceholder } from '../../../../domain/rendering/fill/templated-text.js';
import { writePath } from '../../../../domain/rendering/scope/path.js';
import { INLINE, js, quote, type Term } from '../code.js';
import type { Context } from '../context.js';
import { writeLine } from '../rich-text.js';
import { aligned, attributeSafe, classAttribute, colorClass, css } from '../style.js';
import { jsonOf, plainOf, templated } from '../values.js';
import { alignAttribute, gap } from './blocks.js';

export const barCode = (props: JsonObject, id: string, context: Context): void => {
  const { code, type } = context;
  const shown = code.remember(`CODE(${fieldsOf(props, context)},${INLINE},${optionsOf(props, id, context)})`);
  const of = (member: string): Term => js(`${shown}.${member}`);
  code.block(`if(${shown}!==void 0)`, () => {
    code.html('<tr><td', ...alignAttribute(aligned(props, type.align, context), context), ` style="padding:${gap(context)}">`);
    code.html('<img', classAttribute(colorClass('text', type.color, context)), ' src="', of('src'), '" alt="', js(`E(${shown}.alt)`));
    code.html('" width="', of('width'), '" height="', of('height'), '" style="display:block;border:0;width:', of('width'));
    code.html('px;max-width:100%;height:auto;font-family:', attributeSafe(type.fontFamily), ';font-size:14px;color:', type.color);
    code.html('"></td></tr>');
    writeLine([js(`T(${shown}.text)`)], context);
  });
};

const members = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([name, expression]) => `${name}:${expression}`).join(',')}}`;

/** The amount of a payment is the value itself: one that is written with a currency or grouped digits is no number any more. */
const fieldsOf = (props: JsonObject, context: Context): string => {
  const text = (value: Json | undefined): string => (typeof value === 'string' ? plainOf(templated(value, context), context) : '""');
  if (codeKindOf(props['kind']) !== 'epc') return members([['value', text(props['value'])]]);
  return members(epcProps.map((name) => [name, name === 'amount' ? jsonOf(amountOf(props), context) : text(props[name])]));
};

const amountOf = ({ amount }: JsonObject): Json | undefined => (typeof amount === 'string' ? amount.trim() : amount);

const optionsOf = (props: JsonObject, id: string, context: Context): string => {
  const looks = [
    ['size', css('length', props['size'], '', context)],
    ['height', css('length', props['height'], '', context)],
    ['color', css('color', props['color'], '#000000', context)],
    ['background', css('color', props['backgroundColor'], '#ffffff', context)],
  ] as const;
  const fields = Object.entries(props).flatMap(([name, value]) => {
    const path = pathIn(value, context);
    return path === undefined ? [] : [[name, quote(path)] as const];
  });
  const written = members([
    ['kind', quote(codeKindOf(props['kind']))],
    ['id', quote(id)],
    ['room', String(context.widthPx)],
    ['showText', String(props['showText'] !== false)],
    ['gs1', String(props['gs1'] === true)],
    ['fields', members(fields)],
    ...looks.map(([name, term]) => [name, typeof term === 'string' ? quote(term) : term.js] as const),
  ]);
  return looks.every(([, term]) => typeof term === 'string') ? context.code.constant(written) : written;
};

/** Where a value comes from, for messages: the first path of a prop. */
const pathIn = (value: Json | undefined, context: Context): string | undefined => {
  if (typeof value !== 'string' || !hasPlaceholder(value)) return undefined;
  const first = templated(value, context).find((part) => typeof part !== 'string');
  return first === undefined || typeof first === 'string' ? undefined : `variables.${writePath(first.path)}`;
};
