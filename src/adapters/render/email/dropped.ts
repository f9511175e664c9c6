/** What the HTML of an author loses in a mail or a document, as warnings about a template: elements, attributes, styles and comments that are not kept. */
import { parseDocument } from 'htmlparser2';
import type { FieldError } from '../../../domain/core/errors.js';
import { isJsonObject, type Json } from '../../../domain/core/json.js';
import { insideImage, linkRulesOf, safeImage, type LinkRules } from '../../../domain/rendering/addresses.js';
import type { AttachmentTemplateContent, Component, DocumentComponent, EmailTemplateContent } from '../../../domain/rendering/content.js';
import { cssColor } from '../../../domain/rendering/css.js';
import { droppedTags, NESTING_MAX } from '../../../domain/rendering/html.js';
import { shorten } from '../../../domain/rendering/scope/path.js';
import { declarationsOf, isKeptAttribute, keptTagOf, type RichMode } from '../rich-tree.js';
import { lostDeclarations } from './rich-html.js';

/** Enough to work with: components that are told, and names that are told of each. */
const WARNINGS_MAX = 20;
const NAMES_MAX = 20;
const CHARS_SHOWN = 40;

type AnyComponent = Component | DocumentComponent;
/** `links`: the addresses that an email allows; undefined in a document. */
type Rules = Readonly<{ mode: RichMode; links: LinkRules | undefined }>;

/** In: a checked template in one of its languages. Out: a warning for each text whose HTML loses something, with the names of what it loses. */
export const droppedIn = ({
  schema,
}: Pick<EmailTemplateContent, 'schema'> | Pick<AttachmentTemplateContent, 'schema'>): readonly FieldError[] => {
  const links = 'pages' in schema ? undefined : linkRulesOf(schema.props);
  const warnings: FieldError[] = [];
  const look = (text: Json | undefined, field: string, mode: RichMode): void => {
    if (typeof text !== 'string' || !text.includes('<') || text.startsWith('=') || warnings.length >= WARNINGS_MAX) return;
    const lost = lossesIn(text, { mode, links });
    if (lost.size > 0) warnings.push({ field, message: messageFor(lost, links === undefined ? 'a document' : 'an email') });
  };
  const visit = (components: readonly AnyComponent[], field: string): void =>
    components.forEach((component, at) => {
      const { content, children = [], elseChildren = [] } = component;
      const place = `${field}[${at}]`;
      if (component.type === 'table') visitTable(component, place, look);
      else look(content, `${place}.content`, modeOf(component));
      visit(children, `${place}.children`);
      visit(elseChildren, `${place}.elseChildren`);
    });
  if ('pages' in schema) {
    schema.pages.forEach(({ sections }, page) =>
      sections.forEach(({ components }, at) => visit(components, `schema.pages[${page}].sections[${at}].components`)),
    );
  } else schema.sections.forEach(({ components }, at) => visit(components, `schema.sections[${at}].components`));
  return warnings;
};

const modeOf = ({ type, props }: AnyComponent): RichMode => {
  if (type === 'html-fragment') return 'fragment';
  return type === 'rich-text' || (type === 'list' && props?.['dataSource'] === undefined) ? 'block' : 'inline';
};

type Look = (text: Json | undefined, field: string, mode: RichMode) => void;

const itemsOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

const visitTable = ({ props = {} }: AnyComponent, place: string, look: Look): void => {
  itemsOf(props['columns']).forEach((column, at) => {
    if (!isJsonObject(column)) return;
    for (const name of ['header', 'content', 'footer']) look(column[name], `${place}.props.columns[${at}].${name}`, 'inline');
  });
  itemsOf(props['rows']).forEach((row, at) =>
    itemsOf(row).forEach((cell, column) =>
      look(isJsonObject(cell) ? cell['content'] : cell, `${place}.props.rows[${at}][${column}]`, 'inline'),
    ),
  );
};

/** How often each is lost, by its name. */
type Losses = Map<string, number>;

const messageFor = (losses: Losses, noun: string): string => {
  const names = [...losses].slice(0, NAMES_MAX).map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
  const rest = losses.size > NAMES_MAX ? ` and ${losses.size - NAMES_MAX} more` : '';
  return `is shown without what ${noun} does not keep: ${names.join(', ')}${rest}`;
};

/** Parts of a whole page that show nothing by themselves. */
const FRAME: ReadonlySet<string> = new Set(['html', 'head', 'body', 'meta', 'title']);
const SURFACE: ReadonlySet<string> = new Set(['style', 'bgcolor', 'background']);
const WITH_CONTENT: ReadonlySet<string> = new Set(droppedTags);
/** Attributes for style sheets, scripts, editors and browsers' windows: without them a mail looks as before. */
const UNSEEN = /^(?:class|target|rel|xmlns(?::.*)?|data-.*|contenteditable|spellcheck|tabindex|draggable|translate|itemscope|item.*)$/;
const AT_RULE = /@(?:media|font-face|import|keyframes|supports)\b/gi;

type DomNode = ReturnType<typeof parseDocument>['children'][number];
type DomElement = Extract<DomNode, { attribs: unknown }>;

const lossesIn = (html: string, { mode, links }: Rules): Losses => {
  const losses: Losses = new Map();
  const add = (name: string): void => void losses.set(name, (losses.get(name) ?? 0) + 1);
  const visit = (nodes: readonly DomNode[], depth: number): void => {
    for (const node of nodes) {
      if (links !== undefined && node.type === 'comment' && 'data' in node && /^\s*\[if\s/i.test(node.data))
        add('comments for Outlook (<!--[if …]>)');
      if ('attribs' in node) element(node, depth);
    }
  };
  const element = (node: DomElement, depth: number): void => {
    const { name } = node;
    if (depth > NESTING_MAX) return add(`elements deeper than ${NESTING_MAX}`);
    const kept = keptTagOf(name, mode);
    if (kept !== undefined) attributesLost({ ...node, name: kept }, links).forEach(add);
    else if (FRAME.has(name)) {
      if (Object.keys(node.attribs).some((attribute) => SURFACE.has(attribute))) add(`the look of <${name}>`);
    } else add(`<${shorten(name, CHARS_SHOWN)}>${WITH_CONTENT.has(name) ? ' with all that is in it' : ''}`);
    if (kept === undefined && name === 'style')
      for (const child of node.children) if ('data' in child) for (const [rule] of child.data.matchAll(AT_RULE)) add(rule.toLowerCase());
    if (kept !== undefined || !WITH_CONTENT.has(name)) visit(node.children, depth + 1);
  };
  visit(parseDocument(html).children, 1);
  return losses;
};

const attributesLost = ({ name: tag, attribs }: Pick<DomElement, 'name' | 'attribs'>, links: LinkRules | undefined): readonly string[] =>
  Object.entries(attribs).flatMap(([name, value]) => {
    if (name === 'style')
      return (links === undefined ? lostInDocument(value) : lostDeclarations(value, links)).map(
        (lost) => `the style ${shorten(lost, CHARS_SHOWN)}`,
      );
    const where = `of <${tag}>`;
    if (!isKeptAttribute(tag, name)) return UNSEEN.test(name) || name.includes('{{') ? [] : [`${shorten(name, CHARS_SHOWN)} ${where}`];
    return isUsable(name, value, links) ? [] : [`${name}="${shorten(value, CHARS_SHOWN)}" ${where}`];
  });

/** False for a colour or a picture that the author wrote out and that is none. Links and other pictures have warnings of their own. */
const isUsable = (name: string, value: string, links: LinkRules | undefined): boolean => {
  if (value.includes('{{')) return true;
  if (name === 'bgcolor' || name === 'color') return cssColor(value) !== undefined;
  return name !== 'background' || (links !== undefined && (insideImage(value) ?? safeImage(value, links)) !== undefined);
};

/** The properties that a PDF or a workbook reads. */
const READ: ReadonlySet<string> = new Set([
  ...['color', 'background', 'background-color', 'font-family', 'font-size', 'font-weight', 'font-style', 'letter-spacing', 'white-space'],
  ...['text-align', 'text-decoration', 'text-decoration-line', 'text-transform', 'vertical-align', 'direction', 'width', 'height'],
  ...['margin-left', 'margin-right', 'padding-left', 'padding-right', 'border', 'border-color', 'list-style', 'list-style-type'],
]);

const lostInDocument = (style: string): readonly string[] =>
  [...declarationsOf(style)].flatMap(([property, value]) => {
    if (!READ.has(property)) return [property];
    const isColor = property === 'color' || property === 'background-color';
    return isColor && !value.includes('{{') && cssColor(value) === undefined ? [`${property}: ${value}`] : [];
  });
