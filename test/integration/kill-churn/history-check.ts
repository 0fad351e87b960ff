import { type cri } from '../../../src/watch/cri/index.js';
import { CONTAINER_CREATED, CONTAINER_EXITED, CONTAINER_RUNNING, SANDBOX_READY } from '../embedded-node.js';
import { type ContainerHistory, type PodHistory } from './churn-history.js';

/** What a runtime says of itself. */
export interface RuntimeAnswers {
  readonly pods: readonly cri.PodSandbox[];
  /** By id; of every container that the list has. */
  readonly containers: ReadonlyMap<string, cri.ContainerStatus>;
  /** How often a container's program began, by the container's name. */
  readonly runs: ReadonlyMap<string, number>;
}

/**
 * Holds a runtime's answers against what was asked of it, and answers with a sentence for each contradiction.
 * Containers whose program ends by itself must have been given the time for it. Ids that were never answered are
 * filled in, and ends that were seen are noted, so that the next check is stricter.
 */
export function findContradictions(history: readonly PodHistory[], answers: RuntimeAnswers): string[] {
  const unexplained = new Set([...answers.pods.map(({ id }) => id), ...answers.containers.keys()]);
  const found: string[] = [];
  for (const pod of history) {
    const listed = answers.pods.find(({ id, metadata }) =>
      pod.id === undefined ? metadata?.name === pod.name : id === pod.id,
    );
    const answered = pod.id !== undefined;
    if (listed === undefined) {
      if (answered && pod.removed === 'no') found.push(`pod ${pod.name} is gone`);
      if (pod.removed === 'perhaps' || !answered) pod.removed = 'yes';
      continue;
    }
    pod.id = listed.id;
    unexplained.delete(listed.id);
    if (pod.removed === 'yes') found.push(`pod ${pod.name} was removed and is back`);
    const ready = listed.state === SANDBOX_READY;
    if (ready && pod.stopped === 'yes') found.push(`pod ${pod.name} was stopped and is ready`);
    if (!ready && pod.stopped === 'no' && answered) found.push(`pod ${pod.name} is not ready`);
    if (!ready) pod.stopped = 'yes';
    for (const container of pod.containers)
      found.push(...checkContainer(pod, container, answers, unexplained));
  }
  for (const id of unexplained) found.push(`${id} is there and was never asked for`);
  return found;
}

function checkContainer(
  pod: PodHistory,
  container: ContainerHistory,
  { containers, runs }: RuntimeAnswers,
  unexplained: Set<string>,
): string[] {
  const what = `container ${container.name} of ${pod.name}`;
  const status =
    container.id === undefined
      ? [...containers.values()].find(({ metadata }) => metadata?.name === container.name)
      : containers.get(container.id);
  if ((runs.get(container.name) ?? 0) > 1) return [`${what} ran more than once`];
  if (status === undefined) {
    const mayBeGone = container.id === undefined || container.removed !== 'no' || pod.removed !== 'no';
    if (mayBeGone) container.removed = 'yes';
    return mayBeGone ? [] : [`${what} is gone`];
  }
  container.id = status.id;
  unexplained.delete(status.id);
  if (container.removed === 'yes') return [`${what} was removed and is back`];
  return checkState(what, pod, container, status, runs.get(container.name) ?? 0);
}

function checkState(
  what: string,
  pod: PodHistory,
  container: ContainerHistory,
  { state, exitCode, finishedAt }: cri.ContainerStatus,
  runs: number,
): string[] {
  const leftAlone =
    [container.stopped, container.removed, pod.stopped, pod.removed].every((done) => done === 'no') &&
    container.started === 'yes';
  if (state === CONTAINER_CREATED) {
    if (container.started === 'yes') return [`${what} was started and is only created`];
    return runs === 0 ? [] : [`${what} ran and is only created`];
  }
  if (container.started === 'no' && state === CONTAINER_RUNNING)
    return [`${what} runs and was never started`];
  if (state === CONTAINER_RUNNING) {
    if (container.end !== undefined) return [`${what} had ended and runs again`];
    if (container.stopped === 'yes' || pod.stopped === 'yes') return [`${what} was stopped and runs`];
    return container.program === 'runsOn' ? [] : [`${what} runs although its program ends`];
  }
  if (state !== CONTAINER_EXITED) return [`${what} is in state ${state}`];
  const touched = [container.started, container.stopped, pod.stopped].some((done) => done !== 'no');
  if (!touched) return [`${what} has ended and was never started`];
  const { end } = container;
  container.end = { exitCode, finishedAt };
  if (end !== undefined && (end.exitCode !== exitCode || end.finishedAt !== finishedAt))
    return [`${what} ended with ${end.exitCode} at ${end.finishedAt}, now ${exitCode} at ${finishedAt}`];
  if (!leftAlone) return [];
  if (container.program === 'runsOn') return [`${what} ended with ${exitCode} although nobody stopped it`];
  const expected = container.program.exitsWith;
  return exitCode === expected ? [] : [`${what} ended with ${exitCode} and not with ${expected}`];
}
