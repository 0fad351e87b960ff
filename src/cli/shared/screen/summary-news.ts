import { type PodLifecycleEvent, type RecordedPodEvent } from '#node';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type NewsLine } from './list-rows.js';

const DEFAULT_CAPACITY = 200;

/** Events of pods about a change that its lifecycle event reports as well. */
const SAID_TWICE: ReadonlySet<string> = new Set(['Created', 'Started']);

/** The newest of what happened, one line a change: lifecycle events and sentences as they come, events of pods when asked. */
export class SummaryNews {
  readonly #lines: NewsLine[] = [];
  readonly #capacity: number;

  constructor({ capacity = DEFAULT_CAPACITY }: { readonly capacity?: number } = {}) {
    this.#capacity = capacity;
  }

  addEvent(event: PodLifecycleEvent): void {
    const line = describeEvent(event);
    if (line !== undefined) this.add(line);
  }

  add(line: NewsLine): void {
    this.#lines.push(line);
    if (this.#lines.length > this.#capacity) this.#lines.shift();
  }

  /** Oldest first, with the events of pods at their last time among the others. */
  list(podEvents: readonly RecordedPodEvent[]): NewsLine[] {
    const ofPods = podEvents.filter(({ reason }) => !SAID_TWICE.has(reason)).slice(-this.#capacity);
    return [...this.#lines, ...ofPods.map(toNewsLine)].sort((one, other) => one.atMs - other.atMs);
  }
}

/** `ContainerDied server: exit code 3, Error` of `default/web`; undefined for what says nothing to people. */
function describeEvent(event: PodLifecycleEvent): NewsLine | undefined {
  if (!('containerId' in event) || event.kind === 'sandbox') return undefined;
  const { pod, type, containerName, exitCode, reason = '', observedAtMs } = event;
  const facts = [exitCode === undefined ? '' : `exit code ${exitCode}`, reason].filter(Boolean).join(', ');
  const text = `${type}  ${containerName}${facts === '' ? '' : `: ${facts}`}`;
  const hasFailed = type === 'ContainerDied' && exitCode !== 0;
  return { atMs: observedAtMs, pod: formatPod(pod), text, ...(hasFailed ? { style: 'unhealthy' } : {}) };
}

function toNewsLine({ pod, type, reason, container, message, count, lastAtMs }: RecordedPodEvent): NewsLine {
  const who = container === undefined ? '' : `  ${container}`;
  const times = count > 1 ? ` (${count} times)` : '';
  const text = `${type} ${reason}${who}: ${message}${times}`;
  return { atMs: lastAtMs, pod: formatPod(pod), text, ...(type === 'Warning' ? { style: 'warning' } : {}) };
}
