/** Components of pictures: image, QR code, chart. */
import { DomainError } from '../../../../domain/core/errors.js';
import type { ExpandedChart, ExpandedImage, ExpandedQrCode } from '../../../../domain/rendering/expand/expanded.js';
import { alignIn, blockAlign, narrower, type ComponentRenderer, type Context } from '../context.js';
import type { Node } from '../nodes.js';
import { padded } from './blocks.js';
import { pictureNode } from '../picture-node.js';
import { barCodeSvg, layBarPicture, pointDefaults, quietShare } from '../../bar-code.js';
import { readableColors } from '../../code-picture.js';
import { layQrCode, type QrCode } from '../../qr-code.js';
import { chartSvg } from '../charts.js';

export const image: ComponentRenderer<ExpandedImage> = (
  { src, alt, width, widthPercent, height, align, href, field, padding, borderRadius },
  outer,
) => {
  const context = narrower(padding.left + padding.right, outer);
  const picture = context.picture(src, `${field}.props.src`);
  if (picture === undefined) {
    throw new DomainError('GENERATION_FAILED', `the picture of ${field} was not loaded`, {
      relatedInfo: { field: `${field}.props.src` },
    });
  }
  const wish = widthPercent === undefined ? width : (context.width * widthPercent) / 100;
  return padded(
    [
      pictureNode(
        picture,
        {
          width: wish,
          height,
          alt,
          link: href,
          align: alignIn(context, align),
          radius: borderRadius ?? 0,
        },
        context,
      ),
    ],
    padding,
    undefined,
  );
};

/** Room around a code that readers need, in modules (ISO/IEC 18004, 9.1). */
const QUIET_MODULES = 4;

/** Size of a code that states none. */
const QR_POINTS = 96;

export const qrCode: ComponentRenderer<ExpandedQrCode> = (component, context) => {
  const { value, size = QR_POINTS, errorCorrection, color, backgroundColor, align, alt, bars } = component;
  if (bars !== undefined) return barCode(component, bars, context);
  const code =
    value === ''
      ? { fault: 'is empty: give it a value' }
      : layQrCode(value, { size: `${size}pt`, level: errorCorrection, color, background: backgroundColor });
  if ('fault' in code) throw unusableCode(component, `the QR code at ${component.field}`, code.fault);
  const side = code.modules + 2 * QUIET_MODULES;
  const [front, back] = readableColors({ color, background: backgroundColor }).map(
    ([red, green, blue]) => `rgb(${red},${green},${blue})`,
  );
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}" width="${side}" height="${side}">` +
    `<rect width="${side}" height="${side}" fill="${back}"/><path fill="${front}" d="${pathOf(code)}"/></svg>`;
  const node = pictureNode(
    { kind: 'svg', svg, width: side, height: side },
    { width: size, height: size, alt: alt ?? `QR code: ${value}`, link: undefined, align: alignIn(context, align) },
    context,
  );
  return [hanging(node, (node.width * QUIET_MODULES) / side, context)];
};

/**
 * A code stands at the edge of the text around: the white around it, `quiet` points wide, hangs out into the white of
 * the paper.
 */
const hanging = (node: ReturnType<typeof pictureNode>, quiet: number, { paperAt }: Context): Node => {
  if (node.alignment === 'left' && paperAt.left) return { ...node, margin: [-quiet, 0, 0, 0] };
  if (node.alignment !== 'right' || !paperAt.right) return node;
  // pdfmake counts the margin of a picture twice where it stands at the right.
  return { stack: [node], margin: [0, 0, -quiet, 0], width: node.width };
};

const unusableCode = ({ field }: ExpandedQrCode, what: string, fault: string): DomainError =>
  new DomainError('VALIDATION_ERROR', `${what} ${fault}`, {
    errors: [{ field: `${field}.props.value`, message: fault }],
  });

const barCode = (
  component: ExpandedQrCode,
  bars: NonNullable<ExpandedQrCode['bars']>,
  context: Parameters<ComponentRenderer<ExpandedQrCode>>[1],
): ReturnType<ComponentRenderer<ExpandedQrCode>> => {
  const { value, color, backgroundColor: background, align, field } = component;
  const wish = { ...bars, width: component.size, room: context.width, color, background };
  const laid = layBarPicture(value, wish, pointDefaults);
  if ('fault' in laid) throw unusableCode(component, `the bar code at ${field}`, laid.fault);
  const { width, height } = laid;
  const node = pictureNode(
    { kind: 'svg', svg: barCodeSvg(laid, wish, pointDefaults), width, height },
    { width, height, alt: `Bar code: ${value}`, link: undefined, align: alignIn(context, align) },
    context,
  );
  return [hanging(node, node.width * quietShare(laid), context)];
};

/** Dark modules side by side are one rectangle: fewer edges, and no hairlines between them. */
const pathOf = ({ modules, isDark }: QrCode): string => {
  const parts: string[] = [];
  for (let row = 0; row < modules; row++) {
    for (let column = 0; column < modules; column++) {
      if (!isDark(column, row)) continue;
      const start = column;
      while (column + 1 < modules && isDark(column + 1, row)) column++;
      parts.push(`M${start + QUIET_MODULES} ${row + QUIET_MODULES}h${column - start + 1}v1h-${column - start + 1}z`);
    }
  }
  return parts.join('');
};

export const chart: ComponentRenderer<ExpandedChart> = (component, context) => {
  const drawing = chartSvg(component, context.width, context);
  const names = component.series
    .map(({ name }) => name)
    .filter((name) => name !== '')
    .join(', ');
  const alt = [component.title, names].filter((text) => text !== '').join(': ') || 'chart';
  return [
    pictureNode(
      { kind: 'svg', ...drawing },
      { width: undefined, height: undefined, alt, link: undefined, align: blockAlign(context) },
      context,
    ),
  ];
};
