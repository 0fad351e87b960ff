import { type Container, type ResourceList, type ResourceRequirements } from '../container/container.js';
import { type SupportRule } from '../fields/decode-object.js';
import { type FieldType } from '../fields/field-facts.js';
import { type Pod, type PodSpec } from './pod.js';
import { POD_TABLES } from './pod-fields.js';
import { priorityOfClass } from './pod-priority.js';
import { formatQuantity, getQuantity } from '../fields/quantity.js';
import { SUPPORTED_FIELDS } from './read-pod.js';

/**
 * The pod with Kubernetes' defaults for the fields that are honoured and were not written. Pure; applying it again
 * changes nothing.
 *
 * The simple ones come from the tables of pod-fields.ts; by rule go the priority of Kubernetes' own classes, the pull policy (Always for `:latest` and no tag),
 * requests (the limit where there is none), host ports on the node's network, and volumes without a source (emptyDir).
 */
export function applyPodDefaults(pod: Pod, isSupported: SupportRule = SUPPORTED_FIELDS): Pod {
  const full = withTableDefaults(pod, { kind: 'object', name: 'Pod' }, isSupported) as Pod;
  const { spec } = full;
  return { ...full, spec: { ...spec, ...withRules(spec) } };
}

function withRules(spec: PodSpec): Partial<PodSpec> {
  const fill = (container: Container): Container => withContainerRules(container, spec.hostNetwork === true);
  const priority = spec.priority ?? priorityOfClass(spec.priorityClassName);
  return {
    ...(priority === undefined ? {} : { priority }),
    containers: spec.containers.map(fill),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(fill) }),
    ...(spec.ephemeralContainers === undefined
      ? {}
      : { ephemeralContainers: spec.ephemeralContainers.map(fill) }),
    ...(spec.volumes === undefined
      ? {}
      : {
          volumes: spec.volumes.map((volume) =>
            Object.keys(volume).length === 1 ? { ...volume, emptyDir: {} } : volume,
          ),
        }),
  };
}

function withContainerRules(container: Container, hostNetwork: boolean): Container {
  const { image, imagePullPolicy, ports, resources } = container;
  return {
    ...container,
    imagePullPolicy: imagePullPolicy ?? (isLatest(image) ? 'Always' : 'IfNotPresent'),
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

/** As Kubernetes has it: nothing finer than a thousandth. */
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

/** Whether an image may change behind its name: `:latest`, or neither tag nor digest. */
function isLatest(image: string): boolean {
  const match = REFERENCE.exec(image);
  if (match === null) return false;
  const [, tag, digest] = match;
  const name = image.replace(/@.*$/, '').replace(/:[\w.-]+$/, '');
  // It could as well be the id of an image.
  if (/^[a-f0-9]{64}$/.test(image)) return false;
  // Registries add what is left out: docker.io/library/.
  if (name.length + (name.includes('/') ? 0 : DEFAULT_HOST.length) > LONGEST_NAME) return false;
  return tag === undefined ? digest === undefined : tag === 'latest';
}

const DEFAULT_HOST = 'docker.io/library/';
const LONGEST_NAME = 255;
const HOST =
  '(?:[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)*|\\[[0-9a-fA-F:]+\\])';
const PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
/** The name of an image as registries take it; what is none can be pulled by no policy. */
const REFERENCE = new RegExp(
  `^(?:${HOST}(?::\\d+)?/)?${PART}(?:/${PART})*(?::(\\w[\\w.-]{0,127}))?(?:@(${DIGEST}))?$`,
);

function withTableDefaults(value: unknown, type: FieldType, isSupported: SupportRule): unknown {
  if (type.kind === 'list') {
    return (value as unknown[]).map((item) => withTableDefaults(item, type.of, isSupported));
  }
  if (type.kind !== 'object') return value;
  const own = value as Record<string, unknown>;
  const fields: [string, unknown][] = Object.entries(POD_TABLES[type.name]!).map(([name, facts]) => {
    if (own[name] !== undefined) return [name, withTableDefaults(own[name], facts.type, isSupported)];
    const isDefaulted = facts.support !== 'ignored' && isSupported(type.name, name, facts);
    return [name, isDefaulted ? facts.default : undefined];
  });
  // What the tables do not know (the node's name) stays.
  return { ...own, ...Object.fromEntries(fields.filter(([, field]) => field !== undefined)) };
}
