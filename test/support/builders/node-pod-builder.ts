import { type NodePod, type NodePodMeta } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';

/** What {@link aNodePod} takes: any field of metadata and spec. */
export interface NodePodBlueprint extends Partial<NodePodMeta> {
  readonly spec?: Partial<PodSpec>;
  /** What it came through (default: `file`). */
  readonly source?: string;
}

/** A static pod `default/web` with one container `main`, restarted always, 30 s of grace. Its uid follows its name. */
export function aNodePod(blueprint: NodePodBlueprint = {}): NodePod {
  const { spec, source = 'file', ...metadata } = blueprint;
  const { name = 'web' } = metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      ...metadata,
      annotations: { 'kubernetes.io/config.source': source, ...metadata.annotations },
    },
    spec: {
      containers: [{ name: 'main', image: 'registry.example/app:1' }],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      ...spec,
    },
  };
}
