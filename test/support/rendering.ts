/** Fixtures of the tests of rendering: a company, an environment, templates built from components. */
import { expandEmail, type FindBlock } from '../../src/domain/rendering/blocks.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import type { EmailInput, RenderedEmail } from '../../src/domain/ports/renderer.js';
import type { Company } from '../../src/domain/rendering/scope/constants.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { emailInLanguage } from '../../src/domain/rendering/languages.js';
import type { CallLanguage } from '../../src/domain/rendering/translations.js';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import type { JsonObject } from '../../src/domain/core/json.js';

export const company: Company = {
  name: 'Northwind Coffee',
  legalName: 'Northwind Coffee Lda.',
  email: 'hello@northwind.example',
  phone: '+351 21 000 0000',
  website: 'https://northwind.example',
  addressLine1: 'Rua do Sol 3',
  city: 'Lisboa',
  state: 'Lisboa',
  postalCode: '1200-001',
  country: 'Portugal',
};

export const environment = { at: '2026-11-21T10:00:00.000Z', company };

/** A template as it comes in, with one section that holds the components. */
export const templateOf = (
  components: readonly unknown[],
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> => ({
  subject: 'Hello',
  variables: [],
  schema: { sections: [{ id: 'section', type: 'main', components }] },
  ...more,
});

/** Checks, compiles and renders in one go. */
export const renderTemplate = (
  template: unknown,
  variables: JsonObject = {},
  {
    limits = defaultLimits,
    language,
    find = () => undefined,
    ...input
  }: Partial<EmailInput> & { limits?: Limits; language?: CallLanguage; find?: FindBlock } = {},
): RenderedEmail => {
  const { content } = checkEmailTemplate(template, limits);
  return openRenderer({ limits }).compileEmail(expandEmail(emailInLanguage(content, language), { find, limits }))({
    variables,
    environment,
    ...input,
  });
};
