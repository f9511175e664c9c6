/** Templates as the pages show them. Nothing here needs a browser. */
import type { Content, Kind } from './service.js';

export { bodyOfChange, type Content, contentOf, isEqual, type Kind, kinds, versionOf, wholeOf } from './service.js';

/** Fields that all kinds have in a list. */
export type Item = Readonly<{
  id: string;
  slug: string;
  name: string;
  description: string;
  type: Kind;
  status: 'draft' | 'published';
  version: number;
  publishedVersion: number | null;
  createdAt: string;
  updatedAt: string;
  updatedBy: string | null;
  /** Emails alone have these. */
  sent30d?: number;
  lastSentOn?: string | null;
  /** Documents alone have it. */
  outputFormats?: readonly ('pdf' | 'excel')[];
  /** Blocks alone have these. */
  outputs?: readonly ('email' | 'pdf' | 'excel')[];
  isLayout?: boolean;
  deletedAt?: string;
}>;

/** A template with its content. `warnings`: what the answer to a save tells. */
export type Stored = Item &
  Readonly<{ revision: number; warnings?: readonly Readonly<{ field: string; message: string }>[] }> &
  Content;

/** The state of a template in a word. */
export const stateOf = ({
  status,
  publishedVersion,
  deletedAt,
}: Item): 'deleted' | 'published' | 'changed' | 'draft' =>
  deletedAt !== undefined
    ? 'deleted'
    : status === 'published'
      ? 'published'
      : publishedVersion === null
        ? 'draft'
        : 'changed';

/** In: a path such as `schema.sections[0].components[2].props.text`. Out: its steps. */
export const stepsOf = (path: string): readonly (string | number)[] =>
  [...path.matchAll(/\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(([, quoted, place, name]) =>
    quoted !== undefined ? quoted.replaceAll('\\"', '"') : place !== undefined ? Number(place) : (name ?? ''),
  );

/** In: the path of a fault. Out: the id of the nearest component or section around it. */
export const idAt = (content: Content, path: string): string | undefined => {
  let at: unknown = content;
  let id: string | undefined;
  for (const step of stepsOf(path)) {
    if (typeof at !== 'object' || at === null) break;
    at = (at as Readonly<Record<string | number, unknown>>)[step];
    if (typeof at === 'object' && at !== null && 'id' in at && 'type' in at && typeof at.id === 'string') id = at.id;
  }
  return id;
};

/** The own member of that name, which may be any text. */
export const ownOf = <Value>(of: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined =>
  of !== undefined && Object.hasOwn(of, name) ? of[name] : undefined;
