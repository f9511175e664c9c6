/** Lists of what the emails of each template, or with each tag, came to in a range: the first by one count, page by page. */
import type { TeamId } from '../../domain/core/ids.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { addTo, ratesOf, totalsOf } from './sums.js';
import type { Rows, RowsAsked, TagRow, TemplateRow } from './types.js';
import { tagOfTerm } from '../email/search.js';
import { OTHER, summariesOf, TAG_SUMMARIES, TEMPLATE_SUMMARIES, type DayRowsDocument, type MilestoneCounts } from '../email/summaries.js';
import { TEMPLATES, type TemplateDocument } from '../templates/templates.js';

type Deps = Readonly<{ readModels: Pick<ReadModels, 'get' | 'find'> }>;

export const listTemplates = async (deps: Deps, teamId: TeamId, asked: RowsAsked): Promise<Rows<TemplateRow>> => {
  const { data, ...rest } = await listRows(deps, TEMPLATE_SUMMARIES, teamId, asked);
  const named = data.map(async ({ name: templateId, ...row }) => ({
    templateId,
    emailTemplateName: await templateName(deps, teamId, templateId),
    ...row,
  }));
  return { ...rest, data: await Promise.all(named) };
};

export const listTags = async (deps: Deps, teamId: TeamId, asked: RowsAsked): Promise<Rows<TagRow>> => {
  const { data, ...rest } = await listRows(deps, TAG_SUMMARIES, teamId, asked);
  return { ...rest, data: data.map(({ name, ...row }) => ({ tag: tagOfTerm(name), ...row })) };
};

/** As it is called now; null where it is no more, or was never, one of the team. */
const templateName = async ({ readModels }: Deps, teamId: TeamId, id: string): Promise<string | null> => {
  const found = (await readModels.get(TEMPLATES, id)) as TemplateDocument | undefined;
  return found !== undefined && (found.team === teamId || found.deletedOf === teamId) ? found.item.name : null;
};

const listRows = async (
  { readModels }: Deps,
  collection: typeof TEMPLATE_SUMMARIES | typeof TAG_SUMMARIES,
  teamId: TeamId,
  { range, sort, page, limit }: RowsAsked,
): Promise<Rows<{ name: string }>> => {
  const sums = new Map<string, MilestoneCounts>();
  for await (const document of summariesOf(readModels, collection, teamId, range)) {
    for (const [name, row] of Object.entries((document as DayRowsDocument).rows)) {
      const sum = sums.get(name);
      if (sum === undefined) sums.set(name, { ...row });
      else addTo(sum, row);
    }
  }
  const other = sums.get(OTHER);
  sums.delete(OTHER);
  const inOrder = [...sums].sort(([one, a], [two, b]) => (b[sort] ?? 0) - (a[sort] ?? 0) || (one < two ? -1 : 1));
  const data = inOrder.slice((page - 1) * limit, page * limit).map(([name, row]) => {
    return { name, totals: totalsOf(row), rates: ratesOf(row) };
  });
  const total = inOrder.length;
  return {
    range,
    data,
    other: other === undefined ? null : totalsOf(other),
    meta: { page, limit, total, totalPages: Math.ceil(total / limit), totalIsLowerBound: other !== undefined, nextCursor: null },
  };
};
