import { type Incident, type IncidentFinding } from '#observe';
import { formatGoDuration } from '#base/time/go-duration.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';

/** An incident in lines for people: what was first, what came with it and from it, and what ended it. */
export function toIncidentLines(incident: Incident): string[] {
  const { id, state, node, runtime, beganAt, recordedFrom, findings, recurrences, gaps } = incident;
  const until = describeUntil(incident);
  const lines = [
    `Incident ${id} of node ${node}: ${state}`,
    `From ${beganAt} ${until}; calls are recorded from ${recordedFrom}`,
    `Runtime: ${runtime.name} ${runtime.version} at ${runtime.endpoint}`,
    ...findings.flatMap((finding, index) => ['', ...toFindingLines(finding, index, incident)]),
    ...(recurrences.length === 0
      ? []
      : [
          '',
          `It came back after its end (${recurrences.length}), the last time at ${recurrences.at(-1)!.at}`,
        ]),
    ...(gaps.length === 0 ? [] : ['', ...gaps.map((gap) => `Missing: ${gap}`)]),
  ];
  // A name may have a line break as well, which would begin a line that podloop did not write.
  return lines.map((line) => escapeTerminal(line.replaceAll(/[\n\u2028\u2029]/g, ' ')));
}

/** One that was cut off lasted at least until its observer ended. */
function describeUntil({ beganAt, endedAt, lastSeenAt }: Incident): string {
  if (endedAt !== undefined) return `until ${endedAt} (${between(beganAt, endedAt)})`;
  if (lastSeenAt === undefined) return 'and it lasts';
  return `until after ${lastSeenAt} (at least ${between(beganAt, lastSeenAt)}), when its observer ended`;
}

function toFindingLines(finding: IncidentFinding, index: number, incident: Incident): string[] {
  const { code, severity, message, evidence, follows, remedy, beganAt, endedAt, spells, ending } = finding;
  const { pod, container, process, since, asOf } = finding;
  const when = index === 0 ? 'First' : `After ${between(incident.beganAt, beganAt)}`;
  const repeated = spells > 1 ? `; it began ${spells} times` : '';
  return [
    `${when}: ${severity.toUpperCase()} ${code}: ${oneLine(message)}`,
    ...(since === undefined ? [] : [`  since: ${since}`]),
    ...(asOf === undefined ? [] : [`  as of: ${asOf}`]),
    ...(pod === undefined
      ? []
      : [`  pod: ${formatPod(pod)}${container === undefined ? '' : `, container ${container}`}`]),
    ...(process === undefined ? [] : [`  process: ${process.command} (pid ${process.pid})`]),
    ...evidence.map((line) => `  evidence: ${oneLine(line)}`),
    ...follows.map((line) => `  follows from it: ${oneLine(line)}`),
    `  what to do: ${remedy}`,
    endedAt === undefined
      ? `  ${describeOpenEnd(incident)}${repeated}`
      : `  over at ${endedAt}, after ${between(beganAt, endedAt)}${repeated}${ending === undefined ? '' : `: ${ending}`}`,
  ];
}

function describeOpenEnd({ state }: Incident): string {
  if (state === 'cut off') return 'nobody saw its end, as the observer ended';
  return state === 'over' ? 'it went on after the incident' : 'it lasts';
}

function between(from: string, to: string): string {
  return formatGoDuration(Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1_000) * 1_000));
}

/** What a runtime says may have any form. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
