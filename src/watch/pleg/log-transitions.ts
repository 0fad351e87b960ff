import { type ObservedPod, type ObservedState } from '../observed/runtime.js';
import { type Logger } from '#base/log/logger.js';

/** The kubelet's words; for it the state of a created container is unknown. */
const STATE_WORDS: Readonly<Record<ObservedState, string>> = {
  created: 'unknown',
  running: 'running',
  exited: 'exited',
  unknown: 'unknown',
};
const ABSENT = 'non-existent';

/** Logs, for debugging, what has become of each container and sandbox of a pod between two lists. */
export function logTransitions(
  logger: Logger,
  podUID: string,
  older: ObservedPod | undefined,
  newer: ObservedPod | undefined,
): void {
  if (older === newer || !logger.enabled(4)) return;
  const [before, after] = [statesOf(older), statesOf(newer)];
  for (const containerID of new Set([...before.keys(), ...after.keys()])) {
    const [oldState, newState] = [before.get(containerID) ?? ABSENT, after.get(containerID) ?? ABSENT];
    if (oldState !== newState) {
      logger.info('GenericPLEG', { podUID, containerID, oldState, newState }, 4);
    }
  }
}

function statesOf(pod: ObservedPod | undefined): Map<string, string> {
  const all = pod === undefined ? [] : [...pod.containers, ...pod.sandboxes];
  return new Map(all.map(({ id, state }) => [id, STATE_WORDS[state]]));
}
