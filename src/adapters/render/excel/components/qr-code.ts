/** QR codes and bar codes of a sheet: pictures in a row of their own, dense enough for print. */
import { DomainError } from '../../../../domain/core/errors.js';
import type { ExpandedQrCode } from '../../../../domain/rendering/expand/expanded.js';
import { barCodePng, layBarPicture, pointDefaults } from '../../bar-code.js';
import { drawQrCode, layQrCode } from '../../qr-code.js';
import type { ComponentDrawer } from '../component.js';
import { pictureBlock } from './pictures.js';

const QR_POINTS = 96;

export const qrCode: ComponentDrawer<'qr-code'> = (component, { pageWidth, direction }) => {
  const { value, align, alt } = component;
  const shown = { extension: 'png' as const, align, direction, href: undefined };
  if (component.bars === undefined) {
    const { bytes, size } = qrPicture(component);
    return pictureBlock({ ...shown, bytes, alt: alt ?? `QR code: ${value}`, width: size, height: size });
  }
  const { bars, size, color, backgroundColor: background } = component;
  const wish = { ...bars, width: size, room: pageWidth, color, background };
  const laid = layBarPicture(value, wish, pointDefaults);
  if ('fault' in laid) throw unusable(component, 'bar code', laid.fault);
  const bytes = barCodePng(laid, wish, pointDefaults);
  const scale = Math.min(1, pageWidth / laid.width);
  return pictureBlock({ ...shown, bytes, alt: `Bar code: ${value}`, width: laid.width * scale, height: laid.height * scale });
};

const qrPicture = (component: ExpandedQrCode): Readonly<{ bytes: Uint8Array; size: number }> => {
  const { value, size = QR_POINTS, errorCorrection, color, backgroundColor: background } = component;
  const look = { size: `${size}pt`, level: errorCorrection, color, background };
  const code = layQrCode(value, look);
  if ('fault' in code) throw unusable(component, 'QR code', code.fault);
  return { bytes: drawQrCode(code, look), size };
};

const unusable = ({ field }: ExpandedQrCode, what: string, fault: string): DomainError =>
  new DomainError('VALIDATION_ERROR', `the ${what} at ${field} ${fault}`, { errors: [{ field: `${field}.props.value`, message: fault }] });
