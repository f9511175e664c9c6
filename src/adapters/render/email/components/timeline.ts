/**
 * Timeline: steps one below the other, a dot before each and a line between them, which cells of a table draw in every
 * client.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../../domain/core/json.js';
import type { TemplatedText } from '../../../../domain/rendering/fill/templated-text.js';
import { progressOf, type Progress } from '../../../../domain/rendering/expand/expanded.js';
import { concat, js, literalOf, type Term } from '../code.js';
import { type ComponentRenderer, type Context, plainOf, shownOf, templated, textOf } from '../values.js';
import {
  attributeSafe,
  boxAt,
  classAttribute,
  color as colorOf,
  colorClass,
  readable,
  startOf,
  surfaceOf,
  tableTag,
  textDeclarations,
} from '../style.js';
import { gap, propsOf, openItems, withLines } from './blocks.js';

type Step = Readonly<{
  title: TemplatedText;
  description: TemplatedText;
  date: TemplatedText;
  status: TemplatedText;
  /** Known where the status is a literal, else the expression of it. */
  progress: Progress | Readonly<{ js: string }>;
}>;

export const timeline: ComponentRenderer = (component, outer) => {
  const context = withLines(component, outer);
  const props = propsOf(component);
  const { code } = context;
  const color = colorOf(props['color'], context.accent, context);
  code.html(`<tr${context.mark}><td style="padding:${gap(context)}">${tableTag(context)}>`);
  if (props['dataSource'] === undefined) {
    const items = Array.isArray(props['items']) ? (props['items'] as readonly Json[]) : [];
    items.forEach((item, at) =>
      writeStep(stepOf(isJsonObject(item) ? item : {}, context), { color, isLast: at === items.length - 1 }, context),
    );
  } else {
    openItems(props, context, (inner, index, count) =>
      writeStep(stepOf(props, inner), { color, isLast: { js: `${index}===${count}-1` } }, inner),
    );
  }
  code.html('</table></td></tr>');
  code.text('\n');
};

const stepOf = (given: JsonObject, context: Context): Step => {
  const text = (name: string): TemplatedText => templated(typeof given[name] === 'string' ? given[name] : '', context);
  const status = text('status');
  const literal = literalOf(textOf(status, context));
  const progress =
    literal === undefined
      ? { js: context.code.remember(`PROGRESS(${plainOf(status, context)})`) }
      : progressOf(literal);
  return { title: text('title'), description: text('description'), date: text('date'), status, progress };
};

type Look = Readonly<{
  color: Term;
  /** Known, or the expression of it. */ isLast: boolean | Readonly<{ js: string }>;
}>;

const writeStep = (step: Step, { color, isLast }: Look, context: Context): void => {
  const { code, type } = context;
  const { progress } = step;
  const details = detailsOf(step, context);
  // The line stands in a row of its own, which takes all that the text needs beyond the dot.
  const written = (last: boolean): readonly Term[] => [
    '<td rowspan="2"',
    classAttribute(colorClass('text', type.color, context)),
    ` align="${startOf(context)}" valign="top" style="padding:${boxAt(startOf(context), '12px', last ? '0' : '20px')};`,
    ...textDeclarations(type).map(attributeSafe),
    '"><strong style="font-weight:600">',
    ...shownOf(step.title, context),
    '</strong>',
    ...(details === '' ? [] : ['<div>', details, '</div>']),
    '</td></tr><tr>',
    `<td width="13" style="width:13px;${THIN}">&nbsp;</td>`,
    last ? EMPTY : byProgress(progress, (one) => line(one, color, context)),
    '</tr>',
  ];
  code.html(
    `<tr style="height:${DOT_ROW_PX}px">`,
    byProgress(progress, (one) => dotCell(one, color, context)),
    ...(typeof isLast === 'boolean'
      ? written(isLast)
      : [js(`(${isLast.js}?${concat(written(true))}:${concat(written(false))})`)]),
  );
  code.text(
    js(
      `MOMENT(${[step.title, step.date, step.status, step.description].map((text) => concat(textOf(text, context))).join(',')})`,
    ),
    '\n',
  );
};

/** The terms for the progress of a step, chosen when it is rendered where it is not known before. */
const byProgress = (progress: Step['progress'], of: (progress: Progress) => readonly Term[]): Term => {
  if (typeof progress === 'string') return joined(of(progress));
  const [completed, current, pending, none] = (['completed', 'current', 'pending', 'none'] as const).map((one) =>
    concat(of(one)),
  );
  const { js: value } = progress;
  return js(
    `(${value}==="completed"?${completed}:${value}==="current"?${current}:${value}==="pending"?${pending}:${none})`,
  );
};

const joined = (terms: readonly Term[]): Term => literalOf(terms) ?? js(concat(terms));

/**
 * The date, a status without a dot of its own and the description, as far as the step has them, each on its own line.
 */
const detailsOf = (step: Step, context: Context): Term => {
  const { progress } = step;
  const small = (html: readonly Term[]): readonly Term[] => [
    '<span style="font-size:13px;opacity:.75">',
    ...html,
    '</span>',
  ];
  const shown = (text: TemplatedText, around: (html: readonly Term[]) => readonly Term[]): Term => {
    const html = around(shownOf(text, context));
    const literal = literalOf(textOf(text, context));
    return literal === undefined
      ? js(`(${concat(textOf(text, context))}===""?"":${concat(html)})`)
      : literal === ''
        ? ''
        : joined(html);
  };
  const status =
    typeof progress === 'string'
      ? progress === 'other'
        ? shown(step.status, small)
        : ''
      : js(`(${progress.js}==="other"?${concat(small(shownOf(step.status, context)))}:"")`);
  const lines = [shown(step.date, small), status, shown(step.description, (html) => html)].filter((one) => one !== '');
  return lines.length < 2 || literalOf(lines) !== undefined
    ? joined(lines.flatMap((one, at) => (at === 0 ? [one] : ['<br>', one])))
    : js(`LINES(${lines.map((one) => concat([one])).join(',')})`);
};

const LINE = '#d1d5db';
const PENDING = '#9ca3af';
const DOT_ROW_PX = 24;
/** A row without any height would be given none of the room that a cell over two rows needs. */
const THIN = 'font-size:1px;line-height:1px';
const EMPTY = `<td width="13" style="width:13px;${THIN}">&nbsp;</td>`;

/** The line below a dot: the border of a cell, which grows with its row. It has the colour of what is done. */
const line = (progress: Progress, color: Term, context: Context): readonly Term[] => [
  '<td',
  progress === 'completed' ? '' : classAttribute(colorClass('line', LINE, context)),
  ` width="13" style="width:13px;border-${startOf(context)}:2px solid `,
  progress === 'completed' ? color : LINE,
  `;${THIN}">&nbsp;</td>`,
];

const DOT =
  '<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="border-collapse:separate"><tr><td';

const dotCell = (progress: Progress, color: Term, context: Context): readonly Term[] => {
  const padding = progress === 'other' || progress === 'none' ? '6px 0' : '3px 0';
  return [
    `<td colspan="2" width="28" align="center" valign="top" style="width:28px;padding:${padding}">${DOT}`,
    ...dot(progress, color, context),
    '</td></tr></table></td>',
  ];
};

/**
 * A filled circle with a tick, a thick ring, a thin ring, a small circle; squares of the same look where corners are
 * not rounded.
 */
const dot = (progress: Progress, color: Term, context: Context): readonly Term[] => {
  switch (progress) {
    case 'completed': {
      const on: Context = { ...context, surface: surfaceOf(color, context, 'fixed') };
      const tick = readable(['#ffffff', '#111827'], on);
      return [
        classAttribute(colorClass('text', tick, on)),
        ' width="18" height="18" align="center" role="img" aria-label="completed" style="width:18px;height:18px;border-radius:9px;background-color:',
        color,
        ';font-family:Arial,sans-serif;font-size:11px;font-weight:700;line-height:18px;color:',
        tick,
        '">&#10003;',
      ];
    }
    case 'current':
      return [
        ' width="8" height="8" role="img" aria-label="current" style="width:8px;height:8px;border:5px solid ',
        color,
        ';border-radius:9px;font-size:0;line-height:0">&nbsp;',
      ];
    case 'pending':
      return [
        classAttribute(colorClass('line', PENDING, context)),
        ` width="14" height="14" role="img" aria-label="pending" style="width:14px;height:14px;border:2px solid ${PENDING};border-radius:9px;font-size:0;line-height:0">&nbsp;`,
      ];
    case 'other':
    case 'none':
      return [
        ' width="12" height="12" style="width:12px;height:12px;border-radius:6px;background-color:',
        color,
        ';font-size:0;line-height:0">&nbsp;',
      ];
  }
};
