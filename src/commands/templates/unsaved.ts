/**
 * Previews of templates and blocks that are not saved, as an editor shows them while they are written: whatever is wrong
 * is answered beside the rest, which is shown. And the conversion of a mail of another service to such a template.
 */
import type { ConvertedTemplate, ConvertTemplateRequest } from '../../api/templates/convert.js';
import type {
  PreviewUnsavedBlockRequest,
  PreviewUnsavedTemplateRequest,
  UnsavedBlockPreview,
  UnsavedTemplatePreview,
} from '../../api/templates/unsaved.js';
import { DomainError, type ErrorCode, type FieldError } from '../../domain/core/errors.js';
import type { Json, JsonObject } from '../../domain/core/json.js';
import { requireAddress } from '../../domain/mime/address.js';
import { expandEmail, type FindBlock } from '../../domain/rendering/blocks.js';
import { checkBlock } from '../../domain/rendering/check/block.js';
import { checkEmailTemplate } from '../../domain/rendering/check/email.js';
import { checkBlockIncludes, checkEmailIncludes } from '../../domain/rendering/check/includes.js';
import { mend, STAND_IN, type MendedKind } from '../../domain/rendering/check/mend.js';
import type { Output } from '../../domain/rendering/components.js';
import {
  DEFAULT_LOCALE,
  DEFAULT_TIME_ZONE,
  type BlockContent,
  type EmailTemplateContent,
} from '../../domain/rendering/content.js';
import type { VariableDefinition } from '../../domain/rendering/scope/definitions.js';
import { blockInLanguage, emailInLanguage } from '../../domain/rendering/languages.js';
import { nextTurn } from '../../shared/concurrency.js';
import { headerLine } from '../../shared/text.js';
import type { Caller } from '../core/caller.js';
import { openIncludes, refuseIncludes } from './blocks.js';
import { LIST_REQUIRED, showsUnsubscribing } from './email-templates.js';
import { requireLanguage } from './language.js';
import type { TemplateNeeds } from './needs.js';
import { previewOf, renderedUnsaved } from './preview.js';
import { withDrawnSvgs } from './svg.js';

/** Collects the faults of a template, each once, as many as are answered. */
export type UnsavedFaults = Readonly<{
  add: (faults: readonly FieldError[]) => void;
  list: () => readonly FieldError[];
}>;

const FAULTS_MAX = 100;

export const collectUnsavedFaults = (): UnsavedFaults => {
  const known = new Map<string, FieldError>();
  return {
    add: (faults) => {
      for (const fault of faults) if (known.size < FAULTS_MAX) known.set(`${fault.field} ${fault.message}`, fault);
    },
    list: () => [...known.values()],
  };
};

/** Faults of the service or of its load, which are no fault of what an author writes. */
const NOT_OF_AUTHOR: ReadonlySet<ErrorCode> = new Set([
  'GENERATOR_BUSY',
  'GENERATION_TIMEOUT',
  'GENERATION_FAILED',
  'PREVIEW_SUPERSEDED',
]);

/** The faults that a refusal tells of what an author writes. Throws every other fault again. */
export const faultsOf = (fault: unknown): readonly FieldError[] => {
  if (!(fault instanceof DomainError) || NOT_OF_AUTHOR.has(fault.code)) throw fault;
  return fault.details.errors ?? [{ field: 'schema', message: fault.message }];
};

/** Each round leaves less to mend; few templates need more than two. */
const ROUNDS_MAX = 8;

/**
 * In: a template as it is written, and its check. Out: what the check answers for the template without its faults;
 * undefined where so much is wrong that nothing can be shown. Adds the faults.
 */
export const checkedAsFarAsPossible = async <Checked>(
  written: JsonObject,
  {
    kind,
    check,
    faults,
    signal,
  }: Readonly<{
    kind: MendedKind;
    check: (template: JsonObject) => Promise<Checked>;
    faults: UnsavedFaults;
    signal: AbortSignal;
  }>,
): Promise<Checked | undefined> => {
  let template = written;
  let places: readonly number[] | undefined;
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    signal.throwIfAborted();
    try {
      return await check(template);
    } catch (fault) {
      const found = faultsOf(fault);
      faults.add(places === undefined ? found : found.map((one) => inPlace(one, places ?? [])));
      const mended = mend(template, found, kind);
      if (mended === undefined) return undefined;
      template = mended.template;
      places = mended.variables.map((at) => places?.[at] ?? at);
    }
    await nextTurn();
  }
  return undefined;
};

/** A fault of a variable names the place that it had before others were taken out. */
const inPlace = ({ field, message }: FieldError, places: readonly number[]): FieldError => ({
  field: field.replace(/^variables\[(\d+)\]/, (whole, at: string) => {
    const place = places[Number(at)];
    return place === undefined ? whole : `variables[${place}]`;
  }),
  message,
});

/** The fields of a body that a check reads; what an author has not written has the value of a new template. */
export const contentFields = (written: JsonObject, names: readonly string[]): JsonObject => ({
  variables: [],
  locale: DEFAULT_LOCALE,
  timeZone: DEFAULT_TIME_ZONE,
  ...Object.fromEntries(
    names.flatMap((name): [string, Json][] => {
      const value = written[name];
      return value === undefined || value === null ? [] : [[name, value]];
    }),
  ),
});

/** Adds a fault where the name of a template is missing. */
export const checkName = ({ name }: JsonObject, faults: UnsavedFaults): void => {
  if (typeof name !== 'string' || name.trim() === '') faults.add([{ field: 'name', message: 'is required' }]);
};

const EMAIL_FIELDS = ['subject', 'variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

/**
 * In: an email template as it is written. Out: its mail, and `errors`: what a save would refuse. Nothing is stored.
 * Rejects with VALIDATION_ERROR for the language that the call asks for, and with what the generator rejects with.
 */
export const previewUnsavedTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  { template, variables, marks = false, ...spoken }: PreviewUnsavedTemplateRequest,
  signal: AbortSignal,
): Promise<UnsavedTemplatePreview> => {
  const language = requireLanguage(spoken);
  const { limits } = deps;
  const faults = collectUnsavedFaults();
  const written = template as JsonObject;
  checkName(written, faults);
  checkSender(written['from'], faults);
  const includes = openIncludes(deps, caller.teamId);
  const check = async (one: JsonObject): Promise<EmailTemplateContent> => {
    const { content } = checkEmailTemplate(one, limits);
    await includes.load({ schema: content.schema });
    const own = emailInLanguage(content, undefined);
    refuseIncludes(checkEmailIncludes(own, { find: includes.find, limits }).faults, 'the template');
    return content;
  };
  const content = await checkedAsFarAsPossible(
    await drawnSvgs(deps, caller, contentFields(written, EMAIL_FIELDS), faults),
    { kind: 'email', check, faults, signal },
  );
  const hasList = typeof written['unsubscribeList'] === 'string';
  const shown =
    content &&
    shownIn(content, faults, (one) => expandEmail(emailInLanguage(one, language), { find: includes.find, limits }));
  if (shown !== undefined && !hasList && showsUnsubscribing(shown))
    faults.add([{ field: 'unsubscribeList', message: LIST_REQUIRED }]);
  const mail = await mailOf(deps, caller, shown, { variables: valuesOf(variables), marks, faults, signal });
  const { subject } = written;
  const isStandIn = content?.subject === STAND_IN && subject !== STAND_IN;
  return {
    ...mail,
    ...(isStandIn && {
      subject: typeof subject === 'string' ? headerLine(subject).slice(0, limits.subjectCharsMax) : '',
    }),
    errors: [...faults.list()],
  };
};

const BLOCK_FIELDS = ['variables', 'schema', 'locale', 'translations'];

/**
 * In: a block as it is written. Out: a mail that shows it alone, `outputs`, and `errors`: what a save would refuse. The
 * slot of a layout holds a word. Nothing is stored. Rejects as the preview of a template does.
 */
export const previewUnsavedBlock = async (
  deps: TemplateNeeds,
  caller: Caller,
  { block, variables, marks = false, ...spoken }: PreviewUnsavedBlockRequest,
  signal: AbortSignal,
): Promise<UnsavedBlockPreview> => {
  const language = requireLanguage(spoken);
  const { limits } = deps;
  const faults = collectUnsavedFaults();
  const written = block as JsonObject;
  checkName(written, faults);
  const includes = openIncludes(deps, caller.teamId);
  const slug = typeof written['slug'] === 'string' ? written['slug'] : undefined;
  const check = async ({
    timeZone: _,
    ...one
  }: JsonObject): Promise<Readonly<{ content: BlockContent; outputs: readonly Output[] }>> => {
    const { content, outputs } = checkBlock(one, limits);
    await includes.load({ schema: content.schema });
    const output = outputs.includes('email') ? 'email' : (outputs[0] ?? 'pdf');
    refuseIncludes(checkBlockIncludes(content, { find: includes.find, limits, slug, outputs: [output] }), 'the block');
    return { content, outputs };
  };
  const checked = await checkedAsFarAsPossible(contentFields(written, BLOCK_FIELDS), {
    kind: 'block',
    check,
    faults,
    signal,
  });
  const outputs = checked?.outputs ?? [];
  if (checked !== undefined && !outputs.includes('email')) faults.add([{ field: 'schema', message: NO_MAIL }]);
  const find: FindBlock = includes.find;
  const shown =
    checked !== undefined && outputs.includes('email')
      ? shownIn(checked.content, faults, ({ locale, ...content }) =>
          expandEmail(
            mailWith(blockInLanguage({ locale, ...content }, language?.locale ?? locale), { locale, ...language }),
            { find, limits },
          ),
        )
      : undefined;
  const { subject: _, ...mail } = await mailOf(deps, caller, shown, {
    variables: valuesOf(variables),
    marks,
    faults,
    signal,
  });
  return { ...mail, outputs: [...outputs], errors: [...faults.list()] };
};

const NO_MAIL =
  'has components that no email shows; POST /api/templates/attachment/preview shows them in the page of a document';

/** A mail that shows a block alone. */
const mailWith = (
  { schema, variables }: BlockContent,
  language: Readonly<{ locale: string; timeZone?: string }>,
): EmailTemplateContent => ({
  subject: STAND_IN,
  variables,
  ...language,
  schema:
    'components' in schema
      ? { sections: [{ id: 'block', type: 'body', components: schema.components as never }] }
      : {
          ...(schema.props !== undefined && { props: schema.props }),
          sections: schema.sections.map((section) =>
            section.type === 'slot' ? { id: section.id, type: 'body', components: [SLOT] } : (section as never),
          ),
        },
});

const SLOT = {
  id: 'unsaved/slot',
  type: 'rich-text',
  content: '<em>slot</em>',
  props: { color: '#6b7280', align: 'center' },
} as const;

const checkSender = (from: unknown, faults: UnsavedFaults): void => {
  if (from === undefined || from === null) return;
  const email = typeof from === 'object' && 'email' in from && typeof from.email === 'string' ? from.email : '';
  try {
    requireAddress(email, 'from.email');
  } catch (fault) {
    faults.add(faultsOf(fault));
  }
};

/** The template with its drawings as pictures; as it is where one cannot be drawn, which is a fault. */
const drawnSvgs = async (
  deps: TemplateNeeds,
  { teamId }: Caller,
  template: JsonObject,
  faults: UnsavedFaults,
): Promise<JsonObject> => {
  try {
    return await withDrawnSvgs(deps, teamId, template);
  } catch (fault) {
    faults.add(faultsOf(fault));
    return template;
  }
};

/** The template with its blocks, in the language of the call; undefined where they are too much, which is a fault. */
const shownIn = <Content, Shown>(
  content: Content,
  faults: UnsavedFaults,
  expand: (content: Content) => Shown,
): Shown | undefined => {
  try {
    return expand(content);
  } catch (fault) {
    faults.add(faultsOf(fault));
    return undefined;
  }
};

const valuesOf = (variables: unknown): JsonObject => (variables ?? {}) as JsonObject;

type Shown = Readonly<{
  variables: JsonObject;
  marks: boolean;
  faults: UnsavedFaults;
  signal: AbortSignal;
}>;

/** The mail of a checked template; without its parts where it cannot be rendered, which is a fault. */
const mailOf = async (
  deps: TemplateNeeds,
  caller: Caller,
  content: EmailTemplateContent | undefined,
  { variables, marks, faults, signal }: Shown,
): Promise<Omit<UnsavedTemplatePreview, 'errors'>> => {
  if (content === undefined) return NO_MAIL_MADE;
  const shown = { ...content, variables: withoutRequired(content.variables) };
  const rendered = renderedUnsaved(deps, { teamId: caller.teamId, content: shown, marks }, signal);
  const made = (values: JsonObject) =>
    previewOf(deps, caller, { content: shown, variables: values, unsubscribes: true, rendered });
  return (await shownWithout(made, variables, faults)) ?? NO_MAIL_MADE;
};

const NO_MAIL_MADE: Omit<UnsavedTemplatePreview, 'errors'> = {
  subject: null,
  html: null,
  text: null,
  sizeBytes: 0,
  emptyPaths: [],
  warnings: [],
};

/** A preview needs no value: a missing one is an empty path. */
export const withoutRequired = (definitions: readonly VariableDefinition[]): readonly VariableDefinition[] =>
  definitions.map(({ required: _, ...definition }) => definition);

const OF_VALUE = /^variables\.([^.[]+)/;

/**
 * Out: a preview with the values of the call, or without those that are refused, which are faults; undefined where there
 * is none either way.
 */
const shownWithout = async <Shown>(
  made: (values: JsonObject) => Promise<Shown>,
  values: JsonObject,
  faults: UnsavedFaults,
): Promise<Shown | undefined> => {
  try {
    return await made(values);
  } catch (fault) {
    const found = faultsOf(fault);
    faults.add(found);
    const names = new Set(found.map(({ field }) => OF_VALUE.exec(field)?.[1]));
    const kept = Object.entries(values).filter(([name]) => !names.has(name));
    if (kept.length === Object.keys(values).length) return undefined;
    return shownWithout(made, Object.fromEntries(kept), faults);
  }
};

/**
 * In: a source with sample values. Out: its template, both rendered, and what became of the parts of the source. Rejects
 * with TEMPLATE_INVALID where no template can be made of it, and with what a preview rejects with.
 */
export const convertTemplate = async (
  deps: TemplateNeeds,
  caller: Caller,
  { variables, ...source }: ConvertTemplateRequest,
  signal: AbortSignal,
): Promise<ConvertedTemplate> => {
  const given = { ...source, variables: variables as JsonObject | undefined };
  const made = await deps.generator.convertTemplate({ teamId: caller.teamId, source: given }, signal);
  const request = { template: made.template, variables: made.samples };
  const { subject, html, text, errors } = await previewUnsavedTemplate(deps, caller, request, signal);
  const [fault] = errors.filter(({ field }) => !field.startsWith('variables.'));
  if (fault !== undefined) {
    const message = `makes a template that cannot be shown: ${fault.field} ${fault.message}`;
    throw new DomainError('TEMPLATE_INVALID', `The source cannot be converted: it ${message}.`, {
      errors: [{ field: 'source', message }],
    });
  }
  return { ...made, notes: [...made.notes], preview: { subject, html, text } };
};
