import { patiently } from '#support/patience.js';
import { type Finding } from '../../../src/node/doctor/doctor-run.js';
import { type KubeletTraces } from './kubelet-traces.js';
import { type IncidentNode, type PodSpec, type RunningPod } from './incident-node.js';

/** What the doctor has to find. */
export interface Expected {
  /** One of these codes: of a cause that has more than one name. */
  readonly codes: readonly string[];
  /** Pods that have to be named; the first one as that which the finding is about. */
  readonly pods?: readonly string[];
  readonly container?: string;
  readonly operation?: string;
  /** The process that has to be named. */
  readonly pid?: number;
  /** Words of the remedy. */
  readonly remedy?: RegExp;
  /** Whether it has to say since when. */
  readonly hasSince?: boolean;
}

/** The place of an incident: the node, and the pods that it asked for. */
export interface Scene {
  readonly node: IncidentNode;
  readonly pods: readonly RunningPod[];
  /** Runs at the end, the last one first, whatever happened. */
  readonly atEnd: (undo: () => unknown) => void;
}

/** Something that goes wrong on a node, made for real. */
export interface Incident {
  readonly name: string;
  /** Pods that run before it begins. */
  readonly pods?: readonly PodSpec[];
  /** Makes it, and says what has to be found. */
  readonly make: (scene: Scene) => Promise<Expected>;
  /** Every doctor of the machine sees it, so no other incident may be made meanwhile. */
  readonly isOfMachine?: true;
  /** How long it has lasted when the doctor is asked first (default: two seconds). */
  readonly ageMs?: number;
}

/** How the doctor did. */
export type Verdict = 'right' | 'late' | 'unnamed' | 'missed';

/** How the doctor did at one incident on one release. */
export interface Result {
  readonly incident: string;
  readonly containerd: string;
  readonly verdict: Verdict;
  /** What was wrong at the first examination; empty where it was right. */
  readonly why: string;
  /** From the command's start to its answer, in seconds, of the examination that counts. */
  readonly tookS: number;
  /** What it said: code and message of the first finding. */
  readonly said: string;
  /** What the kubelet showed when the doctor was asked. */
  readonly kubelet?: KubeletTraces;
  readonly date: string;
  readonly commit: string;
}

/** How one examination did, and what is wrong with it in words. */
export interface Judgement {
  readonly verdict: Exclude<Verdict, 'late'>;
  readonly why: string;
}

/** What others do to the machine that the tests share. */
const OF_THE_MACHINE: readonly string[] = [
  ...['CpuPressure', 'IoPressure', 'MemoryPressure', 'MemoryLow', 'DiskSlow', 'DiskFull', 'InodesUsedUp'],
  ...['TasksBlocked', 'Zombies', 'PidsUsedUp', 'ShimsAbandoned', 'KernelTrouble'],
  ...['KernelLockup', 'KernelTasksHung', 'DiskErrors', 'OutOfMemory'],
];

/** Findings that are about the node of the incident. */
export function ofTheNode(findings: readonly Finding[], expected: readonly string[] = []): Finding[] {
  return findings.flatMap((finding) => {
    const { code, severity, follows = [] } = finding;
    if (expected.includes(code)) return [finding];
    // On a machine that others keep busy, what is made stands below that.
    if (OF_THE_MACHINE.includes(code)) return follows.filter((each) => expected.includes(each.code));
    return severity === 'info' ? [] : [finding];
  });
}

/** Whoever asks while something is wrong waits no longer. */
const MAX_TOOK_MS = patiently(15_000);

/** Holds what was found, and how long that took, against what had to be. Pure. */
export function judge(findings: readonly Finding[], expected: Expected, tookMs: number): Judgement {
  const { codes, pods = [], container, operation, pid, remedy, hasSince } = expected;
  const all = ofTheNode(findings, codes);
  const found = all.find(({ code }) => codes.includes(code));
  const names = (list: readonly Finding[]): string => list.map(({ code }) => code).join(', ') || 'nothing';
  if (found === undefined) return { verdict: 'missed', why: `it found ${names(all)}` };
  const words = `${found.message}\n${found.evidence.join('\n')}`;
  const lacks = [
    ...pods.filter((pod) => !words.includes(pod)),
    ...(container !== undefined && found.container !== container ? [`container ${container}`] : []),
    ...(operation !== undefined && found.operation !== operation ? [`operation ${operation}`] : []),
    ...(pid !== undefined && found.process?.pid !== pid && !words.includes(String(pid))
      ? [`pid ${pid}`]
      : []),
    ...(remedy !== undefined && !remedy.test(found.remedy) ? [`a remedy with ${remedy.source}`] : []),
    ...(hasSince === true && found.sinceMs === undefined ? ['since when'] : []),
  ];
  if (lacks.length > 0) return { verdict: 'unnamed', why: `it does not say ${lacks.join(', ')}` };
  const others = all.filter((finding) => finding !== found);
  if (others.length > 0) return { verdict: 'unnamed', why: `it also found ${names(others)}` };
  if (tookMs > MAX_TOOK_MS)
    return { verdict: 'unnamed', why: `it took ${(tookMs / 1_000).toFixed(1)} s, more than 15` };
  return { verdict: 'right', why: '' };
}
