/** The language that calls say in place of the template's own. */
import { Type } from '@sinclair/typebox';

const Locale = (description: string) => Type.Optional(Type.String({ minLength: 2, maxLength: 35, description, examples: ['de-AT'] }));
const TimeZone = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 64, description, examples: ['Europe/Vienna'] }));

/** Of a call. */
export const languageFields = {
  locale: Locale(
    'BCP 47, in place of the `locale` of the templates: their texts in that language, where they have them, and its numbers and dates',
  ),
  timeZone: TimeZone('IANA name, in place of the `timeZone` of the templates'),
};

/** Of one recipient of a bulk send. */
export const recipientLanguageFields = {
  locale: Locale('In place of the `locale` of the call'),
  timeZone: TimeZone('In place of the `timeZone` of the call'),
};
