import { type PlegReport } from '#kube/node/pleg-report.js';

/** The report as text, with times rounded to a microsecond. */
export function plegReportJson(report: PlegReport): string {
  return JSON.stringify(
    report,
    (_, value: unknown) => (typeof value === 'number' ? Math.round(value * 1e3) / 1e3 : value),
    2,
  );
}
