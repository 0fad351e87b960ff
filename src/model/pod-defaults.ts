import { type Container, type ResourceList } from './container.js';
import { type SupportRule } from './decode-object.js';
import { type FieldType } from './field-facts.js';
import { type Pod, type PodSpec } from './pod.js';
import { POD_TABLES } from './pod-fields.js';
import { priorityOfClass } from './pod-priority.js';
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
    ...(resources?.limits === undefined
      ? {}
      : { resources: { ...resources, requests: withLimits(resources.requests, resources.limits) } }),
  };
}

function withLimits(requests: ResourceList | undefined, limits: ResourceList): ResourceList {
  return { ...limits, ...requests };
}

/** Whether an image may change behind its name: `:latest`, or neither tag nor digest. */
function isLatest(image: string): boolean {
  const [name = '', ...digest] = image.split('@');
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  return tag === undefined ? digest.length === 0 : tag === 'latest';
}

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
