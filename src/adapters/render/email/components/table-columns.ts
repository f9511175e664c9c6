/** The columns of a table of a mail: what stands in them, and at which side. */
import { isJsonObject, type Json, type JsonObject } from '../../../../domain/core/json.js';
import { onlyPlaceholder } from '../../../../domain/rendering/fill/filling.js';
import { holdsNumbers, isColumnType, type Showing } from '../../../../domain/rendering/scope/showing.js';
import type { ValueFormat } from '../../../../domain/rendering/scope/definitions.js';
import type { Term } from '../code.js';
import type { Context } from '../context.js';
import { endOf, side, startOf } from '../style.js';
import { templated } from '../values.js';
import { rootShapeOfItems } from './items.js';

export type Column = Readonly<{
  header: string;
  content: Json | undefined;
  footer: string | undefined;
  width: Json | undefined;
  align: Term;
  headerAlign: Term;
  /** How it shows its values. */
  showing: Showing;
  /** The name of what tells whether it is there; undefined where it always is. */
  shown?: string;
}>;

/** In: the props of a table. Out: its columns, as many as its rows have cells where no more are described. */
export const columnsOf = (props: JsonObject, context: Context): readonly Column[] => {
  const rows = Array.isArray(props['rows']) ? (props['rows'] as readonly (readonly Json[])[]) : [];
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  const count = Math.max(given.length, ...rows.slice(0, 1_000).map((row) => row.length), 0);
  return Array.from({ length: count }, (_, at) => columnOf(given[at], props, context));
};

const columnOf = (given: Json | undefined, props: JsonObject, context: Context): Column => {
  const column = isJsonObject(given) ? given : {};
  const format = isJsonObject(column['format']) ? (column['format'] as ValueFormat) : undefined;
  const showing: Showing = { ...(isColumnType(column['type']) && { type: column['type'] }), ...(format && { format }) };
  const { content } = column;
  const alone = typeof content === 'string' ? onlyPlaceholder(templated(content, context))?.path : undefined;
  const natural = holdsNumbers(showing, alone && rootShapeOfItems(alone, props, context), alone) ? endOf(context) : startOf(context);
  const align = column['align'] === undefined ? natural : side(column['align'], natural, context);
  return {
    header: typeof column['header'] === 'string' ? column['header'] : '',
    content,
    footer: typeof column['footer'] === 'string' ? column['footer'] : undefined,
    width: column['width'],
    align,
    headerAlign: column['headerAlign'] === undefined ? align : side(column['headerAlign'], natural, context),
    showing,
  };
};
