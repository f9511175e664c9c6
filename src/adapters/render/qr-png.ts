/** A QR code as a picture on a page: of a text that is short enough for every camera. */
import { drawQrCode, layQrCode, type QrLook } from './qr-code.js';

const look: QrLook = { size: '256px', level: 'm', color: '#000000', background: '#ffffff' };

/** Out: a PNG. Throws where the text does not fit. */
export const qrCodePng = (text: string): Buffer => {
  const code = layQrCode(text, look);
  if ('fault' in code) throw new Error(`the QR code ${code.fault}`);
  return drawQrCode(code, look);
};
