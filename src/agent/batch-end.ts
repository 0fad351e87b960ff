import { type ConfigProblem, formatConfigProblem } from '../config/config-problem.js';
import { HTTP_SOURCE } from '../config/http-source.js';
import { type NodePod } from '../model/node-pod.js';
import { formatPod } from '../model/pod-ref.js';
import { isTerminalPhase, type V1ContainerStatus, type V1PodStatus } from '../model/v1-pod-status.js';

/** What a batch is judged by, once every source was seen. */
export interface BatchView {
  readonly pods: Iterable<NodePod>;
  readonly findStatus: (uid: string) => V1PodStatus | undefined;
  /** Whether nothing more will be done for a pod. */
  readonly isOver: (uid: string) => boolean;
  /** Pods that somebody has deleted although their manifests are there; none unless told. */
  readonly stopped?: readonly { readonly namespace: string; readonly name: string }[];
  /** What is wrong with the manifests now. */
  readonly problems: readonly ConfigProblem[];
}

/**
 * Why a batch that has ended did not succeed as a whole, in sentences; empty when it did, undefined while it goes on.
 *
 * It succeeds when every pod has and none was deleted, no manifest is left that no pod could be made of, and there was a pod at all. Pure.
 */
export function findBatchFailures(view: BatchView): string[] | undefined {
  const { pods, findStatus, isOver, stopped = [], problems } = view;
  const failures = stopped.map(({ namespace, name }) => `pod ${namespace}/${name} was deleted`);
  let count = stopped.length;
  for (const { metadata } of pods) {
    const status = findStatus(metadata.uid);
    if (status === undefined || !isTerminalPhase(status.phase) || !isOver(metadata.uid)) return undefined;
    count++;
    if (status.phase === 'Failed') failures.push(`pod ${formatPod(metadata)} failed${whyOf(status)}`);
  }
  const unmended = problems.filter(keepsPodsFromRunning).map((problem) => formatConfigProblem(problem));
  if (count + unmended.length === 0) return ['there was no pod to run'];
  return [...failures, ...unmended];
}

/** A URL that does not answer just now has been read before; what cannot be kept runs nevertheless. */
function keepsPodsFromRunning({ kind, source }: ConfigProblem): boolean {
  return kind !== 'not-kept' && !(kind === 'unreadable' && source === HTTP_SOURCE);
}

function whyOf({ reason, message, initContainerStatuses = [], containerStatuses }: V1PodStatus): string {
  if (reason !== undefined) return `: ${reason}${message === undefined ? '' : `: ${message}`}`;
  const ends = [...initContainerStatuses, ...containerStatuses].flatMap(describeEnd);
  return ends.length === 0 ? '' : `: ${ends.join(', ')}`;
}

function describeEnd({ name, state: { terminated } }: V1ContainerStatus): string[] {
  if (terminated === undefined || terminated.exitCode === 0) return [];
  const { exitCode, reason, message } = terminated;
  const said = message === undefined ? '' : `: ${message.trim()}`;
  return [`container ${name} ended with ${exitCode} (${reason})${said}`];
}
