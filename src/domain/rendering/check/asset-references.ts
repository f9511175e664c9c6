/** The files of the gallery that a template names. */
import { addressesIn } from '../html-addresses.js';
import { assetAddress } from '../urls.js';
import { visitTexts, type Texts } from './schema-texts.js';

/** `field`: where it is named first. */
export type AssetReference = Readonly<{ field: string; assetId: string; use: 'picture' | 'font' }>;

const SCHEME = 'asset:';
const FONTS = /^schema\.fonts\[\d+\]\./;

/** In: a checked template. Out: each asset that it names as a whole, once for each use, in order. */
export const assetReferencesOf = (template: Texts): readonly AssetReference[] => {
  const found = new Map<string, AssetReference>();
  const add = (text: string, field: string, use: AssetReference['use']): void => {
    const address = assetAddress(text);
    if (address === undefined) return;
    const key = `${use} ${address}`;
    if (!found.has(key)) found.set(key, { field, assetId: address.slice(SCHEME.length), use });
  };
  const look = (text: string, field: string): void => {
    if (!/asset:/i.test(text)) return;
    if (FONTS.test(field)) return add(text, field, 'font');
    if (field.endsWith('.src')) return add(text, field, 'picture');
    for (const { tag, address } of addressesIn(text)) if (tag === 'img') add(address, field, 'picture');
  };
  visitTexts(template, look);
  return [...found.values()];
};
