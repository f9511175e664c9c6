/**
 * Limits while a template is checked and rendered: the budget of work that one call may spend, and the errors of all
 * limits that a template can break. Each error states the actual value and the maximum.
 */
import { DomainError } from '../core/errors.js';
import type { Limits } from '../core/limits.js';

type WorkLimits = Pick<Limits, 'workCharsMax' | 'workElementsMax' | 'workOperationsMax' | 'workModulesMax'>;
type Unit = 'characters' | 'elements' | 'operations' | 'modules';

/** Counters of one call. They are drawn on while the work is done, so no input makes the work larger. */
export type Budget = {
  charsLeft: number;
  elementsLeft: number;
  operationsLeft: number;
  modulesLeft: number;
  readonly max: Readonly<Record<Unit, number>>;
};

export const openBudget = ({
  workCharsMax,
  workElementsMax,
  workOperationsMax,
  workModulesMax,
}: WorkLimits): Budget => ({
  charsLeft: workCharsMax,
  elementsLeft: workElementsMax,
  operationsLeft: workOperationsMax,
  modulesLeft: workModulesMax,
  max: { characters: workCharsMax, elements: workElementsMax, operations: workOperationsMax, modules: workModulesMax },
});

/**
 * For templates that were accepted or saved before: they were within the limits then, and must render the same under
 * tighter ones.
 */
export const openUnlimitedBudget = (): Budget =>
  openBudget({
    workCharsMax: Infinity,
    workElementsMax: Infinity,
    workOperationsMax: Infinity,
    workModulesMax: Infinity,
  });

/** Takes the length of a text that was read or written. */
export const spendChars = (budget: Budget, chars: number): void => {
  budget.charsLeft -= chars;
  if (budget.charsLeft < 0) throw exceeded(budget, 'characters');
};

/** Takes the elements of HTML that an author wrote. */
export const spendElements = (budget: Budget, elements: number): void => {
  budget.elementsLeft -= elements;
  if (budget.elementsLeft < 0) throw exceeded(budget, 'elements');
};

/** Takes operations of expressions. */
export const spendOperations = (budget: Budget, operations: number): void => {
  budget.operationsLeft -= operations;
  if (budget.operationsLeft < 0) throw exceeded(budget, 'operations');
};

/** Takes modules of QR codes, before they are laid. */
export const spendModules = (budget: Budget, modules: number): void => {
  budget.modulesLeft -= modules;
  if (budget.modulesLeft < 0) throw exceeded(budget, 'modules');
};

const advice: Readonly<Record<Unit, string>> = {
  characters:
    'characters of values are filled in, or of tags are read: give shorter values, show them less often, close every tag',
  elements:
    'tags, placeholders and written cells of tables (attributes and entities count a quarter) stand in the template: write less of them, or use components',
  operations: 'operations are taken by calculated variables together: calculate less, or pass calculated values',
  modules:
    'modules (black and white squares) stand in the QR codes of the mail: show fewer codes, shorter values, or a lower error correction',
};

const exceeded = ({ max }: Budget, unit: Unit): DomainError =>
  new DomainError(
    'WORK_LIMIT_EXCEEDED',
    `The call is too much work: more than ${written.format(max[unit])} ${advice[unit]}.`,
    {
      relatedInfo: { unit, max: max[unit] },
    },
  );

const written = new Intl.NumberFormat('en-US');
const n = (value: number): string => written.format(value);

/** `whole` is false where the work was stopped before the end, so that there would have been more still. */
const reached = (actual: number, whole: boolean): string => `${whole ? '' : 'at least '}${n(actual)}`;

export const tooManyPages = (actual: number, max: number, whole = true): DomainError =>
  new DomainError('ERR_LIMIT_001', `the PDF has ${reached(actual, whole)} pages, the maximum is ${n(max)}`, {
    relatedInfo: { actualPages: actual, maxPages: max },
  });

/** Counted while the document is expanded, each picture as often as it is shown. */
export const tooManyImages = (actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_002', `the PDF shows ${reached(actual, false)} images, the maximum is ${n(max)}`, {
    relatedInfo: { actualImages: actual, maxImages: max },
  });

/** Rows of data in all tables of a workbook; `actual` is what had been reached when the work was stopped. */
export const tooManyRows = (actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_003', `the workbook has ${reached(actual, false)} rows, the maximum is ${n(max)}`, {
    relatedInfo: { actualRows: actual, maxRows: max },
  });

export const tooManySheets = (actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_004', `the workbook has ${n(actual)} sheets, the maximum is ${n(max)}`, {
    relatedInfo: { actualSheets: actual, maxSheets: max },
  });

export const tooManyColumns = (actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_005', `a table of the workbook has ${n(actual)} columns, the maximum is ${n(max)}`, {
    relatedInfo: { actualColumns: actual, maxColumns: max },
  });

export const fileTooLarge = (
  format: 'pdf' | 'excel',
  actualSizeBytes: number,
  maxSizeBytes: number,
  whole = true,
): DomainError =>
  new DomainError(
    'ERR_LIMIT_006',
    `the generated ${format === 'pdf' ? 'PDF' : 'workbook'} has ${reached(actualSizeBytes, whole)} bytes, the maximum is ${n(maxSizeBytes)}`,
    {
      relatedInfo: { actualSizeBytes, maxSizeBytes },
    },
  );

/** `source` is the data source as the author wrote it. */
export const tooManyIterations = (source: string, actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_007', `the loop over "${source}" has ${n(actual)} iterations, the maximum is ${n(max)}`, {
    relatedInfo: { actualIterations: actual, maxIterations: max, dataSource: source },
  });

/**
 * Rows, items and points of all data sources of a document together; `actual` is what had been reached when the work
 * was stopped.
 */
export const tooManyItems = (actual: number, max: number): DomainError =>
  new DomainError(
    'ERR_LIMIT_007',
    `the data sources of the document give ${reached(actual, false)} rows and items together, the maximum is ${n(max)}`,
    {
      relatedInfo: { actualIterations: actual, maxIterations: max },
    },
  );

/** `what` is in the plural: "components", "loops", "conditions". */
export const nestedTooDeep = (what: 'components' | 'loops' | 'conditions', actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_008', `${what} are nested ${n(actual)} deep, the maximum is ${n(max)}`, {
    relatedInfo: { actualDepth: actual, maxDepth: max, nested: what },
  });

export const tooManyComponents = (actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_009', `the template has ${n(actual)} components, the maximum is ${n(max)}`, {
    relatedInfo: { actualComponents: actual, maxComponents: max },
  });

/** Counted while rendering, so `actual` is what had been reached when the work was stopped. */
export const tooManyExpanded = (actual: number, max: number, what: 'email' | 'document' = 'email'): DomainError =>
  new DomainError(
    'ERR_LIMIT_009',
    `the ${what} has at least ${n(actual)} components once its loops are expanded, the maximum is ${n(max)}`,
    {
      relatedInfo: { actualComponents: actual, maxComponents: max },
    },
  );

/** All texts of a document together; `actual` is what had been reached when the work was stopped. */
export const documentTooLong = (actualChars: number, maxChars: number): DomainError =>
  new DomainError(
    'RENDERED_BODY_TOO_LARGE',
    `the texts of the document have ${reached(actualChars, false)} characters, the maximum is ${n(maxChars)}`,
    {
      relatedInfo: { actualChars, maxChars },
    },
  );

/**
 * Excel counts UTF-16 code units, and opens no file with more of them in a cell. `field`: place of the component in the
 * template; `where`: the cell in it, such as "row 3, column 2".
 */
export const cellTooLong = (field: string, where: string, actualChars: number, maxChars: number): DomainError => {
  const message = `${where} has ${n(actualChars)} characters as Excel counts them (UTF-16 code units: an emoji is two), the maximum of a cell is ${n(maxChars)}`;
  return new DomainError('VALIDATION_ERROR', `${field}: ${message}`, {
    errors: [{ field, message }],
    relatedInfo: { actualChars, maxChars },
  });
};

export const bodyTooLarge = (actualBytes: number, maxBytes: number, whole: boolean): DomainError =>
  new DomainError(
    'RENDERED_BODY_TOO_LARGE',
    `the rendered HTML has ${reached(actualBytes, whole)} bytes, the maximum is ${n(maxBytes)}`,
    {
      relatedInfo: { actualBytes, maxBytes },
    },
  );

export const subjectTooLong = (actualChars: number, maxChars: number): DomainError =>
  new DomainError('SUBJECT_TOO_LONG', `the subject has ${n(actualChars)} characters, the maximum is ${n(maxChars)}`, {
    relatedInfo: { actualChars, maxChars },
  });

/** Counted while rendering, so `actual` is what had been reached when the work was stopped. */
export const tooManyInlineImages = (actual: number, max: number): DomainError =>
  new DomainError(
    'ERR_LIMIT_002',
    `the email has at least ${n(actual)} QR codes and pictures of the gallery, the maximum is ${n(max)}`,
    {
      relatedInfo: { actualImages: actual, maxImages: max },
    },
  );
