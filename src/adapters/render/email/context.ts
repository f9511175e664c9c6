/** What a component knows of its surroundings while a template is compiled, and how it passes that on to its children. */
import type { Limits } from '../../../domain/core/limits.js';
import type { Component } from '../../../domain/rendering/content.js';
import type { VariableDefinition } from '../../../domain/rendering/scope/definitions.js';
import type { Direction } from '../../../domain/rendering/direction.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import { shapeOf, type Shape } from '../../../domain/rendering/scope/shapes.js';
import type { Code, Term } from './code.js';
import type { DarkColors } from './dark-colors.js';
import type { RichNode } from './rich-nodes.js';

export type RichTexts = Map<string, readonly RichNode[]>;

/** A variable of a loop: the name of the constant that holds it, and what is known of its values. */
export type Local = Readonly<{ js: string; shape: Shape | undefined }>;

/** Text as it stands in its surroundings; every value is CSS. */
export type Typography = Readonly<{
  color: Term;
  linkColor: Term;
  fontFamily: Term;
  fontSize: Term;
  lineHeight: Term;
  align: Term;
}>;

/** Of `wordChars` in a single column: a longer word in the letters of a heading may be wider than a small screen. */
export const WORD_CHARS = 18;

export type Context = Readonly<{
  code: Code;
  limits: Limits;
  language: Language;
  /** In which the surroundings run: Outlook and Gmail inherit it into no table, so that each says it again. */
  direction: Direction;
  shapes: ReadonlyMap<string, Shape>;
  locals: ReadonlyMap<string, Local>;
  dark: DarkColors;
  /** Pixels that a component has from side to side. */
  widthPx: number;
  /** False on a background that stays as it is in dark mode: text on it stays too. */
  flips: boolean;
  type: Typography;
  /** The colour of buttons that have none of their own. */
  accent: Term;
  /** Pixels below a component: 0 for the last one, for its surroundings have padding of their own. */
  gapPx: number;
  /** Rich texts of the template that are taken apart already, for each of its outputs. */
  richTexts: RichTexts;
  /** Words longer than this may break on a small screen. */
  wordChars: number;
  /** QR codes of the template that are known to fit. */
  checkedCodes: Set<string>;
  /** Writes components one below the other, each as a row of the table that is open. */
  rows: (components: readonly Component[], context: Context) => void;
}>;

/** Writes one component as rows of the table that is open, and as paragraphs of the text part. */
export type ComponentRenderer = (component: Component, context: Context) => void;

export const shapesOf = (definitions: readonly VariableDefinition[]): ReadonlyMap<string, Shape> =>
  new Map(definitions.map((definition) => [definition.name, shapeOf(definition)]));

/** The context inside a loop, where its variables are in reach. */
export const withLocals = (context: Context, locals: readonly (readonly [string, Local])[]): Context => ({
  ...context,
  locals: new Map([...context.locals, ...locals]),
});
