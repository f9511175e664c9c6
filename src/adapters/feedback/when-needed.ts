/** The reader of reports, loaded when the first report comes: most processes never see one. */
import type { ReportReader } from '../../domain/ports/report-reader.js';

export const reportReaderWhenNeeded = (): ReportReader => {
  let reader: Promise<ReportReader> | undefined;
  return {
    read: async (raw) => (await (reader ??= import('./read-report.js').then(({ openReportReader }) => openReportReader()))).read(raw),
  };
};
