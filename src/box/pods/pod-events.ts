import { type EventHub, EVENT_TYPES } from './event-hub.js';
import { toContainerStatus, toPodSandboxStatus } from '../messages.js';
import { type NanoClock } from '../nano-clock.js';
import { type PodRegistry } from './pod-registry.js';

/** What {@link PodEvents} needs. */
export interface PodEventsOptions {
  readonly hub: EventHub;
  readonly pods: PodRegistry;
  readonly time: NanoClock;
  /** The addresses of a sandbox. */
  readonly ipsOf: (sandboxId: string) => readonly string[];
}

/**
 * Says what happened to a sandbox or container, with the state of the whole pod as it is at that moment.
 *
 * As in other CRI runtimes, the event of a removed sandbox comes without the sandbox's status.
 */
export class PodEvents {
  readonly #options: PodEventsOptions;

  constructor(options: PodEventsOptions) {
    this.#options = options;
  }

  /**
   * @param notBeforeNs the event is at least as new as what it reports.
   */
  publish(what: keyof typeof EVENT_TYPES, id: string, sandboxId: string, notBeforeNs = 0n): void {
    const { hub, pods, time, ipsOf } = this.#options;
    if (!hub.active) return;
    const sandbox = pods.findSandbox(sandboxId);
    const now = time.now();
    hub.publish({
      containerId: id,
      containerEventType: EVENT_TYPES[what],
      createdAt: now > notBeforeNs ? now : notBeforeNs,
      podSandboxStatus: sandbox && toPodSandboxStatus(sandbox, ipsOf(sandboxId)),
      containersStatuses: pods.containersOf(sandboxId).map(toContainerStatus),
    });
  }
}
