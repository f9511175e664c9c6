/**
 * Checks what a template or a block includes: that the blocks are there, that its outputs can show them, and that their
 * variables get values. Each fault has the path of the include, or of the component inside the block with its name.
 */
import { DomainError, type FieldError } from '../../core/errors.js';
import type { JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import { expandDocument, expandEmail, lookIntoBlock, type ExpandOptions, type FindBlock } from '../blocks.js';
import type { Output } from '../components.js';
import type { AttachmentTemplateContent, BlockContent, EmailTemplateContent } from '../content.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import { compileVariableCheck } from '../fill/variables.js';
import { checkPaths } from '../paths/check.js';
import { partsOfDocument, partsOfEmail } from '../paths/walk.js';
import { nearestName, shorten, writeSteps } from '../scope/path.js';
import type { VariableDefinition } from '../scope/definitions.js';
import { handedOver } from '../scope/include.js';
import { blockFaults } from './block.js';

/** `expanded`: the template with its blocks; the template itself where something is wrong. */
export type CheckedIncludes<Content> = Readonly<{ expanded: Content; faults: readonly FieldError[] }>;

type Asked = Readonly<{ find: FindBlock; limits: Limits }>;

const FAULTS_MAX = 100;

/** In: a checked email template. Limits that it breaks with its blocks are faults as well. */
export const checkEmailIncludes = (
  content: EmailTemplateContent,
  asked: Asked,
): CheckedIncludes<EmailTemplateContent> =>
  checked(
    content,
    ['email'],
    asked,
    expandEmail,
    (expanded) => checkPaths(partsOfEmail(expanded), expanded.variables, asked.limits.pathSegmentsMax).faults,
  );

/** In: a checked attachment template. Limits that it breaks with its blocks are faults as well. */
export const checkDocumentIncludes = (
  content: AttachmentTemplateContent,
  asked: Asked,
): CheckedIncludes<AttachmentTemplateContent> =>
  checked(
    content,
    content.schema.outputFormats,
    asked,
    expandDocument,
    (expanded) => checkPaths(partsOfDocument(expanded), expanded.variables, asked.limits.pathSegmentsMax).faults,
  );

/** In: a checked block, the outputs that can show it, and its slug. */
export const checkBlockIncludes = (
  content: BlockContent,
  { outputs, slug, ...asked }: Asked & Readonly<{ outputs: readonly Output[]; slug: string | undefined }>,
): readonly FieldError[] =>
  checked(
    content,
    outputs,
    asked,
    (block, options) => {
      lookIntoBlock(block, { ...options, slug });
      return block;
    },
    () => [],
  ).faults;

const checked = <Content>(
  content: Content,
  outputs: readonly Output[],
  { find, limits }: Asked,
  expand: (content: Content, options: ExpandOptions) => Content,
  pathFaults: (expanded: Content) => readonly FieldError[],
): CheckedIncludes<Content> => {
  const errors = new Map<string, FieldError>();
  const fault = (field: string, message: string): void => {
    if (errors.size < FAULTS_MAX) errors.set(`${field} ${message}`, { field, message });
  };
  const look: ExpandOptions['look'] = (block, { field, props, slug }) => {
    for (const one of handingFaults(block.variables, { field, props, slug })) fault(one.field, one.message);
    const wrong = outputs.map((output) => blockFaults(block, output, limits)).find(({ length }) => length > 0);
    const include = field.replace(/\.props$/, '');
    for (const { field: at, message } of wrong ?? []) fault(`${include} › block "${slug}": ${at}`, message);
  };
  let expanded = content;
  try {
    expanded = expand(content, { find, limits, fault, look });
    if (errors.size === 0) for (const { field, message } of pathFaults(expanded)) fault(field, message);
  } catch (thrown) {
    if (!(thrown instanceof DomainError)) throw thrown;
    fault('schema', `is with its blocks more than a template may be: ${thrown.message}`);
  }
  return { expanded: errors.size === 0 ? expanded : content, faults: [...errors.values()] };
};

type Handing = Readonly<{ field: string; props: JsonObject; slug: string }>;

const handingFaults = (
  definitions: readonly VariableDefinition[],
  { field, props, slug }: Handing,
): readonly FieldError[] => {
  const faults: FieldError[] = [];
  const { variables } = props;
  const names = definitions.map(({ name }) => name);
  for (const name of Object.keys(typeof variables === 'object' && variables !== null ? variables : {})) {
    if (names.includes(name)) continue;
    const near = nearestName(name, names);
    const meant =
      near === undefined
        ? `it has ${names.map((one) => `"${shorten(one)}"`).join(', ') || 'none'}`
        : `did you mean "${near}"?`;
    faults.push({
      field: `${field}.variables${writeSteps([name])}`,
      message: `is no variable of the block "${slug}"; ${meant}`,
    });
  }
  for (const definition of definitions) {
    const { name, required } = definition;
    const value = handedOver(props, name);
    if (value === undefined || value === null) {
      if (required === true)
        faults.push({
          field: `${field}.variables`,
          message: `must hand over "${shorten(name)}", which the block "${slug}" requires`,
        });
    } else if (typeof value !== 'string' || !hasPlaceholder(value)) {
      for (const { message } of literalFaults(definition, { [name]: value }))
        faults.push({
          field: `${field}.variables${writeSteps([name])}`,
          message: `${message}, for the block "${slug}"`,
        });
    }
  }
  return faults;
};

const literalFaults = (definition: VariableDefinition, values: JsonObject): readonly FieldError[] => {
  try {
    compileVariableCheck([definition])(values);
    return [];
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return fault.details.errors ?? [];
  }
};
