/** What the chaos proxy has to know of CRI's methods, by their short names. */

/** Requests whose first field is a container's id. */
const OF_CONTAINER = new Set([
  ...['StartContainer', 'StopContainer', 'RemoveContainer', 'ContainerStatus', 'UpdateContainerResources'],
  ...['ReopenContainerLog', 'ExecSync', 'Exec', 'Attach', 'ContainerStats', 'CheckpointContainer'],
]);

/** Requests whose first field is a sandbox's id. */
const OF_SANDBOX = new Set([
  ...['StopPodSandbox', 'RemovePodSandbox', 'PodSandboxStatus', 'PortForward', 'PodSandboxStats'],
  ...['UpdatePodSandboxResources', 'CreateContainer'],
]);

/** Answers that hold a list in their first field, in one message or, streamed, in many. */
const LISTS = new Set([
  ...['ListContainers', 'ListPodSandbox', 'ListImages', 'ListContainerStats', 'ListPodSandboxStats'],
  ...['StreamContainers', 'StreamPodSandboxes', 'StreamImages', 'StreamContainerStats'],
  'StreamPodSandboxStats',
]);

/** The lists whose items name the pod they belong to. */
const LISTS_OF_PODS = new Set(['ListContainers', 'ListPodSandbox', 'StreamContainers', 'StreamPodSandboxes']);

/** Calls whose request names a pod or container, and whose answer has its new id. */
const CREATIONS = new Set(['RunPodSandbox', 'CreateContainer']);

/** Answers from which it can be learned which pod an id belongs to. */
const TELLING = new Set([...LISTS_OF_PODS, ...CREATIONS, 'PodSandboxStatus', 'ContainerStatus']);

const OTHERS = [
  ...['Version', 'RunPodSandbox', 'UpdateRuntimeConfig', 'Status', 'GetContainerEvents', 'RuntimeConfig'],
  ...['ListMetricDescriptors', 'ListPodSandboxMetrics', 'StreamPodSandboxMetrics'],
  ...['ImageStatus', 'PullImage', 'RemoveImage', 'ImageFsInfo'],
];

/** Every method of CRI v1 by its short name. */
export const CRI_METHOD_NAMES: readonly string[] = [
  ...OF_CONTAINER,
  ...OF_SANDBOX,
  ...LISTS,
  ...OTHERS,
].sort();

/** The one whose answer is a stream that does not end. */
export const EVENTS_METHOD = 'GetContainerEvents';
/** In whose answer a runtime says whether it is ready. */
export const STATUS_METHOD = 'Status';

/** `ContainerStatus` of `/runtime.v1.RuntimeService/ContainerStatus`. */
export function shortMethod(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Whether the method is one of CRI v1's services; others may have methods of the same short name. */
export function isCri(path: string): boolean {
  return path.startsWith('/runtime.v1.');
}

/** What the first field of a method's request identifies. */
export function subjectOf(method: string): 'container' | 'sandbox' | undefined {
  return OF_CONTAINER.has(method) ? 'container' : OF_SANDBOX.has(method) ? 'sandbox' : undefined;
}

/** Whether its answer is a list, in one message or in a stream of them. */
export function isList(method: string): boolean {
  return LISTS.has(method);
}

/** Whether its answer is a list whose items name their pods. */
export function isListOfPods(method: string): boolean {
  return LISTS_OF_PODS.has(method);
}

/** Whether a call of it creates a pod or container, so that request and answer together name it. */
export function isCreation(method: string): boolean {
  return CREATIONS.has(method);
}

/** Whether its answer says which pod an id belongs to. */
export function tellsPods(method: string): boolean {
  return TELLING.has(method);
}

/** Whether a call of it is about one pod, so that a rule for some pods can be about it. */
export function concernsPod(method: string): boolean {
  return subjectOf(method) !== undefined || method === 'RunPodSandbox';
}

/** Whether a call of it is known to end with one answer. */
export function isUnary(path: string): boolean {
  const method = shortMethod(path);
  return isCri(path) && !method.startsWith('Stream') && method !== EVENTS_METHOD;
}
