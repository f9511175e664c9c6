/**
 * The HTML document of a mail (head, preheader, the column of sections around the components) and its text part, as
 * source code of one function.
 */
import type { ComponentsOf } from '../../../domain/rendering/components.js';
import type { Component, EmailTemplateContent, Section } from '../../../domain/rendering/content.js';
import {
  type ComponentRenderer,
  type Context,
  shownConditionOf,
  shapesOf,
  WORD_CHARS,
  isolatedOf,
  templated,
  textOf,
} from './values.js';
import { divider, htmlFragment, list, richText, spacer } from './components/blocks.js';
import { conditional, include, loop, columns, container, countFixed } from './components/layout.js';
import { button, image, qrCode } from './components/media.js';
import { table } from './components/table.js';
import { timeline } from './components/timeline.js';
import type { JsonObject } from '../../../domain/core/json.js';
import { linkRulesOf } from '../../../domain/rendering/addresses.js';
import { parseTemplatedText, withTextAround } from '../../../domain/rendering/fill/templated-text.js';
import { concat, createCode, js, literalOf, type Code, type Term } from './code.js';
import type { Limits } from '../../../domain/core/limits.js';
import { directionOfLocale, directions, type Direction } from '../../../domain/rendering/direction.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import { createDarkColors, WHITE } from './dark-colors.js';
import {
  classAttribute,
  color,
  colorClass,
  css,
  endOf,
  horizontalPx,
  inLinkColor,
  LINK_COLOR,
  onBackground,
  onSurface,
  readable,
  startOf,
  surfaceOf,
  tableTag,
  TEXT_COLOR,
  typographyOf,
} from './style.js';
import { escapeHtml } from './escape.js';

/** The source of the function: constants run once; body and subject run for each email. */
export type Source = Readonly<{ constants: string; body: string; subject: string }>;

const GAP_PX = 16;

const FONTS = "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const WIDTH_PX = 600;
/** Read on the grey of the page: 4.5:1 at least (WCAG 2.2, 1.4.3). */
const FOOTER_COLORS = { color: ['#656b78', '#d1d5db'], linkColor: ['#4b5563', '#e5e7eb'] } as const;
/** Colours that the template names for the page and the card are another's choice, unless they cannot be seen there. */
const LEAST_ON_PAGE = 2;

/**
 * In: a checked template. Out: the source of its function. `h` collects the HTML, `t` the text, `n` the number of
 * components. With `marks` each component is found in the HTML by its id.
 */
export const writeDocument = (
  content: EmailTemplateContent,
  limits: Limits,
  language: Language,
  {
    outputs,
    marks,
    ...known
  }: Readonly<{ outputs: 'html' | 'html and text'; marks?: boolean | undefined }> &
    Pick<Context, 'richTexts' | 'checkedCodes'>,
): Source => {
  const code = createCode('', outputs === 'html and text');
  const subject = createCode('s');
  const props = content.schema.props ?? {};
  const context: Context = {
    ...rootContext(content, code, limits, language),
    ...known,
    ...(marks === true && { within: [] }),
  };
  const subjectExpression = concat(
    textOf(withTextAround(parseTemplatedText(content.subject, limits.pathSegmentsMax).parts), {
      ...context,
      code: subject,
    }),
  );
  const page = color(props['backgroundColor'], '#f3f4f6', context);
  const pageClass = colorClass('page', page, context);

  code.statement(
    `let n=${countFixed(content.schema.sections.flatMap(({ components }) => components))};if(n>${limits.componentsExpandedMax})TOO_MANY(n);`,
  );
  const widthPx =
    typeof props['width'] === 'undefined'
      ? WIDTH_PX
      : parseFloat(literalOf([css('length', props['width'], '600px', context)]) ?? '600');
  const lang = ` lang="${escapeHtml(language.locale)}" dir="${context.direction}"`;
  code.html(
    `<!doctype html><html${lang} xmlns:o="urn:schemas-microsoft-com:office:office"><head>${META}<title>`,
    js('E(subject)'),
    `</title>${OUTLOOK}<style>${styleOf(widthPx, context)}`,
  );
  // The dark counterparts of values are known only after the last component, so the head is added last.
  code.statement('const head=h;h="";');
  code.html('</style></head>');
  code.html('<body', classAttribute(pageClass), ' style="margin:0;padding:0;background-color:', page, '">');
  preheader(props, context);
  code.html(
    `<div role="article" aria-roledescription="email"${lang}>`,
    tableTag(context),
    classAttribute(pageClass),
    ' style="background-color:',
    page,
    `"><tr><td class="page" align="center" style="padding:${PAGE_PADDING_PX}px">`,
  );
  code.html(
    `<!--[if mso]>${tableTag(context, String(widthPx))} align="center"><tr><td><![endif]--><div style="max-width:${widthPx}px;margin:0 auto">${tableTag(context)} style="border-collapse:separate">`,
  );
  sections(
    content.schema.sections,
    props,
    onSurface(surfaceOf(page, context, 'page'), { ...context, widthPx }, LEAST_ON_PAGE),
  );
  code.html('</table></div><!--[if mso]></td></tr></table><![endif]--></td></tr></table></div></body></html>');

  code.statement('h=head+(k?STACKED:"")+(d===undefined?DARK:DARK_STYLE(DARK_RULES,d))+h;');

  const { constants, body } = code.source();
  const subjectSource = subject.source();
  const dark = context.dark.rules();
  return {
    constants: `${subjectSource.constants}\n${constants}\nconst DARK_RULES=${JSON.stringify(dark)},DARK=DARK_STYLE(DARK_RULES),STACKED=${JSON.stringify(stackedStyle(widthPx, context))};`,
    body,
    subject: `${subjectSource.body}\nconst made=${subjectExpression};`,
  };
};

/** The renderer of each component that the support matrix gives to email: without one, this does not compile. */
const renderers: Readonly<Record<ComponentsOf<'email'>, ComponentRenderer>> = {
  'rich-text': richText,
  button,
  image,
  table,
  container,
  columns,
  divider,
  spacer,
  conditional,
  loop,
  list,
  'qr-code': qrCode,
  'html-fragment': htmlFragment,
  timeline,
  include,
};

/** Writes components one below the other; the gap below the last one is its parent's. */
const renderRows = (components: readonly Component[], context: Context): void =>
  components.forEach((component, at) => {
    const last = at === components.length - 1;
    const own = marked(component, context);
    const render = (): void => renderers[component.type](component, last ? own : { ...own, gapPx: GAP_PX });
    const shown = shownConditionOf(component, context);
    if (shown === undefined) render();
    else context.code.block(`if(${shown})`, render);
  });

/** Components that have no element of their own: those inside carry their ids too. */
const WITHOUT_ELEMENT: ReadonlySet<string> = new Set(['conditional', 'loop', 'include']);

/** An id as the value of an attribute, without blanks. */
const markOf = (id: string): string => encodeURIComponent(id.replace(/\p{Cs}/gu, '\ufffd'));

/** The context of a component whose rows carry its id, if the mail is marked. */
const marked = ({ id, type }: Component, context: Context): Context => {
  if (context.within === undefined) return context;
  const ids = [...context.within, markOf(id)];
  return {
    ...context,
    mark: ` data-component="${ids.join(' ')}"`,
    within: WITHOUT_ELEMENT.has(type) ? ids : [],
  };
};

const META =
  '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">' +
  '<meta name="x-apple-disable-message-reformatting"><meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">' +
  '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">';

/** Outlook on Windows: real pixels on sharp screens, no Times New Roman where it knows none of the fonts. */
const OUTLOOK =
  '<!--[if mso]><noscript><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml></noscript>' +
  '<style>table{border-collapse:collapse}td,th,p,a,li,h1,h2,h3{font-family:"Segoe UI",Arial,sans-serif}</style><![endif]-->';

const STYLE =
  ':root{color-scheme:light dark;supported-color-schemes:light dark}' +
  'body{-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%}td{overflow-wrap:break-word}' +
  'a[x-apple-data-detectors]{color:inherit!important;text-decoration:none!important}';

/** A small phone, and the padding of a section there. */
const PHONE_PX = 360;
const PHONE_PADDING_PX = 24;
/** Padding of the page at both sides of the mail. */
const PAGE_PADDING_PX = 12;

/**
 * On a screen without room beside the mail, the page loses its padding; on one narrower than the mail itself, columns
 * fall below each other.
 */
const styleOf = (widthPx: number, context: Context): string =>
  `${STYLE}@media (max-width:${widthPx + 2 * PAGE_PADDING_PX - 1}px){.page{padding:0!important}.card{border-radius:0!important}}` +
  `@media (max-width:${widthPx - 1}px){.w{word-break:break-word}.sec{padding-left:${PHONE_PADDING_PX}px!important;padding-right:${PHONE_PADDING_PX}px!important}` +
  `.col{max-width:100%!important}.col+.col{padding-top:16px}.gut{padding-${endOf(context)}:0!important}.m{font-size:12px!important}.m td,.m th{padding:8px 3px!important}}`;

/**
 * Tables whose words are wider than a small screen: the cells of a row stand below each other, behind the heads of
 * their columns.
 */
const stackedStyle = (widthPx: number, context: Context): string =>
  `@media (max-width:${widthPx - 1}px){.k,.k tbody,.k tr,.k td{display:block!important;width:auto!important}.k .h{display:none!important}` +
  `.k tr{padding:8px 0;border-bottom:1px solid rgba(128,128,128,.4)}.q tr{padding:8px 10px}.k .n{display:inline!important}` +
  `.k td{padding:2px 0!important;border:0!important;text-align:${startOf(context)}!important}}`;

/** The direction that the template states, else that of its language. */
export const directionOf = (props: JsonObject | undefined, { locale }: Language): Direction =>
  directions.find((known) => known === props?.['direction']) ?? directionOfLocale(locale);

const rootContext = (content: EmailTemplateContent, code: Code, limits: Limits, language: Language): Context => {
  const direction = directionOf(content.schema.props, language);
  const base: Context = {
    code,
    limits,
    language,
    direction,
    shapes: shapesOf(content.variables),
    locals: new Map(),
    dark: createDarkColors(),
    richTexts: new Map(),
    checkedCodes: new Set(),
    links: linkRulesOf(content.schema.props),
    wordChars: WORD_CHARS,
    keepsLines: false,
    widthPx: WIDTH_PX,
    phonePx: PHONE_PX - 2 * PHONE_PADDING_PX,
    surface: WHITE,
    accent: LINK_COLOR,
    gapPx: 0,
    type: {
      color: TEXT_COLOR,
      linkColor: LINK_COLOR,
      around: { color: { term: TEXT_COLOR, isNamed: false }, linkColor: { term: LINK_COLOR, isNamed: false } },
      fontFamily: FONTS,
      fontSize: '16px',
      lineHeight: '1.5',
      align: startOf({ direction }),
    },
    mark: '',
    within: undefined,
    rows: renderRows,
  };
  const props = content.schema.props ?? {};
  const linkColor = color(props['linkColor'], LINK_COLOR, base);
  const inner = { ...base, accent: linkColor, type: typographyOf(props, base) };
  return props['linkColor'] === undefined ? inner : { ...inner, type: inLinkColor(linkColor, inner) };
};

/**
 * Writes the preheader, which inboxes show beside the subject, and invisible blanks behind it, so that inboxes do not
 * continue with the body. An empty preheader writes nothing.
 */
const preheader = (props: JsonObject, context: Context): void => {
  if (typeof props['preheader'] !== 'string' || props['preheader'] === '') return;
  const text = isolatedOf(templated(props['preheader'], context), context);
  const { code } = context;
  const literal = literalOf(text);
  const write = (shown: Term): void =>
    // It is hidden, and its box is a block: a line may end in it and after it.
    code.html(
      '<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">',
      shown,
      '\n',
      '&#8199;&#65279;&#847; '.repeat(20),
      '</div>\n',
    );
  if (literal === undefined) {
    const shown = code.remember(concat(text));
    code.block(`if(${shown}.trim()!=="")`, () => write(js(shown)));
  } else if (literal.trim() !== '') write(literal);
};

/**
 * Sections from top to bottom. Main and body stand on a card; header and footer on the page itself, the footer in small
 * grey letters, unless they have a background of their own, which makes them a part of the card.
 */
const sections = (all: readonly Section[], props: JsonObject, context: Context): void => {
  const card = color(props['contentBackgroundColor'], '#ffffff', context);
  const radius = css('length', props['borderRadius'], '8px', context);
  const onCard = all.map(
    ({ type, props: own }) => type === 'main' || type === 'body' || own?.['backgroundColor'] !== undefined,
  );
  all.forEach((section, at) => {
    const own = section.props ?? {};
    const first = onCard[at] === true && onCard[at - 1] !== true;
    const last = onCard[at] === true && onCard[at + 1] !== true;
    const background =
      own['backgroundColor'] === undefined
        ? onCard[at] === true
          ? card
          : 'transparent'
        : color(own['backgroundColor'], card, context);
    const joined = onCard[at] === true && !last;
    oneSection(
      section,
      {
        background,
        corners: cornersOf(first, last, radius),
        padding: paddingOf(section, onCard[at] === true, joined && onCard[at + 1] === true),
      },
      context,
    );
  });
};

const cornersOf = (first: boolean, last: boolean, radius: Term): readonly Term[] => {
  if (!first && !last) return [];
  const [top, bottom] = [first ? radius : '0', last ? radius : '0'];
  return [';border-radius:', top, ' ', top, ' ', bottom, ' ', bottom];
};

const paddingOf = ({ type, props }: Section, onCard: boolean, joined: boolean): string => {
  if (onCard) return joined && props?.['backgroundColor'] === undefined ? '32px 32px 0' : '32px';
  return type === 'header' ? '20px 32px 24px' : '24px 32px';
};

const mutedType = (context: Context): Context['type'] => {
  const text = readable(FOOTER_COLORS.color, context);
  const linkColor = readable(FOOTER_COLORS.linkColor, context);
  const around = { color: { term: text, isNamed: false }, linkColor: { term: linkColor, isNamed: false } };
  return { ...context.type, color: text, linkColor, around };
};

const oneSection = (
  section: Section,
  look: { background: Term; corners: readonly Term[]; padding: string },
  outer: Context,
): void => {
  const { code } = outer;
  const props = section.props ?? {};
  const muted = section.type === 'footer' && look.background === 'transparent';
  const base: Context = muted ? { ...outer, type: { ...mutedType(outer), fontSize: '13px', align: 'center' } } : outer;
  const context = onBackground(
    look.background,
    props['color'],
    base,
    props['backgroundColor'] === undefined ? LEAST_ON_PAGE : undefined,
  );
  const padding = css('box', props['padding'], look.padding, outer);
  const { color: _, ...others } = props;
  const inner: Context = { ...context, type: typographyOf(others, context) };
  const type =
    props['linkColor'] === undefined
      ? inner.type
      : inLinkColor(color(props['linkColor'], inner.type.linkColor, inner), inner);
  const classes = classAttribute(
    'sec',
    look.corners.length > 0 ? 'card' : '',
    colorClass('surface', look.background, outer),
  );
  const mark = outer.within === undefined ? '' : ` data-section="${markOf(section.id)}"`;
  code.html(`<tr${mark}><td`, classes, ' style="padding:', padding);
  if (look.background !== 'transparent') code.html(';background-color:', look.background);
  code.html(...look.corners, '">', tableTag(outer), '>');
  context.rows(section.components, {
    ...context,
    type,
    gapPx: 0,
    widthPx: Math.max(outer.widthPx - horizontalPx(padding), 50),
  });
  if (section.components.length === 0) code.html('<tr><td></td></tr>');
  code.html('</table></td></tr>');
  if (section.type === 'header') code.text('\n');
};
