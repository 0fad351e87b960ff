import { type CallSummary, type RecordingSummary } from '#proxy/record';
import { formatGoDuration } from '#base/time/go-duration.js';
import { escapeTerminal, toCell } from '../../shared/print/terminal-text.js';

/** A summary of a recording for people: what there was, then what hung, what was slow, what failed. */
export function formatRecordingSummary(summary: RecordingSummary): string[] {
  const { startedAt, durationMs, mode, part, lost, methods, hangs, slowest, errors, events, pods } = summary;
  const calls = methods.reduce((sum, each) => sum + each.calls, 0);
  const how = mode === 'relay' ? 'in front of the runtime' : 'by podloop itself';
  const lines = [
    `Recorded ${toCell(startedAt)}, ${duration(durationMs)}, ${how}: ${toCell(summary.upstream)}`,
    `${calls} calls, ${events} events, ${pods.length} pods`,
    ...(part > 0 ? ['The recording had rolled: what was before is not in this file.'] : []),
    ...ENDS[summary.end],
    ...(lost > 0 ? [`${lost} calls and messages came faster than they could be recorded.`] : []),
    '',
    ...table(
      ['METHOD', 'CALLS', 'FAILED', 'HUNG', 'MEDIAN', 'LONGEST'],
      methods.map((each) => [
        ...[each.method, String(each.calls), String(each.failed), String(each.hung)],
        ...[duration(each.medianMs), duration(each.maxMs)],
      ]),
    ),
  ];
  if (hangs.length > 0) lines.push('', 'Never answered:', ...callTable(hangs));
  if (slowest.length > 0) lines.push('', 'Slowest:', ...callTable(slowest.slice(0, SLOWEST_SHOWN)));
  if (errors.length > 0) {
    const rows = errors.map(({ count, method, code, message }) => [
      String(count),
      method,
      code,
      toCell(message),
    ]);
    lines.push('', 'Errors:', ...table(['COUNT', 'METHOD', 'CODE', 'MESSAGE'], rows));
  }
  if (summary.unsupported.length > 0) {
    lines.push('', `Not offered by the runtime, as a first try has shown: ${summary.unsupported.join(', ')}`);
  }
  // What a runtime wrote may hold anything.
  return lines.map(escapeTerminal);
}

/** What is to be said of how it ended. */
const ENDS: Readonly<Record<RecordingSummary['end'], readonly string[]>> = {
  stopped: [],
  full: ['The recording was full: what came later is not in it.'],
  rolled: ['The recording has rolled: what came later is in the next file.'],
  'cut-off': ['The recording was cut off.'],
  shortened: ['The recording has more calls than are read: what came later is left out.'],
};

const SLOWEST_SHOWN = 10;

function callTable(calls: readonly CallSummary[]): string[] {
  return table(
    ['AT', 'FOR', 'METHOD', 'POD', 'ID'],
    calls.map(({ atMs, forMs, method, pod, podUid, subject }) => [
      ...[duration(atMs), duration(forMs), method, pod === '' ? '-' : pod],
      // A sandbox that was never made has no id.
      (subject === '' ? podUid : subject).slice(0, ID_SHOWN) || '-',
    ]),
  );
}

/** As crictl shortens ids. */
const ID_SHOWN = 13;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('   ')
      .trimEnd(),
  );
}

/** To the tenth of a millisecond, which is as much as it means. */
function duration(ms: number): string {
  return formatGoDuration(ms < 1_000 ? Math.round(ms * 10) / 10 : Math.round(ms));
}
