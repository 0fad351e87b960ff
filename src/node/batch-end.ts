import { type ConfigProblem, formatConfigProblem } from './desired/config-problem.js';
import { HTTP_SOURCE } from './desired/sources/http-source.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { isTerminalPhase, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { hasEndlessContainer } from '#kube/container/restart-rule.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentParts } from './parts/agent-parts.js';

/** What a batch is judged by, once every source was seen. */
export interface BatchView {
  readonly pods: Iterable<NodePod>;
  readonly findStatus: (uid: string) => V1PodStatus | undefined;
  /** Whether nothing more will be done for a pod. */
  readonly isOver: (uid: string) => boolean;
  /** Pods that somebody has deleted although their manifests are there (default: none). */
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

/** The parts of an agent that tell how far its batch is. */
export type BatchParts = Pick<
  AgentParts,
  'sources' | 'stopped' | 'desired' | 'manager' | 'workers' | 'seenAllSources'
>;

/** How often it is looked whether every pod has ended, in milliseconds. */
const LOOK_MS = 200;

/**
 * Resolves once every pod has ended, with what {@link findBatchFailures} says then; with undefined when the signal
 * aborts before. Warns once of each pod that does not end by itself.
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
  const { sources, stopped, desired, manager, workers, seenAllSources } = parts;
  if (!seenAllSources()) return undefined;
  // One that was edited after its end runs once more.
  const isThrough = (uid: string): boolean => workers.isFinished(uid) && !workers.isWantedAnew(uid);
  return findBatchFailures({
    pods: desired.all(),
    findStatus: (uid) => manager.find(uid)?.status,
    isOver: (uid) => isThrough(uid) || desired.findRejection(uid) !== undefined,
    stopped: stopped.heldBack(),
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
