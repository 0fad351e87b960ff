import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodStatus } from '#watch';

/**
 * Warns once about each container that will be ended by another signal than its `lifecycle.stopSignal`.
 *
 * The runtime ignores the field: containerd before 2.3 does.
 *
 * Source: https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/4960-container-stop-signals
 */
export class UnheededStopSignals {
  readonly #events: PodEventRecorder;
  /** Containers that were warned about, by the uids of their pods. */
  readonly #told = new Map<string, Set<string>>();

  constructor(options: { readonly events: PodEventRecorder }) {
    this.#events = options.events;
  }

  look({ metadata, spec }: NodePod, { containers }: PodStatus): void {
    for (const { name, lifecycle } of [...(spec.initContainers ?? []), ...spec.containers]) {
      const wanted = lifecycle?.stopSignal;
      if (wanted === undefined) continue;
      for (const { id, state, stopSignal } of containers.filter((each) => each.name === name)) {
        const told = this.#told.get(metadata.uid) ?? new Set();
        if (state !== 'running' || stopSignal !== undefined || told.has(id)) continue;
        this.#told.set(metadata.uid, told.add(id));
        const message = `The runtime does not know of lifecycle.stopSignal: container ${name} is ended by the signal of its image, or SIGTERM, and not by ${wanted}`;
        this.#events.record(metadata, {
          ...{ type: 'Warning', reason: 'StopSignalIgnored', message, container: name },
        });
      }
    }
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#told.delete(podUid);
  }
}
