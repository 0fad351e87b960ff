import { exitCodeOfPod, EXIT_CODES, formatMs, type PodAnswer } from '#node';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { listUnseenLines, nameOf, oneLine, toFindingLines } from './diagnosis-text.js';

/** What the doctor says of a pod, in lines for people: the verdict, why, what to do, and what of its node has to do with it. */
export function toPodLines(answer: Extract<PodAnswer, { kind: 'explained' }>, wide: boolean): string[] {
  const { explained, diagnosis } = answer;
  const { step, message, sinceMs, evidence, remedy, findings, isWell, source } = explained;
  const { atMs, runtime, tookMs } = diagnosis.facts;
  const lasts = sinceMs === undefined ? '' : ` for ${formatMs(Math.max(0, atMs - sinceMs))}`;
  const seen = `seen by ${source} and ${nameOf(runtime)}, examined in ${formatMs(tookMs)}`;
  const unseen = isWell ? [] : listUnseenLines(diagnosis.facts, wide);
  return [
    `${judge(answer)}${isWell || step === 'unknown' ? '' : ` at ${step}`}${lasts}: ${oneLine(message)}`,
    ...(sinceMs === undefined ? [] : [`  since: ${new Date(sinceMs).toISOString()}`]),
    ...evidence.map((line) => `  evidence: ${oneLine(line)}`),
    `  what to do: ${remedy}`,
    `  ${seen}`,
    ...findings.flatMap((finding) => ['', ...toFindingLines(finding, wide)]),
    ...(unseen.length === 0 ? [] : ['', ...unseen]),
  ].map(escapeTerminal);
}

function judge(answer: Extract<PodAnswer, { kind: 'explained' }>): string {
  const { step, isWell } = answer.explained;
  if (exitCodeOfPod(answer) === EXIT_CODES.notJudged) return 'NOT JUDGED';
  if (isWell) return step === 'ended' ? 'ENDED' : 'RUNS';
  return 'DOES NOT RUN';
}
