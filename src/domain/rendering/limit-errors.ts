/** The errors of the limits that a template can break: each states the actual value and the maximum. */
import { DomainError } from '../errors.js';

const written = new Intl.NumberFormat('en-US');
const n = (value: number): string => written.format(value);

/** `source` is the data source as the author wrote it. */
export const tooManyIterations = (source: string, actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_007', `the loop over "${source}" has ${n(actual)} iterations, the maximum is ${n(max)}`, {
    relatedInfo: { actualIterations: actual, maxIterations: max, dataSource: source },
  });

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
export const tooManyExpanded = (actual: number, max: number): DomainError =>
  new DomainError('ERR_LIMIT_009', `the email has at least ${n(actual)} components once its loops are expanded, the maximum is ${n(max)}`, {
    relatedInfo: { actualComponents: actual, maxComponents: max },
  });

/** `whole` is false where the work was stopped before the end, so that the body would have been larger still. */
export const bodyTooLarge = (actualBytes: number, maxBytes: number, whole: boolean): DomainError =>
  new DomainError('RENDERED_BODY_TOO_LARGE', `the rendered HTML has ${whole ? '' : 'at least '}${n(actualBytes)} bytes, the maximum is ${n(maxBytes)}`, {
    relatedInfo: { actualBytes, maxBytes },
  });

export const subjectTooLong = (actualChars: number, maxChars: number): DomainError =>
  new DomainError('SUBJECT_TOO_LONG', `the subject has ${n(actualChars)} characters, the maximum is ${n(maxChars)}`, {
    relatedInfo: { actualChars, maxChars },
  });
