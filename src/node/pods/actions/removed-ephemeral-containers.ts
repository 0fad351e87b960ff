import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { ANNOTATIONS, ownerOf, type PodStatus } from '#watch';

/** Warns once about each ephemeral container that an edit removed from a pod and that keeps running. */
export class RemovedEphemeralContainers {
  readonly #events: PodEventRecorder;
  /** Containers that were warned about, by the uids of their pods. */
  readonly #told = new Map<string, Set<string>>();

  constructor(options: { readonly events: PodEventRecorder }) {
    this.#events = options.events;
  }

  look({ metadata, spec }: NodePod, { containers }: PodStatus): void {
    const wanted = new Set((spec.ephemeralContainers ?? []).map(({ name }) => name));
    for (const { id, name, state, labels, annotations } of containers) {
      const isEphemeral = annotations[ANNOTATIONS.type] === 'ephemeral' && ownerOf(labels) === 'podloop';
      if (!isEphemeral || state !== 'running' || wanted.has(name)) continue;
      const told = this.#told.get(metadata.uid) ?? new Set();
      if (told.has(id)) continue;
      this.#told.set(metadata.uid, told.add(id));
      const message = `Ephemeral container ${name} was removed from the manifest: it runs until it or the pod ends`;
      this.#events.record(metadata, {
        ...{ type: 'Warning', reason: 'EphemeralContainerRemoved', message, container: name },
      });
    }
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#told.delete(podUid);
  }
}
