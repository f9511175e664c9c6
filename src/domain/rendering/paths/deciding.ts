/** By which paths it is decided whether a component with `hideWhenEmpty` is there: it is hidden where all of them are blank. */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { hasPlaceholder, parsePathText, parseTemplatedText, pathsOf } from '../fill/templated-text.js';
import { linePathsOf } from '../rich-text.js';
import type { Path } from '../scope/path.js';

/** A component of a mail or of a document. */
export type WalkedComponent = Readonly<{
  type: string;
  content?: string;
  props?: JsonObject;
  children?: readonly WalkedComponent[];
  elseChildren?: readonly WalkedComponent[];
}>;

/** Every path in the strings of a JSON value. */
export const pathsInTexts = (value: Json | undefined, segmentsMax: number): readonly Path[] => {
  if (typeof value === 'string') return hasPlaceholder(value) ? pathsOf(parseTemplatedText(value, segmentsMax).parts) : [];
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap((item) => pathsInTexts(item, segmentsMax));
  return isJsonObject(value) ? Object.values(value).flatMap((member) => pathsInTexts(member, segmentsMax)) : [];
};

/**
 * In: a checked component. Out: what it is there for, in the scope around it: its data source, else the paths of its text, address or
 * children. None for what shows no variable, which is never hidden.
 */
export const decidingPaths = (component: WalkedComponent, segmentsMax: number): readonly Path[] => {
  const { type, content, props = {}, children = [], elseChildren = [] } = component;
  const within = (value: Json | undefined): readonly Path[] => pathsInTexts(value, segmentsMax);
  if (typeof props['dataSource'] === 'string') {
    const parsed = parsePathText(props['dataSource'], segmentsMax);
    return parsed.ok ? [parsed.path] : [];
  }
  switch (type) {
    case 'image':
      return within(props['src']);
    case 'qr-code':
      return [...within(props['value']), ...within(props['iban'])];
    case 'button': {
      const address = within(props['href']);
      return address.length > 0 ? address : within(content);
    }
    case 'table':
      return within(props['rows']);
    case 'timeline':
      return within(props['items']);
    case 'divider':
    case 'spacer':
      return [];
    default:
      if (props['hideWhenEmpty'] === 'lines') return linePathsOf(content ?? '', segmentsMax);
      return [...within(content), ...[...children, ...elseChildren].flatMap((child) => decidingPaths(child, segmentsMax))];
  }
};
