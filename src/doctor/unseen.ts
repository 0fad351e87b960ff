import { NOT_RECORDED } from '#base/channels/recording-words.js';
import { type NodeFacts } from './facts/node-facts.js';
import { type Looked } from './looked.js';

/** What could not be found out, and why. */
export interface Unseen {
  readonly what: string;
  readonly why: string;
  /** Whether a node without findings cannot be called healthy while this is not known. */
  readonly isNeeded: boolean;
  /** Whether it is so by design on such a node, and no gap that anybody could close. */
  readonly isByDesign: boolean;
}

type Row = readonly [what: string, looked: Looked<unknown>, isNeeded: boolean, isByDesign?: boolean];

/** Everything that is not known of a node. Pure. */
export function listUnseen(facts: NodeFacts): Unseen[] {
  const { runtime, machine, certificatesUnread } = facts;
  const hasEvents = !runtime.events.known && runtime.connection.connected;
  // A recording has no machine of its own, and answers only what somebody asked while it was made.
  const isLive = !isRecording(runtime);
  const rows: readonly Row[] = [
    ['the runtime’s conditions', runtime.conditions, isLive],
    ['pods', runtime.population, true],
    ['the status of pods', judgeExtent(runtime.inspections), true],
    ['events', runtime.events, false, hasEvents],
    ['pressure', machine.pressure, false],
    ['load', machine.load, false],
    ['memory', machine.memory, false],
    ['processes', machine.processes, isLive],
    ['shims', machine.shims, false],
    ['shims without a runtime', machine.abandonedShims, false],
    ['network plugins', machine.plugins, false],
    ['what shims and runc are at', machine.runtimeWork, isLive],
    ['the processes of the runtime and the kubelet', machine.daemons, false],
    ['systemd’s units', machine.systemd, false],
    ['mounts with a server', machine.deadMounts, false],
    ['the kernel’s log', machine.kernelLog, false],
    ['whether files can be watched', machine.inotify, false],
    ['disk latency', machine.fsync, false],
    ...certificatesUnread.map(({ path, why }): Row => [
      `certificates in ${path}`,
      { known: false, why },
      false,
    ]),
    ...listUnseenAgents(facts),
  ];
  return rows.flatMap(([what, looked, isNeeded, isByDesign = false]) =>
    looked.known ? [] : [{ what, why: explain(looked.why), isNeeded, isByDesign }],
  );
}

/** What lacks a right lacks it for the same reason, whatever file it is. */
function explain(why: string): string {
  return /\b(EACCES|EPERM)\b/.test(why) ? 'permission denied: it takes root' : why;
}

/** A replay has the name of the runtime that was recorded, where somebody asked for it. */
function isRecording({ name, operations }: NodeFacts['runtime']): boolean {
  const isMissing = operations.some(({ lastError = '' }) => lastError.includes(NOT_RECORDED));
  return name === 'podloop-replay' || isMissing;
}

/** A node has a kubelet or podloop's agent: where there is one, nobody misses the other. */
function listUnseenAgents({ runtime, machine, kubelet, agent }: NodeFacts): Row[] {
  const daemons = machine.daemons.known ? machine.daemons.value : {};
  const runs = daemons.kubelet !== undefined;
  const hasKubelet = kubelet.health.known || kubelet.metrics.known || runs;
  // The runtime in the box, and a recording.
  const isOwned = agent.known || runtime.name.startsWith('podloop');
  const ofKubelet: Row[] = [
    ['the kubelet’s health', kubelet.health, runs],
    ['the kubelet’s metrics', kubelet.metrics, false],
    ['the kubelet’s pods', kubelet.waiting, false],
  ];
  return [
    ...(isOwned && !hasKubelet ? [] : ofKubelet),
    ...(hasKubelet ? [] : [['podloop’s agent', agent, false] as const]),
  ];
}

/** Pods that were left out are not known, though most are. */
function judgeExtent(inspections: NodeFacts['runtime']['inspections']): Looked<unknown> {
  if (!inspections.known || inspections.value.asked >= inspections.value.pods) return inspections;
  const { asked, pods } = inspections.value;
  return { known: false, why: `the time was over after ${asked} of ${pods} pods` };
}
