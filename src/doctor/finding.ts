import { type PodRef } from '#kube/pod/pod-ref.js';
import { type NamedProcess } from './host/host-facts.js';
import { type FindingCode } from './finding-codes.js';

/** How bad it is: `critical` ends what a node is there for, `warning` will or does already in part, `info` explains. */
export type Severity = 'critical' | 'warning' | 'info';

/** Something that is wrong with a node, said so that somebody can act on it. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: Severity;
  /** What is wrong: one sentence that names the culprit. */
  readonly message: string;
  /** What was measured, a line each. */
  readonly evidence: readonly string[];
  /** Ids behind the evidence, a line each: for who searches logs. */
  readonly ids?: readonly string[];
  /** What to do about it, and what that interrupts. */
  readonly remedy: string;
  /** The pod that it is about, when it is about one. */
  readonly pod?: PodRef;
  /** All pods that it is about, when they are more than one. */
  readonly pods?: readonly PodRef[];
  /** The container of that pod. */
  readonly container?: string;
  /** The call that it is about, as CRI names it. */
  readonly call?: string;
  /** What the named process is at: `runc create`. */
  readonly operation?: string;
  /** The process that is to blame. */
  readonly process?: NamedProcess;
  /** The unit of systemd that it is about: `kubelet.service`. */
  readonly unit?: string;
  /** Since when, in milliseconds since the epoch; absent where nobody knows. */
  readonly sinceMs?: number;
  /** What follows from it and needs no mending of its own. */
  readonly follows?: readonly Finding[];
}

const RANKS: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 };

/** Worst first; of the same severity as they are given, which is causes before what follows from them. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => RANKS[a.severity] - RANKS[b.severity]);
}

/** The pods of what a finding is about, the first one by itself; nothing where none is known. */
export function podsOf(items: readonly { readonly pod?: PodRef }[]): Pick<Finding, 'pod' | 'pods'> {
  const pods = items.flatMap(({ pod }) => pod ?? []);
  return pods[0] === undefined ? {} : { pod: pods[0], pods };
}
