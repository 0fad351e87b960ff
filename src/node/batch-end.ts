import { type ConfigProblem, formatConfigProblem } from './desired/config-problem.js';
import { HTTP_SOURCE } from './desired/sources/http-source.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { isTerminalPhase, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { hasEndlessContainer } from '#kube/container/restart-rule.js';
import { type JobEnd } from './workloads/index.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentParts } from './parts/agent-parts.js';

/** The state that decides on a batch, once every source was read. */
export interface BatchView {
  readonly pods: Iterable<NodePod>;
  readonly findStatus: (uid: string) => V1PodStatus | undefined;
  /** Whether a pod is finished for good. */
  readonly isOver: (uid: string) => boolean;
  /** Pods that somebody has deleted although their manifests exist (default: none). */
  readonly stopped?: readonly { readonly namespace: string; readonly name: string }[];
  /** Jobs of manifests, each with its end: their pods may fail on the way (default: none). */
  readonly jobs?: readonly JobEnd[];
  /** The present problems of the manifests. */
  readonly problems: readonly ConfigProblem[];
}

/**
 * Why a finished batch did not succeed as a whole, in sentences; empty when it did, undefined while it runs.
 * Pure.
 *
 * It succeeds when there was a pod, every pod has succeeded, none was deleted, and every manifest gave a pod.
 */
export function findBatchFailures(view: BatchView): string[] | undefined {
  const { pods, findStatus, isOver, stopped = [], jobs = [], problems } = view;
  const failures = stopped.map(({ namespace, name }) => `pod ${namespace}/${name} was deleted`);
  let count = stopped.length + jobs.length;
  for (const { name, end } of jobs) {
    if (end === 'none') return undefined;
    if (end !== 'good') failures.push(`job ${name} failed: ${end.why}`);
  }
  for (const { metadata } of pods) {
    if (metadata.ownerReferences?.some(({ kind }) => kind === 'Job') === true) continue;
    const status = findStatus(metadata.uid);
    if (status === undefined || !isTerminalPhase(status.phase) || !isOver(metadata.uid)) return undefined;
    count++;
    if (status.phase === 'Failed') failures.push(`pod ${formatPod(metadata)} failed${whyOf(status)}`);
  }
  const unmended = problems.filter(keepsPodsFromRunning).map((problem) => formatConfigProblem(problem));
  if (count + unmended.length === 0) return ['there was no pod to run'];
  return [...failures, ...unmended];
}

/** The parts of an agent that show the progress of a batch. */
export type BatchParts = Pick<
  AgentParts,
  'sources' | 'stopped' | 'desired' | 'manager' | 'workers' | 'workloads' | 'seenAllSources'
>;

/** How often to check whether every pod has ended, in milliseconds. */
const LOOK_MS = 200;

/**
 * Resolves with the result of {@link findBatchFailures} once every pod has ended; with undefined when the
 * signal aborts.
 *
 * Warns once about each pod that does not end by itself.
 */
export async function untilBatchEnds(
  parts: BatchParts,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const warned = new Set<string>();
  try {
    for (;;) {
      await clock.sleep(LOOK_MS, signal);
      const failures = findFailures(parts);
      if (failures !== undefined) return failures;
      warnOfEndless(parts.desired.all(), warned, logger);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return undefined;
  }
}

function findFailures(parts: BatchParts): string[] | undefined {
  const { sources, stopped, desired, manager, workers, workloads, seenAllSources } = parts;
  if (!seenAllSources()) return undefined;
  // A pod that was edited after its end runs once more.
  const isThrough = (uid: string): boolean => workers.isFinished(uid) && !workers.isWantedAgain(uid);
  return findBatchFailures({
    pods: desired.all(),
    findStatus: (uid) => manager.find(uid)?.status,
    isOver: (uid) => isThrough(uid) || desired.findRejection(uid) !== undefined,
    stopped: stopped.heldBack(),
    jobs: workloads.jobEnds(),
    problems: sources.config.problems(),
  });
}

function warnOfEndless(pods: Iterable<NodePod>, warned: Set<string>, logger: Logger): void {
  for (const { metadata, spec } of pods) {
    if (!hasEndlessContainer(spec) || warned.has(metadata.uid)) continue;
    warned.add(metadata.uid);
    logger.warn('Pod with restartPolicy Always does not end by itself: --exit-when-done waits for it', {
      pod: metadata,
    });
  }
}

/**
 * False for a URL that fails now but was read before, and for state that cannot be stored: the pods run
 * nevertheless.
 */
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
