/** Charts and timelines of a document: their points and steps, from a data source or written out. */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import { toNumber } from '../scope/conditions.js';
import { colorOf, compilePoints, defined } from './style.js';
import type { ChartSeries, TimelineItem } from './expanded.js';
import { chartTypes } from '../chart-types.js';
import type { CompileComponent } from './expander.js';
import { compilePlain, compileWriter, type Fill, type Writer } from '../fill/filling.js';
import { chartPalette } from '../chart-palette.js';
import { parsePath, readPath, writePath, type Path } from '../scope/path.js';
import { charge, compileSource, steadySource, type Scope, type State } from '../scope/scope.js';
import type { Shape } from '../scope/shapes.js';
import { showingAt } from '../scope/showing.js';

type Series = Readonly<{ name: Fill; color: (state: State) => string | undefined; path: Path; writer: (state: State) => Writer }>;

export const chart: CompileComponent = ({ id, props = {} }, field, scope) => {
  const { limits } = scope;
  const source = compileSource(props, scope);
  const chartType = chartTypes.find((type) => type === props['chartType']) ?? 'bar';
  const categoryPath = fieldPath(props['categoryField'], scope);
  const category = compileWriter(showingAt(source.itemShape, ['item', ...categoryPath], { isWhole: true }), scope);
  const series = objectsIn(props['series']).map((one) => compileSeries(one, source.itemShape, scope));
  const titles = ['title', 'xTitle', 'yTitle'].map((name) => compileOptional(props[name], scope));
  const [width, height] = [compilePoints(props['width'], scope), compilePoints(props['height'], scope)];
  const round = chartType === 'pie' || chartType === 'doughnut';
  const showLegend = typeof props['showLegend'] === 'boolean' ? props['showLegend'] : round || series.length > 1;
  const from = {
    name: steadySource(props, scope),
    category: writePath(categoryPath),
    values: series.map(({ path }) => writePath(path)),
  };
  return (state, out) => {
    const items = source.items(state);
    const [title = '', xTitle = '', yTitle = ''] = titles.map((fill) => charge(fill(state), state, limits));
    out.push({
      type: 'chart',
      id,
      field,
      chartType,
      showLegend,
      title,
      xTitle,
      yTitle,
      categories: items.map((item) => charge(category(state).write(readPath(item, categoryPath)), state, limits)),
      series: series.map(({ name, color, path, writer }, at): ChartSeries => ({
        name: charge(name(state), state, limits),
        color: color(state) ?? chartPalette[at % chartPalette.length] ?? '#2563eb',
        values: items.map((item) => finite(toNumber(readPath(item, path)))),
        ...defined({ showing: writer(state).showing }),
      })),
      ...defined({
        width: width(state),
        height: height(state),
        source: from.name === undefined ? undefined : { ...from, name: from.name },
      }),
    });
  };
};

/** A series without a name is called after its field. */
const compileSeries = (one: JsonObject, item: Shape | undefined, scope: Scope): Series => ({
  name: compilePlain(typeof one['name'] === 'string' ? one['name'] : String(one['valueField']), scope),
  color: colorOf(one['color'], scope),
  path: fieldPath(one['valueField'], scope),
  writer: compileWriter(showingAt(item, ['item', ...fieldPath(one['valueField'], scope)], undefined), scope),
});

const finite = (value: number | undefined): number | null => (value === undefined || !Number.isFinite(value) ? null : value);

const fieldPath = (value: Json | undefined, { limits }: Scope): Path => {
  const parsed = parsePath(String(value).trim(), limits.pathSegmentsMax);
  if (!parsed.ok) throw new Error(`a field that was checked does not parse: ${parsed.message}`);
  return parsed.path;
};

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];

const compileOptional = (text: Json | undefined, scope: Scope): Fill => compilePlain(typeof text === 'string' ? text : '', scope);

const TIMELINE_COLOR = '#2563eb';

export const timeline: CompileComponent = ({ id, props = {} }, field, scope) => {
  const color = colorOf(props['color'], scope);
  const items = props['dataSource'] === undefined ? writtenSteps(props, scope) : dataSteps(props, scope);
  return (state, out) => {
    const steps = items(state);
    if (steps.length > 0) out.push({ type: 'timeline', id, field, items: steps, color: color(state) ?? TIMELINE_COLOR });
  };
};

type Steps = (state: State) => readonly TimelineItem[];

const writtenSteps = (props: JsonObject, scope: Scope): Steps => {
  const steps = objectsIn(props['items']).map((item) => compileStep(item, scope));
  return (state) => steps.map((step) => step(state));
};

const dataSteps = (props: JsonObject, scope: Scope): Steps => {
  const source = compileSource(props, scope);
  const step = compileStep(props, source.inside);
  return (state) =>
    source.items(state).map((item, at) => {
      source.enter(state, item, at);
      return step(state);
    });
};

const compileStep = (texts: JsonObject, scope: Scope): ((state: State) => TimelineItem) => {
  const { limits } = scope;
  const [title, description, date, status] = ['title', 'description', 'date', 'status'].map((name) => compileOptional(texts[name], scope));
  const write = (fill: Fill | undefined, state: State): string => (fill === undefined ? '' : charge(fill(state), state, limits));
  return (state) => ({
    title: write(title, state),
    description: write(description, state),
    date: write(date, state),
    status: write(status, state),
  });
};
