import { type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { PodTable } from '../../../src/node/api/objects/pod-table.js';
import { type ServedPod } from '../../../src/node/api/objects/served-pod.js';
import { aNodePod, type NodePodBlueprint } from '../builders/node-pod-builder.js';

/** A status in which one container `main` runs. */
export function aServedStatus(more: Partial<V1PodStatus> = {}): V1PodStatus {
  return {
    phase: 'Running',
    conditions: [],
    containerStatuses: [
      {
        name: 'main',
        state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
        lastState: {},
        ...{ ready: true, started: true, restartCount: 0, image: 'app:1', imageID: '' },
        containerID: 'fake://c0ffee',
      },
    ],
    qosClass: 'BestEffort',
    ...more,
  };
}

/** A table of pods that a test changes at will. */
export class ServedPodsHarness {
  readonly pods = new Map<string, ServedPod>();
  readonly versions = {
    current: 100,
    next(): number {
      return ++this.current;
    },
  };
  readonly table = new PodTable(
    { uids: () => this.pods.keys(), find: (uid) => this.pods.get(uid) },
    this.versions,
  );

  /** Adds a pod, or another version of it, and notifies the table. */
  set(blueprint: NodePodBlueprint, more: Partial<Omit<ServedPod, 'pod'>> = {}): ServedPod {
    const pod = aNodePod(blueprint);
    const served = { pod, status: aServedStatus(), createdAtMs: 0, deletion: undefined, ...more };
    this.pods.set(pod.metadata.uid, served);
    this.table.refresh(pod.metadata.uid);
    return served;
  }

  remove(name: string): void {
    this.pods.delete(`uid-${name}`);
    this.table.refresh(`uid-${name}`);
  }
}
