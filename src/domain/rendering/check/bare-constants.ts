/** What an author should know of constants that are written without braces: a mail and a document show their names. */
import type { FieldError } from '../../core/errors.js';
import { constants } from '../scope/constants.js';
import { visitTexts, type Texts } from './schema-texts.js';

/** Enough to work with. */
const WARNINGS_MAX = 20;

/** Props that hold a path, with braces or without. */
const PATHS = /\.props\.(?:condition|dataSource)$/;

type Written = Texts & Readonly<{ subject?: string | undefined }>;

/** In: a checked template with its translations. Out: a warning for each text that holds the name of a constant outside of braces. */
export const bareConstantWarnings = ({ subject, ...template }: Written): readonly FieldError[] => {
  const warnings: FieldError[] = [];
  const look = (text: string, field: string): void => {
    if (warnings.length >= WARNINGS_MAX || !text.includes('__') || PATHS.test(field)) return;
    const outside = text.replaceAll(/\{\{[^{}]*\}\}/g, ' ');
    const bare = constants.find((constant) => outside.includes(constant));
    if (bare !== undefined) warnings.push({ field, message: `shows ${bare} as it is written: a constant stands in braces, {{${bare}}}` });
  };
  if (subject !== undefined) look(subject, 'subject');
  visitTexts(template, look);
  return warnings;
};
