import { type RecordedMethod } from './recorded-method.js';

/**
 * How a method is replayed.
 *
 * `list`, `status`: from what was seen of the node, whatever was asked exactly. `events`: at their times. `read`: as it
 * was answered. `change`: as it was answered when the same was asked. `stream`: never, since bytes beside CRI belong to it.
 */
export type MethodKind = 'list' | 'status' | 'events' | 'read' | 'change' | 'stream';

const KINDS: Readonly<Record<Exclude<MethodKind, 'read'>, readonly string[]>> = {
  list: ['ListPodSandbox', 'StreamPodSandboxes', 'ListContainers', 'StreamContainers'],
  status: ['PodSandboxStatus', 'ContainerStatus'],
  events: ['GetContainerEvents'],
  change: [
    ...['RunPodSandbox', 'StopPodSandbox', 'RemovePodSandbox', 'UpdatePodSandboxResources'],
    ...['CreateContainer', 'StartContainer', 'StopContainer', 'RemoveContainer', 'UpdateContainerResources'],
    ...[
      'ReopenContainerLog',
      'ExecSync',
      'CheckpointContainer',
      'UpdateRuntimeConfig',
      'PullImage',
      'RemoveImage',
    ],
  ],
  stream: ['Exec', 'Attach', 'PortForward'],
};

const BY_NAME = new Map(
  Object.entries(KINDS).flatMap(([kind, names]) => names.map((name) => [name, kind as MethodKind] as const)),
);

/** What a method is in this respect; one that is not known counts as a read. */
export function kindOf({ name }: RecordedMethod): MethodKind {
  return BY_NAME.get(name) ?? 'read';
}

/** What a question of a `read` is about: nothing in particular, what its first field names, or all that it says. */
export function subjectOfRead({ name }: RecordedMethod): 'nothing' | 'id' | 'image' | 'request' {
  if (name === 'ContainerStats' || name === 'PodSandboxStats') return 'id';
  if (name === 'ImageStatus') return 'image';
  const hasFilter = ['ListImages', 'StreamImages', 'ListContainerStats', 'StreamContainerStats'];
  return [...hasFilter, 'ListPodSandboxStats', 'StreamPodSandboxStats'].includes(name)
    ? 'request'
    : 'nothing';
}
