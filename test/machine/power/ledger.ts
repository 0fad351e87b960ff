/**
 * What commands had confirmed before a power cut, and what must therefore be there after it.
 *
 * In: the lines that churn.mjs wrote, and what inspect.mjs found after the next boot. Out: what is wrong, in words.
 * An action that had begun and was not confirmed may have happened or not; everything confirmed must have.
 *
 * @module
 */

/** The agents on an emulated node: one on containerd, one on the runtime in the box. */
export type AgentName = 'containerd' | 'box';

/** A line of the ledger. */
export type LedgerLine =
  | {
      readonly op: 'begin';
      readonly n: number;
      readonly agent: AgentName;
      readonly act: 'apply' | 'delete';
      readonly pod: string;
      /** Of the manifest; with `apply`. */
      readonly version?: number;
    }
  /** The command with that number has answered. */
  | { readonly op: 'done'; readonly n: number }
  /** The agent shows that the pod has succeeded. */
  | { readonly op: 'ended'; readonly agent: AgentName; readonly pod: string }
  /** A warning stood in the history ten seconds ago. */
  | { readonly op: 'warning'; readonly agent: AgentName; readonly id: string };

/** A pod as an agent shows it. */
export interface FoundPod {
  readonly name: string;
  readonly phase: string;
  readonly version: number;
  readonly isReady: boolean;
}

/** What is there after a boot. */
export interface FoundAgent {
  readonly pods: readonly FoundPod[];
  /** How many processes run for a pod, by name; pods without one are left out. */
  readonly processes: Readonly<Record<string, number>>;
  /** How often a pod that runs once has begun, by name. */
  readonly runs: Readonly<Record<string, number>>;
  /** Reasons of records of the history about itself: damage, losses. */
  readonly historyFaults: readonly string[];
  readonly warningIds: readonly string[];
  /** Lines of logs that say that a record could not be read. */
  readonly unreadable: readonly string[];
}

/** Pods that run once have this before their number; others go on for ever. */
const ONCE = 'once-';

/** What may be true of a pod: one state when all is confirmed, two when an action was under way. */
interface PodStates {
  readonly states: Set<number | 'deleted' | 'never'>;
}

/** Reads lines; a last line that was cut off is left out. */
export function parseLedger(text: string): LedgerLine[] {
  const lines = text.split('\n');
  // What follows the last line end was never written whole.
  lines.pop();
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LedgerLine);
}

/** The states in which each pod of an agent may be. */
export function computePodStates(ledger: readonly LedgerLine[], agent: AgentName): Map<string, PodStates> {
  const done = new Set(ledger.flatMap((line) => (line.op === 'done' ? [line.n] : [])));
  const states = new Map<string, PodStates>();
  for (const line of ledger) {
    if (line.op !== 'begin' || line.agent !== agent) continue;
    const state = line.act === 'apply' ? (line.version ?? 0) : 'deleted';
    const before = states.get(line.pod)?.states ?? new Set(['never' as const]);
    states.set(line.pod, { states: new Set(done.has(line.n) ? [state] : [...before, state]) });
  }
  return states;
}

/** What is not yet as it must be; empty once the agent has done its work after a boot. */
export function findUnsettled(ledger: readonly LedgerLine[], agent: AgentName, found: FoundAgent): string[] {
  const problems: string[] = [];
  const pods = new Map(found.pods.map((pod) => [pod.name, pod]));
  for (const [name, { states }] of computePodStates(ledger, agent)) {
    const pod = pods.get(name);
    if (pod === undefined) {
      if (!states.has('deleted') && !states.has('never')) problems.push(`${name} is gone`);
      continue;
    }
    if (!states.has(pod.version)) {
      problems.push(`${name} is there with version ${pod.version}, not ${[...states].join(' or ')}`);
      continue;
    }
    if (name.startsWith(ONCE)) {
      if (pod.phase !== 'Succeeded') problems.push(`${name} is ${pod.phase}, not Succeeded`);
    } else if (pod.phase !== 'Running' || !pod.isReady) {
      problems.push(`${name} is ${pod.phase}, ${pod.isReady ? 'ready' : 'not ready'}`);
    } else if (found.processes[name] !== 1) {
      problems.push(`${name} has ${found.processes[name] ?? 0} processes`);
    }
  }
  return problems;
}

/** What must never be so, settled or not. */
export function findFaults(ledger: readonly LedgerLine[], agent: AgentName, found: FoundAgent): string[] {
  const faults = [
    ...found.historyFaults.map((reason) => `the history says ${reason}`),
    ...found.unreadable.map((line) => `the log says: ${line}`),
  ];
  for (const [pod, count] of Object.entries(found.processes))
    if (count > 1) faults.push(`${pod} runs ${count} times at once`);
  const ids = new Set(found.warningIds);
  for (const line of ledger) {
    if (line.op === 'begin' || line.op === 'done' || line.agent !== agent) continue;
    if (line.op === 'warning' && !ids.has(line.id)) faults.push(`the warning ${line.id} is lost`);
    if (line.op === 'ended') {
      const runs = found.runs[line.pod] ?? 0;
      if (runs !== 1) faults.push(`${line.pod} had succeeded and has begun ${runs} times`);
    }
  }
  return faults;
}
