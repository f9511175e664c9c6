/**
 * The attributes of the elements of an MJML source: those that MJML gives by itself, and those that the head states for
 * all, for a tag or for a class. Names what the head says and a template cannot.
 */
import type { AddNote } from './names.js';
import { holdsMark, type RawElement, type RawNode } from './tree.js';

export type Attributes = ReadonlyMap<string, string>;
type Rules = Readonly<Record<string, string>>;

/** A longer list is no list of classes. */
const CLASSES_MAX = 20;
const ATTRIBUTES_MAX = 60;
export const BODY_PX = 600;
const FONTS = 'Ubuntu, Helvetica, Arial, sans-serif';

/** Attributes that MJML gives an element which states none. */
export const DEFAULTS: Readonly<Record<string, Rules>> = {
  'mj-body': { width: `${BODY_PX}px` },
  'mj-section': { padding: '20px 0' },
  'mj-column': { 'vertical-align': 'top' },
  'mj-text': text(),
  'mj-button': {
    ...{ align: 'center', 'background-color': '#414141', 'border-radius': '3px', color: '#ffffff' },
    ...{ 'font-family': FONTS, 'font-size': '13px', 'inner-padding': '10px 25px', 'line-height': '120%' },
    ...{ padding: '10px 25px', 'text-decoration': 'none' },
  },
  'mj-image': { align: 'center', padding: '10px 25px' },
  'mj-divider': {
    ...{ 'border-color': '#000000', 'border-style': 'solid', 'border-width': '4px', padding: '10px 25px' },
    ...{ width: '100%', align: 'center' },
  },
  'mj-spacer': { height: '20px' },
  'mj-table': { ...text(), 'line-height': '22px', cellpadding: '0', cellspacing: '0', width: '100%' },
  'mj-social': {
    ...{ align: 'center', 'border-radius': '3px', color: '#333333', 'font-family': FONTS, 'font-size': '13px' },
    ...{ 'icon-size': '20px', 'line-height': '22px', mode: 'horizontal', padding: '10px 25px' },
    ...{ 'text-decoration': 'none' },
  },
  'mj-navbar': { align: 'center' },
  'mj-navbar-link': {
    ...{ color: '#000000', 'font-family': FONTS, 'font-size': '13px', 'font-weight': 'normal' },
    ...{ 'line-height': '22px', padding: '15px 10px', 'text-decoration': 'none', 'text-transform': 'uppercase' },
  },
  'mj-hero': { 'background-color': '#ffffff', 'background-position': 'center center', padding: '0px' },
  'mj-accordion': { padding: '10px 25px', 'font-family': FONTS },
  'mj-accordion-title': { 'font-size': '13px', padding: '16px' },
  'mj-accordion-text': { 'font-size': '13px', 'line-height': '1', padding: '16px' },
  'mj-carousel': { align: 'center' },
};

function text(): Rules {
  return {
    ...{ align: 'left', color: '#000000', 'font-family': FONTS, 'font-size': '13px', 'line-height': '1' },
    ...{ padding: '10px 25px' },
  };
}

/** Attributes whose placeholders a component can show. */
const FILLED: ReadonlySet<string> = new Set(['href', 'src', 'alt', 'title', 'name', 'background-url', 'path']);

export const isElement = (node: RawNode): node is RawElement => node.kind === 'element';
const textOf = (node: RawNode): string => (isElement(node) ? node.children.map(textOf).join('') : node.text);

export type Head = {
  all: Attributes;
  readonly tags: Map<string, Attributes>;
  readonly classes: Map<string, Attributes>;
  readonly sheets: string[];
  title: string;
  preview: RawElement | undefined;
};

export const readHead = (heads: readonly RawNode[], note: AddNote): Head => {
  const head: Head = {
    ...{ all: new Map(), tags: new Map(), classes: new Map(), sheets: [] },
    ...{ title: '', preview: undefined },
  };
  const parts = heads.flatMap((node) => (isElement(node) ? node.children.filter(isElement) : []));
  for (const part of parts) {
    const { tag, at, attributes } = part;
    switch (tag) {
      case 'mj-title':
        head.title = textOf(part).trim();
        break;
      case 'mj-preview':
        head.preview = part;
        break;
      case 'mj-style':
        head.sheets.push(textOf(part));
        break;
      case 'mj-attributes':
        readDefaults(part, head);
        break;
      case 'mj-font':
        note(
          'approximated',
          at,
          `The web font ${shortened(attributes.get('name') ?? '')} is not loaded`,
          'The next font of the list is shown, as in most mail programs.',
        );
        break;
      case 'mj-breakpoint':
        note(
          'kept',
          at,
          'The breakpoint is left out',
          'Columns fall below each other where the screen is narrower than the mail.',
        );
        break;
      case 'mj-include':
        included(part, note);
        break;
      default:
        note('dropped', at, `<${tag.slice(0, 40)}> in the head is left out`, 'A template has no such setting.');
    }
  }
  return head;
};

const readDefaults = ({ children }: RawElement, head: Head): void => {
  for (const { tag, attributes } of children.filter(isElement)) {
    const own = new Map([...attributes].slice(0, ATTRIBUTES_MAX));
    const name = own.get('name') ?? '';
    if (tag === 'mj-all') head.all = new Map([...head.all, ...own]);
    else if (tag === 'mj-class') {
      own.delete('name');
      head.classes.set(name, new Map([...(head.classes.get(name) ?? []), ...own]));
    } else head.tags.set(tag, new Map([...(head.tags.get(tag) ?? []), ...own]));
  }
};

export const included = ({ at, attributes }: RawElement, note: AddNote): void =>
  note(
    'dropped',
    at,
    `<mj-include> of ${shortened(attributes.get('path') ?? '')} is left out: the file is not part of the source`,
    'Put the content of the file in its place, and convert again.',
  );

const SHOWN_CHARS = 60;
const shortened = (written: string): string => {
  const plain = written.replace(/[\ue000\ue001]/g, '').trim();
  return `"${plain.length > SHOWN_CHARS ? `${plain.slice(0, SHOWN_CHARS)}…` : plain}"`;
};

export type AttributesOf = (node: RawElement, inherited?: Attributes) => Attributes;

/** The attributes of an element: its own, those of its classes, its tag, of all, and what MJML gives by itself. */
export const openAttributes = ({ all, tags, classes }: Head, note: AddNote): AttributesOf => {
  const bases = new Map<string, Attributes>();
  const baseOf = (tag: string): Attributes => {
    const known = bases.get(tag);
    if (known !== undefined) return known;
    const usual = Object.entries(Object.hasOwn(DEFAULTS, tag) ? DEFAULTS[tag]! : {});
    const made = new Map([...usual, ...all, ...(tags.get(tag) ?? [])]);
    bases.set(tag, made);
    return made;
  };
  return ({ tag, attributes, at }, inherited = new Map()) => {
    const named = (attributes.get('mj-class') ?? '').split(/\s+/).slice(0, CLASSES_MAX);
    const given = [...inherited, ...named.flatMap((name) => [...(classes.get(name) ?? [])]), ...attributes];
    const own = given.filter(([name, value]) => {
      if (!holdsMark(value) || FILLED.has(name)) return true;
      note(
        'dropped',
        at,
        `The placeholder in ${name.slice(0, 40)} of <${tag}> is left out`,
        'Looks are fixed in a template. Choose one with a conditional around two components.',
      );
      return false;
    });
    return new Map([...baseOf(tag), ...own]);
  };
};
