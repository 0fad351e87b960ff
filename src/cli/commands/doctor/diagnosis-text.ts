import { type Diagnosis, type Finding, formatBytes, formatMs, type Looked, type NodeFacts } from '#node';
import { formatPod } from '#kube/pod/pod-ref.js';
import { DESCRIBE_LAYOUT, layOutTabs, TABLE_LAYOUT } from '../../shared/print/tab-columns.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';

const WORDS = { critical: 'CRITICAL', warning: 'WARNING', info: 'INFO' } as const;

/** A diagnosis in lines for people: what is wrong, worst first, or that nothing is; wide with what was measured. */
export function toDiagnosisLines({ facts, findings }: Diagnosis, wide: boolean): string[] {
  const lines = [
    ...findings.flatMap((finding) => [...toFindingLines(finding), '']),
    summarize(facts, findings),
    ...listUnknown(facts),
    ...(wide ? ['', ...listMeasured(facts)] : []),
  ];
  return lines.map(escapeTerminal);
}

function toFindingLines(finding: Finding): string[] {
  const { severity, code, message, sinceMs, evidence, remedy, follows = [] } = finding;
  return [
    `${WORDS[severity]} ${code}: ${oneLine(message)}`,
    ...(sinceMs === undefined ? [] : [`  since: ${new Date(sinceMs).toISOString()}`]),
    ...evidence.map((line) => `  evidence: ${oneLine(line)}`),
    ...follows.map((each) => `  follows from it: ${each.code}: ${oneLine(each.message)}`),
    `  what to do: ${remedy}`,
  ];
}

/** What a runtime says may have any form. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function summarize({ runtime, tookMs }: NodeFacts, findings: readonly Finding[]): string {
  const looked = `${nameOf(runtime)} was looked at for ${formatMs(tookMs)}`;
  const bad = findings.filter(({ severity }) => severity !== 'info').length;
  if (bad === 0) return `Nothing is wrong: ${looked}`;
  return `${bad} ${bad === 1 ? 'thing is' : 'things are'} wrong: ${looked}`;
}

function nameOf({ name, version, endpoint }: NodeFacts['runtime']): string {
  return name === '' ? endpoint : `${name} ${version} at ${endpoint}`;
}

/** What could not be found out, and why, in one line for what has the same reason: silence about it is no good news. */
function listUnknown({ runtime, machine, kubelet, agent, certificatesUnread }: NodeFacts): string[] {
  const looked: readonly (readonly [string, Looked<unknown>])[] = [
    ['the runtime’s conditions', runtime.conditions],
    ['pods', runtime.population],
    ['the status of pods', judgeExtent(runtime.inspections)],
    ['events', runtime.events],
    ['pressure', machine.pressure],
    ['load', machine.load],
    ['memory', machine.memory],
    ['processes', machine.processes],
    ['shims', machine.shims],
    ['shims without a runtime', machine.abandonedShims],
    ['network plugins', machine.plugins],
    ['disk latency', machine.fsync],
    ...certificatesUnread.map(({ path, why }) => [`certificates in ${path}`, { known: false, why }] as const),
    ...listUnknownAgents({ runtime, kubelet, agent }),
  ];
  const namesByWhy = new Map<string, string[]>();
  for (const [name, one] of looked) {
    if (one.known) continue;
    const why = oneLine(one.why);
    namesByWhy.set(why, [...(namesByWhy.get(why) ?? []), name]);
  }
  return [...namesByWhy].map(([why, names]) => `Not known: ${names.join(', ')} (${why})`);
}

/** A node has a kubelet or podloop's agent: where there is one, nobody misses the other. */
function listUnknownAgents({
  runtime,
  kubelet,
  agent,
}: Pick<NodeFacts, 'runtime' | 'kubelet' | 'agent'>): [string, Looked<unknown>][] {
  const hasKubelet = kubelet.health.known || kubelet.metrics.known;
  // The runtime in the box, and a recording.
  const isOurs = agent.known || runtime.name.startsWith('podloop');
  const ofKubelet: [string, Looked<unknown>][] = [
    ['the kubelet’s health', kubelet.health],
    ['the kubelet’s metrics', kubelet.metrics],
  ];
  return [
    ...(isOurs && !hasKubelet ? [] : ofKubelet),
    ...(hasKubelet ? [] : ([['podloop’s agent', agent]] as [string, Looked<unknown>][])),
  ];
}

/** Pods that were left out are not known, though most are. */
function judgeExtent(inspections: NodeFacts['runtime']['inspections']): Looked<unknown> {
  if (!inspections.known || inspections.value.asked >= inspections.value.pods) return inspections;
  const { asked, pods } = inspections.value;
  return { known: false, why: `the time was over after ${asked} of ${pods} pods` };
}

function listMeasured({ runtime, machine, kubelet, agent }: NodeFacts): string[] {
  const { operations, inspections, population } = runtime;
  return [
    ...layOutTabs(
      [
        ['CALL', 'COUNT', 'HUNG', 'FAILED', 'P50', 'P99', 'MAX'],
        ...operations.map(({ method, count, hung, failed, p50Ms, p99Ms, maxMs }) => [
          ...[method, count, hung, failed, formatMs(p50Ms), formatMs(p99Ms), formatMs(maxMs)].map(String),
        ]),
      ].map((cells) => cells.join('\t')),
      TABLE_LAYOUT,
    ),
    ...(inspections.known && inspections.value.slowest.length > 0
      ? [
          '',
          ...layOutTabs(
            [
              ['SLOWEST PODS', 'CALLS', 'TOOK'],
              ...inspections.value.slowest.map(({ pod, calls, ms }) => [
                formatPod(pod),
                String(calls),
                formatMs(ms),
              ]),
            ].map((cells) => cells.join('\t')),
            TABLE_LAYOUT,
          ),
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
