import { type PodLifecycleEvent, type RecordedPodEvent } from '#node';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type NewsLine } from './summary-text.js';

const DEFAULT_CAPACITY = 200;

/** The newest of what happened, in words: lifecycle events and sentences as they come, events of pods when asked. */
export class SummaryNews {
  readonly #lines: NewsLine[] = [];
  readonly #capacity: number;

  constructor({ capacity = DEFAULT_CAPACITY }: { readonly capacity?: number } = {}) {
    this.#capacity = capacity;
  }

  addEvent(event: PodLifecycleEvent): void {
    const text = describeEvent(event);
    if (text !== undefined) this.add({ atMs: event.observedAtMs, text });
  }

  add(line: NewsLine): void {
    this.#lines.push(line);
    if (this.#lines.length > this.#capacity) this.#lines.shift();
  }

  /** Oldest first, with the events of pods at their last time among the others. */
  list(podEvents: readonly RecordedPodEvent[]): NewsLine[] {
    const ofPods = podEvents.slice(-this.#capacity).map(toNewsLine);
    return [...this.#lines, ...ofPods].sort((one, other) => one.atMs - other.atMs);
  }
}

/** `default/web ContainerDied server: exit code 3, Error`; undefined for what says nothing to people. */
function describeEvent(event: PodLifecycleEvent): string | undefined {
  if (!('containerId' in event) || event.kind === 'sandbox') return undefined;
  const { pod, type, containerName, exitCode, reason = '' } = event;
  const facts = [exitCode === undefined ? '' : `exit code ${exitCode}`, reason].filter(Boolean).join(', ');
  return `${formatPod(pod)}  ${type}  ${containerName}${facts === '' ? '' : `: ${facts}`}`;
}

function toNewsLine({ pod, type, reason, container, message, count, lastAtMs }: RecordedPodEvent): NewsLine {
  const who = container === undefined ? '' : `  ${container}`;
  const times = count > 1 ? ` (${count} times)` : '';
  return { atMs: lastAtMs, text: `${formatPod(pod)}  ${type} ${reason}${who}: ${message}${times}` };
}
