/** What stands behind the text of each sheet: a picture, and a watermark. */
import type { PageSettings } from '../document-content.js';
import { charge, countImages, type Scope, type State } from '../scope/scope.js';
import { compilePlain } from '../fill/filling.js';
import { compileSrc } from './components.js';
import type { ExpandedPage } from './expanded.js';
import { colorOf } from './style.js';

/** As light as a reader can overlook it below black letters. */
const WATERMARK_COLOR = '#e5e7eb';

type Backgrounds = Pick<ExpandedPage, 'backgroundImage' | 'watermark'>;

/** A picture without an address and a watermark without a text are not there. */
export const compileBackgrounds = (
  { backgroundImage, watermark }: PageSettings,
  field: string,
  scope: Scope,
): ((state: State) => Backgrounds) => {
  const at = `${field}.backgroundImage.src`;
  const src = backgroundImage === undefined ? undefined : compileSrc(backgroundImage.src, at, scope);
  const text = watermark === undefined ? undefined : compilePlain(watermark.text, scope);
  const color = colorOf(watermark?.color, scope);
  return (state) => {
    const address = src?.(state);
    if (address !== undefined) countImages(1, state, scope.limits);
    const written = text === undefined ? '' : charge(text(state), state, scope.limits).trim();
    const { fit = 'cover', sheets = 'all' } = backgroundImage ?? {};
    return {
      ...(address === undefined ? {} : { backgroundImage: { src: address, fit, sheets, field: at } }),
      ...(written === '' ? {} : { watermark: { text: written, color: color(state) ?? WATERMARK_COLOR, field: `${field}.watermark.text` } }),
    };
  };
};
