import {
  type Diagnosis,
  EXIT_CODES,
  exitCodeOf,
  type Finding,
  formatBytes,
  formatMs,
  listUnseen,
  type NodeFacts,
} from '#node';
import { formatPod } from '#kube/pod/pod-ref.js';
import { DESCRIBE_LAYOUT, layOutTable, layOutTabs } from '../../shared/print/tab-columns.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';

const WORDS = { critical: 'CRITICAL', warning: 'WARNING', info: 'INFO' } as const;

/** A diagnosis in lines for people: the verdict, what is wrong, worst first, and what was not seen; wide with what was measured. */
export function toDiagnosisLines(diagnosis: Diagnosis, wide: boolean): string[] {
  const { facts, findings } = diagnosis;
  const unseen = listUnseenLines(facts, wide);
  const lines = [
    judge(diagnosis, unseen.length > 0),
    ...findings.flatMap((finding) => ['', ...toFindingLines(finding, wide)]),
    ...(unseen.length === 0 ? [] : ['', ...unseen]),
    ...(wide ? ['', ...listMeasured(facts)] : []),
  ];
  return lines.map(escapeTerminal);
}

/** A finding in lines. */
export function toFindingLines(finding: Finding, wide: boolean): string[] {
  const { severity, code, message, sinceMs, evidence, ids = [], remedy, follows = [] } = finding;
  const say = (text: string): string => (wide ? oneLine(text) : shortenIds(oneLine(text)));
  return [
    `${WORDS[severity]} ${code}: ${say(message)}`,
    ...(sinceMs === undefined ? [] : [`  since: ${new Date(sinceMs).toISOString()}`]),
    ...[...evidence, ...(wide ? ids : [])].map((line) => `  evidence: ${say(line)}`),
    ...follows.map((each) => `  follows from it: ${each.code}: ${say(each.message)}`),
    `  what to do: ${remedy}`,
  ];
}

/** The ids of containers that a runtime has in its words, as long as people need them. */
function shortenIds(text: string): string {
  return text.replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, '$1…');
}

/** What a runtime says may have any form. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The first line: what the exit code says, in words. Silence about what was not seen is no good news. */
function judge(diagnosis: Diagnosis, hasUnseen: boolean): string {
  const { facts, findings } = diagnosis;
  const examined = `${nameOf(facts.runtime)}, examined in ${formatMs(facts.tookMs)}`;
  const countOf = (severity: Finding['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const words = [
    [countOf('critical'), 'critical'],
    [countOf('warning'), countOf('warning') === 1 ? 'warning' : 'warnings'],
  ] as const;
  const counted = words.flatMap(([number, word]) => (number === 0 ? [] : [`${number} ${word}`])).join(', ');
  switch (exitCodeOf(diagnosis)) {
    case EXIT_CODES.healthy:
      return `HEALTHY: nothing is wrong${hasUnseen ? ' in what was seen' : ''}. ${examined}`;
    case EXIT_CODES.notJudged:
      return `NOT JUDGED: ${counted === '' ? 'nothing was found' : counted}, but not all that matters was seen. ${examined}`;
    default:
      return `${countOf('critical') > 0 ? 'CRITICAL' : 'WARNING'}: ${counted}. ${examined}`;
  }
}

/** The runtime, as the first line has it. */
export function nameOf({ name, version, endpoint }: NodeFacts['runtime']): string {
  return name === '' ? endpoint : `${name} ${version} at ${endpoint}`;
}

/** What could not be found out, and why, in one line for what has the same reason: silence about it is no good news. */
export function listUnseenLines(facts: NodeFacts, wide: boolean): string[] {
  const namesByWhy = new Map<string, string[]>();
  for (const { what, why, isByDesign } of listUnseen(facts)) {
    if (isByDesign && !wide) continue;
    namesByWhy.set(oneLine(why), [...(namesByWhy.get(oneLine(why)) ?? []), what]);
  }
  return [...namesByWhy].map(([why, names]) => `Not seen: ${names.join(', ')} (${why})`);
}

function listMeasured({ runtime, machine, kubelet, agent }: NodeFacts): string[] {
  const { operations, inspections, population } = runtime;
  return [
    ...layOutTable([
      ['CALL', 'COUNT', 'HUNG', 'FAILED', 'P50', 'P99', 'MAX'],
      ...operations.map(({ method, count, hung, failed, p50Ms, p99Ms, maxMs }) => [
        ...[method, count, hung, failed, formatMs(p50Ms), formatMs(p99Ms), formatMs(maxMs)].map(String),
      ]),
    ]),
    ...(inspections.known && inspections.value.slowest.length > 0
      ? [
          '',
          ...layOutTable([
            ['SLOWEST PODS', 'CALLS', 'TOOK'],
            ...inspections.value.slowest.map(({ pod, calls, ms }) => [
              formatPod(pod),
              String(calls),
              formatMs(ms),
            ]),
          ]),
        ]
      : []),
    '',
    ...layOutTabs(
      [
        ...(population.known
          ? [
              `Pods:\t${population.value.pods} (${population.value.sandboxes} sandboxes, ${population.value.sandboxesNotReady} not ready)`,
              `Containers:\t${population.value.containers}${describeStates(population.value.containersByState)}`,
            ]
          : []),
        ...runtime.lists.flatMap(({ method, bytes }) =>
          bytes === undefined ? [] : [`Answer to ${method}:\t${formatBytes(bytes)}`],
        ),
        ...(runtime.events.known
          ? [
              `Events:\t${runtime.events.value.received} for ${runtime.events.value.changed} changes, ${runtime.events.value.missedCount} without one`,
            ]
          : []),
        ...listMachine(machine),
        ...listKubelet(kubelet),
        ...listAgent(agent),
      ],
      DESCRIBE_LAYOUT,
    ),
  ];
}

function describeStates(states: Readonly<Record<string, number>>): string {
  const words = Object.entries(states).map(([state, count]) => `${count} ${state}`);
  return words.length === 0 ? '' : ` (${words.join(', ')})`;
}

function listMachine({
  pressure,
  load,
  memory,
  processes,
  disks,
  fsync,
  shims,
}: NodeFacts['machine']): string[] {
  return [
    ...(pressure.known
      ? (['cpu', 'io', 'memory'] as const).map((name) => {
          const { someAvg60, fullAvg60 } = pressure.value[name];
          return `Pressure (${name}):\tsome ${someAvg60}%, full ${fullAvg60}% of a minute`;
        })
      : []),
    ...(load.known ? [`Load:\t${load.value.average1} on ${load.value.cores} cores`] : []),
    ...(memory.known
      ? [
          `Memory:\t${formatBytes(memory.value.availableBytes)} of ${formatBytes(memory.value.totalBytes)} available`,
        ]
      : []),
    ...(processes.known
      ? [
          `Processes:\t${processes.value.processes} with ${processes.value.threads} threads, ${processes.value.zombies} zombies, ${processes.value.blockedCount} blocked`,
        ]
      : []),
    ...disks.map(
      ({ path, availableBytes, totalBytes }) =>
        `Disk of ${path}:\t${formatBytes(availableBytes)} of ${formatBytes(totalBytes)} available`,
    ),
    ...(fsync.known ? [`Write with fsync:\t${formatMs(fsync.value.medianMs)}`] : []),
    ...(shims.known ? [`Shims:\t${shims.value.count}`] : []),
  ];
}

function listKubelet({ health, metrics }: NodeFacts['kubelet']): string[] {
  if (!metrics.known) return [];
  const { relists, relistP99Ms, lastSeenAgoMs, eventsDiscarded } = metrics.value;
  const p99 = relistP99Ms === undefined ? '' : `, p99 ${formatMs(relistP99Ms)}`;
  const seen = lastSeenAgoMs === undefined ? '' : `, the last ${formatMs(lastSeenAgoMs)} ago`;
  return [
    ...(health.known ? [`Kubelet:\t${health.value.healthy ? 'healthy' : 'not healthy'}`] : []),
    `Kubelet’s relists:\t${relists}${p99}${seen}; ${eventsDiscarded} events discarded`,
  ];
}

function listAgent(agent: NodeFacts['agent']): string[] {
  if (!agent.known) return [];
  const { health, relists, stuckPodCount, callsInFlightCount, stream } = agent.value;
  return [
    `podloop’s agent:\t${health.healthy ? 'healthy' : 'not healthy'}, ${relists.count} relists, stuck pods ${stuckPodCount}, calls in flight ${callsInFlightCount}, event stream ${stream.state}`,
  ];
}
