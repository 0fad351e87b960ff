import { type Container, type ResourceList, type ResourceRequirements } from '../container/container.js';
import { type SupportRule } from '../fields/decode-object.js';
import { withTableDefaults } from '../fields/table-defaults.js';
import { type Pod, type PodSpec } from './pod.js';
import { POD_TABLES } from './pod-fields.js';
import { isPodLevelResource, podLevelResources, sumContainers } from './pod-level-resources.js';
import { priorityOfClass } from './pod-priority.js';
import { formatQuantity, getQuantity } from '../fields/quantity.js';
import { SUPPORTED_FIELDS } from './read-pod.js';
import { type Volume } from './volume.js';

/**
 * Fills in Kubernetes' defaults for supported fields that are missing. Pure and idempotent.
 *
 * Constants come from the tables of pod-fields.ts. Rules set the priority of Kubernetes' own classes, the
 * pull policy (Always for `:latest` and no tag), requests (the limit if there is none), what a pod with resources of
 * its own requests, host ports on the node's network, and volumes without a source (emptyDir).
 */
export function applyPodDefaults(pod: Pod, isSupported: SupportRule = SUPPORTED_FIELDS): Pod {
  const full = withTableDefaults(pod, { kind: 'object', name: 'Pod' }, POD_TABLES, isSupported) as Pod;
  const { spec } = full;
  return { ...full, spec: { ...spec, ...withRules(spec) } };
}

function withRules(spec: PodSpec): Partial<PodSpec> {
  const fill = (container: Container): Container => withContainerRules(container, spec.hostNetwork === true);
  const priority = spec.priority ?? priorityOfClass(spec.priorityClassName);
  const containers = spec.containers.map(fill);
  const initContainers = spec.initContainers?.map(fill);
  const resources = podLevelResources(spec);
  return {
    ...(priority === undefined ? {} : { priority }),
    containers,
    ...(initContainers && { initContainers }),
    ...(resources && { resources: withPodRules(resources, { containers, initContainers }) }),
    ...(spec.ephemeralContainers === undefined
      ? {}
      : { ephemeralContainers: spec.ephemeralContainers.map(fill) }),
    ...(spec.volumes === undefined
      ? {}
      : {
          volumes: spec.volumes.map(withVolumeRules),
        }),
  };
}

/** What a pod does not request itself it requests for its containers, and otherwise as much as it may have. */
function withPodRules(
  own: ResourceRequirements,
  pod: Pick<PodSpec, 'containers'> & { readonly initContainers: PodSpec['initContainers'] | undefined },
): ResourceRequirements {
  const { containers, initContainers = [] } = pod;
  const sum = (side: 'limits' | 'requests', isCounted: (name: string) => boolean): ResourceList =>
    Object.fromEntries(
      [...sumContainers({ containers, initContainers }, side)]
        .filter(([name]) => isCounted(name))
        .map(([name, amount]) => [name, formatQuantity(amount)]),
    );
  const limits = { ...sum('limits', (name) => name.startsWith('hugepages-')), ...rounded(own.limits) };
  const requests = { ...limits, ...sum('requests', isPodLevelResource), ...rounded(own.requests) };
  return { ...own, ...(Object.keys(limits).length > 0 && { limits }), requests };
}

/** No source means an emptyDir. */
function withVolumeRules(volume: Volume): Volume {
  const { image } = volume;
  if (image !== undefined)
    return { ...volume, image: { ...image, pullPolicy: image.pullPolicy ?? pullPolicyOf(image.reference) } };
  return Object.keys(volume).length === 1 ? { ...volume, emptyDir: {} } : volume;
}

function withContainerRules(container: Container, hostNetwork: boolean): Container {
  const { image, imagePullPolicy, ports, resources } = container;
  return {
    ...container,
    imagePullPolicy: imagePullPolicy ?? pullPolicyOf(image),
    ...(hostNetwork && ports !== undefined
      ? {
          ports: ports.map((port) => ({ ...port, hostPort: port.hostPort ?? port.containerPort })),
        }
      : {}),
    ...(resources === undefined ? {} : { resources: withResourceRules(resources) }),
  };
}

function withResourceRules(resources: ResourceRequirements): ResourceRequirements {
  const [limits, requests] = [rounded(resources.limits), rounded(resources.requests)];
  if (limits === undefined) return requests === undefined ? resources : { ...resources, requests };
  return { ...resources, limits, requests: withLimits(requests, limits) };
}

function withLimits(requests: ResourceList | undefined, limits: ResourceList): ResourceList {
  return { ...limits, ...requests };
}

/** As in Kubernetes, nothing is finer than a thousandth. */
function rounded(amounts: ResourceList | undefined): ResourceList | undefined {
  if (amounts === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => {
      const { nanos, format } = getQuantity(amount);
      if (nanos % MILLI === 0n) return [name, amount];
      return [name, formatQuantity({ nanos: nanos - (nanos % MILLI) + (nanos > 0n ? MILLI : 0n), format })];
    }),
  );
}

const MILLI = 1_000_000n;

function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  return isLatest(image) ? 'Always' : 'IfNotPresent';
}

/** Whether the content behind an image name may change: `:latest`, or neither tag nor digest. */
function isLatest(image: string): boolean {
  const match = REFERENCE.exec(image);
  if (match === null) return false;
  const [, tag, digest] = match;
  const name = image.replace(/@.*$/, '').replace(/:[\w.-]+$/, '');
  // It could also be the id of an image.
  if (/^[a-f0-9]{64}$/.test(image)) return false;
  // Registries add the missing part: docker.io/library/.
  if (name.length + (name.includes('/') ? 0 : DEFAULT_HOST.length) > MAX_NAME_LENGTH) return false;
  return tag === undefined ? digest === undefined : tag === 'latest';
}

/** Whether registries accept the name of an image. */
export function isImageName(image: string): boolean {
  return REFERENCE.test(image);
}

const DEFAULT_HOST = 'docker.io/library/';
const MAX_NAME_LENGTH = 255;
const HOST =
  '(?:[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)*|\\[[0-9a-fA-F:]+\\])';
const PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
/** An image name that registries accept; any other cannot be pulled under any policy. */
const REFERENCE = new RegExp(
  `^(?:${HOST}(?::\\d+)?/)?${PART}(?:/${PART})*(?::(\\w[\\w.-]{0,127}))?(?:@(${DIGEST}))?$`,
);
