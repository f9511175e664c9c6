/**
 * Plain data of the service, as the editor uses it. The dashboard imports from src here alone: values only of files
 * that import nothing but types, for those are small and need no Node.
 */
export {
  componentSpecs,
  type ComponentType,
  emailProps,
  flowProps,
  isComponentType,
  isSupported,
  type Output,
  sectionProps,
  supportMatrix,
} from '../../../src/domain/rendering/components.js';
export { hexContrast, READABLE_CONTRAST } from '../../../src/domain/rendering/contrast.js';
export { defaultColors } from '../../../src/domain/rendering/scope/constants.js';
export type {
  aligns,
  errorCorrections,
  lineStyles,
  pageBreaks,
  PropKind,
  PropSpecs,
  verticalAligns,
} from '../../../src/domain/rendering/props.js';
export type { ChartType } from '../../../src/domain/rendering/css.js';
export type { CodeKind } from '../../../src/domain/rendering/codes.js';
export type { Direction, TextDirection } from '../../../src/domain/rendering/direction.js';
export type { Operator } from '../../../src/domain/rendering/scope/conditions.js';
export type { Constant } from '../../../src/domain/rendering/scope/constants.js';
export type { ValueFormat, VariableType } from '../../../src/domain/rendering/scope/definitions.js';
export type { columnTypes } from '../../../src/domain/rendering/scope/display-format.js';
export { mapBlockTexts, mapDocumentTexts, mapEmailTexts } from '../../../src/domain/rendering/languages.js';
export { fallbackTags, nameOfText } from '../../../src/domain/rendering/translations.js';
export {
  bodyOfChange,
  type Content,
  contentOf,
  isEqual,
  type Kind,
  kinds,
  versionOf,
  wholeOf,
} from '../../../src/domain/templates/authored.js';
export { type Difference, differencesOf } from '../../../src/domain/templates/difference.js';
export { entryInWords, reasonInWords, ruleInWords } from '../../../src/domain/email/words.js';
