/** Checks the settings of a page of a document: paper, margins, header and footer, and what a sheet looks like. */
import { charsOf, isLonger } from '../../../shared/text.js';
import type { FieldError } from '../../core/errors.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { translatorOf } from '../translations.js';
import { writePath, type Path } from '../scope/path.js';
import {
  backgroundFits,
  backgroundSheets,
  orientations,
  pageFormats,
  WATERMARK_CHARS_MAX,
  type AttachmentTemplateContent,
} from '../document-content.js';
import { componentSpecs } from '../components.js';
import { checkCode } from './codes.js';
import { refuseUnknown, type WalkTools } from './components.js';
import { isPlainObject } from './format.js';
import { directions } from '../direction.js';
import { aligns, checkProps, type PropSpecs } from '../props.js';

export const marginSpecs: PropSpecs = {
  top: { kind: 'fixedLength' },
  right: { kind: 'fixedLength' },
  bottom: { kind: 'fixedLength' },
  left: { kind: 'fixedLength' },
};
export const settingSpecs: PropSpecs = { backgroundColor: { kind: 'color' } };
export const headerSpecs: PropSpecs = { content: { kind: 'text', required: true }, height: { kind: 'fixedLength' } };

const marginNames = ['header', 'footer', 'firstPageHeader', 'firstPageFooter'] as const;
export const settingFields = [
  'format',
  'orientation',
  'direction',
  'margin',
  'backgroundColor',
  'backgroundImage',
  'watermark',
  'sheet',
  ...marginNames,
] as const;

/** The settings of a page; `margins` are the tools for headers and footers, where the number of the page is known. */
export const checkSettings = (settings: unknown, field: string, tools: WalkTools, margins: WalkTools): void => {
  if (settings === undefined) return;
  const { faults } = tools;
  if (!isPlainObject(settings)) return faults.add(field, 'must be an object');
  refuseUnknown(settings, settingFields, field, tools);
  const { format, orientation, direction, margin, backgroundColor } = settings;
  checkSheet(settings['sheet'], `${field}.sheet`, tools);
  if (format !== undefined) checkWord(format, pageFormats, `${field}.format`, tools);
  if (orientation !== undefined) checkWord(orientation, orientations, `${field}.orientation`, tools);
  if (direction !== undefined) checkWord(direction, directions, `${field}.direction`, tools);
  checkProps(margin, marginSpecs, `${field}.margin`, tools);
  if (backgroundColor !== undefined) checkProps({ backgroundColor }, settingSpecs, field, tools);
  checkBackground(settings['backgroundImage'], `${field}.backgroundImage`, tools);
  if (settings['watermark'] !== undefined) checkProps(settings['watermark'], watermarkSpecs, `${field}.watermark`, tools);
  for (const name of marginNames) {
    checkMargin(settings[name], `${field}.${name}`, margins);
    checkMarginCode(settings[name], `${field}.${name}.code`, tools);
  }
};

export const watermarkSpecs: PropSpecs = { text: { kind: 'text', required: true }, color: { kind: 'color' } };
export const backgroundSpecs: PropSpecs = { src: { kind: 'image', required: true } };

const checkBackground = (background: unknown, field: string, tools: WalkTools): void => {
  if (background === undefined) return;
  if (!isPlainObject(background)) return tools.faults.add(field, 'must be an object with src');
  const { fit, sheets, ...rest } = background;
  if (fit !== undefined) checkWord(fit, backgroundFits, `${field}.fit`, tools);
  if (sheets !== undefined) checkWord(sheets, backgroundSheets, `${field}.sheets`, tools);
  checkProps(rest, backgroundSpecs, field, tools, ['fit', 'sheets']);
};

export const sheetSpecs: PropSpecs = { hidden: { kind: 'boolean' }, fitToWidth: { kind: 'boolean' }, gridLines: { kind: 'boolean' } };
/** The form of an area of cells; which columns and rows a sheet has is looked at beside it. */
export const PRINT_AREA = /^([A-Z]{1,3})([1-9]\d{0,6}):([A-Z]{1,3})([1-9]\d{0,6})$/;
const LAST_COLUMN = 'XFD';
const LAST_ROW = 1_048_576;

/** An area of cells that a sheet has: a file with another is called damaged. */
const isArea = (text: string): boolean => {
  const [, left = '', top = '', right = '', bottom = ''] = PRINT_AREA.exec(text) ?? [];
  const isColumn = (letters: string): boolean => letters.length < LAST_COLUMN.length || letters <= LAST_COLUMN;
  return left !== '' && [left, right].every(isColumn) && [top, bottom].every((row) => Number(row) <= LAST_ROW);
};

const checkSheet = (sheet: unknown, field: string, tools: WalkTools): void => {
  if (sheet === undefined) return;
  if (!isPlainObject(sheet)) return tools.faults.add(field, 'must be an object');
  const { printArea, ...rest } = sheet;
  if (printArea !== undefined && !(typeof printArea === 'string' && isArea(printArea)))
    tools.faults.add(`${field}.printArea`, 'must be an area of cells such as A1:F40');
  checkProps(rest, sheetSpecs, field, tools, ['printArea']);
};

const checkMargin = (margin: unknown, field: string, tools: WalkTools): void => {
  if (margin === undefined) return;
  if (!isPlainObject(margin)) return tools.faults.add(field, 'must be an object with content; "content": "" is an empty one');
  const { align, code: _code, ...rest } = margin;
  if (align !== undefined) checkWord(align, aligns, `${field}.align`, tools);
  checkProps(rest, headerSpecs, field, tools, ['align', 'code']);
};

/** What is drawn in a code is settled before there are pages, so `body` are the tools of where no page has a number. */
const checkMarginCode = (margin: unknown, field: string, body: WalkTools): void => {
  const code = isPlainObject(margin) ? margin['code'] : undefined;
  if (code === undefined) return;
  if (!isPlainObject(code)) return body.faults.add(field, 'must be an object with the props of a qr-code');
  checkProps(code, componentSpecs['qr-code'].props, field, { ...body, refused: refusedInCode(body) });
  checkCode(code, field, body);
};

const refusedInCode =
  ({ refused }: WalkTools) =>
  (path: Path): string | undefined =>
    refused?.(path) === undefined
      ? undefined
      : `{{${writePath(path)}}} cannot stand in a code, which is drawn before there are pages; write it in the content beside the code`;

/** In: a checked template. Out: a warning for each watermark that is too long to be drawn as a whole. */
export const watermarkWarnings = ({ schema: { pages }, translations = {} }: AttachmentTemplateContent): readonly FieldError[] =>
  pages.flatMap(({ pageSettings }, at) => {
    const text = pageSettings?.watermark?.text;
    if (text === undefined) return [];
    const field = `schema.pages[${at}].pageSettings.watermark.text`;
    const translated = Object.keys(translations).map((tag) => [translatorOf(translations, tag)(text), `translations.${tag}: `] as const);
    return [[text, ''] as const, ...translated.filter(([other]) => other !== text)].flatMap(([one, where]) =>
      hasPlaceholder(one) || !isLonger(one, WATERMARK_CHARS_MAX)
        ? []
        : [{ field, message: `${where}has ${charsOf(one)} characters, of which the first ${WATERMARK_CHARS_MAX} are drawn` }],
    );
  });

/** One of these words and nothing else. */
export const checkWord = (value: unknown, words: readonly string[], field: string, { faults }: WalkTools): void => {
  if (!words.some((word) => word === value)) faults.add(field, `must be one of ${words.join(', ')}`);
};
