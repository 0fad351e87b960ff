import { type Container, type ContainerPort } from '../container/container.js';
import { DEFAULT_GRACE_SECONDS } from '../pod/default-grace.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { duplicate, forbidden, invalid } from '../fields/field-problem.js';
import { checkIp, checkLabel, checkNoNul, checkPortName, checkPortNumber } from './name-rules.js';
import { type PodSpec } from '../pod/pod.js';
import { type ProblemList } from './problem-list.js';
import { validateEnv } from './validate-env.js';
import { validateEphemeralContainer } from './validate-ephemeral-container.js';
import { validateLifecycle, validateProbe } from './validate-probe.js';
import { validateResources } from './validate-resources.js';
import { validateRestartRules } from './validate-restart-rules.js';
import { validateContainerSecurity } from './validate-security.js';
import { validateVolumeMounts } from './validate-volume.js';

/** The characters that Go's TrimSpace removes. */
const EDGE_SPACE = /^[\t-\r \u0085\p{Zs}\u2028\u2029]|[\t-\r \u0085\p{Zs}\u2028\u2029]$/u;
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;

/** Validates all containers of a pod, each by itself and together. */
export function validateContainers(spec: Draft<PodSpec>, path: FieldPath, list: ProblemList): void {
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  for (const [index, container] of entriesOf(spec.containers)) {
    const place = [...path, 'containers', index];
    validateContainer(container, spec, place, list);
    validateName(container, names, place, list);
    validateHostPorts(container, spec.hostNetwork === true, hostPorts, place, list);
    validateHooksAndProbes(container, spec, place, list);
    validateRestartRules(container, place, list);
  }
  for (const [index, container] of entriesOf(spec.initContainers)) {
    const place = [...path, 'initContainers', index];
    validateContainer(container, spec, place, list);
    validateName(container, names, place, list);
    // They run one by one, so each may use the port.
    validateHostPorts(container, spec.hostNetwork === true, new Set(), place, list);
    validateRestartRules(container, place, list);
    if (container.restartPolicy === 'Always') {
      validateHooksAndProbes(container, spec, place, list);
      continue;
    }
    for (const field of ['lifecycle', ...PROBES] as const) {
      if (container[field] !== undefined)
        list.add(
          forbidden([...place, field], 'of init containers only those with restartPolicy Always have it'),
        );
    }
  }
  // They may target any other container.
  const targets = new Set(names);
  for (const [index, container] of entriesOf(spec.ephemeralContainers)) {
    const place = [...path, 'ephemeralContainers', index];
    validateContainer(container, spec, place, list);
    validateName(container, names, place, list);
    validateEphemeralContainer(container, targets, place, list);
  }
}

function validateContainer(
  container: Draft<Container>,
  spec: Draft<PodSpec>,
  path: FieldPath,
  list: ProblemList,
): void {
  list.check([...path, 'name'], container.name, checkLabel);
  list.check([...path, 'image'], container.image, (image) =>
    !EDGE_SPACE.test(image) ? undefined : 'must not begin or end with space',
  );
  for (const field of ['command', 'args'] as const) {
    for (const [index, word] of entriesOf(container[field]))
      list.check([...path, field, index], word, checkNoNul);
  }
  for (const field of ['workingDir', 'terminationMessagePath'] as const) {
    list.check([...path, field], container[field], checkNoNul);
  }
  validatePorts(container.ports, spec.hostNetwork === true, [...path, 'ports'], list);
  validateEnv(container, path, list);
  if (container.resources !== undefined) validateResources(container.resources, [...path, 'resources'], list);
  const volumes = new Set(entriesOf(spec.volumes).flatMap(([, { name }]) => name ?? []));
  validateVolumeMounts(container, volumes, [...path, 'volumeMounts'], list);
  validateContainerSecurity(container, spec, [...path, 'securityContext'], list);
  const resources = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of entriesOf(container.resizePolicy)) {
    const place = [...path, 'resizePolicy', index];
    if (resourceName !== undefined && resources.has(resourceName))
      list.add(duplicate([...place, 'resourceName'], resourceName));
    resources.add(resourceName ?? '');
    if (spec.restartPolicy === 'Never' && restartPolicy === 'RestartContainer')
      list.add(
        invalid(
          [...place, 'restartPolicy'],
          restartPolicy,
          'must be NotRequired in a pod that never restarts',
        ),
      );
  }
}

function validateName(
  { name }: Draft<Container>,
  names: Set<string>,
  path: FieldPath,
  list: ProblemList,
): void {
  if (name === undefined) return;
  if (names.has(name)) list.add(duplicate([...path, 'name'], name));
  names.add(name);
}

function validateHooksAndProbes(
  container: Draft<Container>,
  spec: Draft<PodSpec>,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const name of PROBES) {
    const probe = container[name];
    if (probe !== undefined) validateProbe(probe, name, [...path, name], list);
  }
  const grace = spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  if (container.lifecycle === undefined) return;
  validateLifecycle(container.lifecycle, grace, [...path, 'lifecycle'], list);
  if (container.lifecycle.stopSignal !== undefined && spec.os?.name === undefined) {
    const rule = 'only in a pod that says for which system it is: set spec.os.name to linux';
    list.add(forbidden([...path, 'lifecycle', 'stopSignal'], rule));
  }
}

function validatePorts(
  ports: readonly (Draft<ContainerPort> | undefined)[] | undefined,
  hostNetwork: boolean,
  path: FieldPath,
  list: ProblemList,
): void {
  const names = new Set<string>();
  for (const [index, port] of entriesOf(ports)) {
    const place = [...path, index];
    const { name, hostPort } = port;
    list.check([...place, 'name'], name, checkPortName);
    if (name !== undefined) {
      if (names.has(name)) list.add(duplicate([...place, 'name'], name));
      names.add(name);
    }
    list.check([...place, 'containerPort'], port.containerPort, checkPortNumber);
    list.check([...place, 'hostPort'], hostPort, checkPortNumber);
    if (hostNetwork && hostPort !== undefined && hostPort !== port.containerPort) {
      const rule = `must be the containerPort (${port.containerPort ?? 'missing'}) when hostNetwork is true`;
      list.add(invalid([...place, 'hostPort'], hostPort, rule));
    }
    list.check([...place, 'hostIP'], port.hostIP, checkIp);
  }
}

/** Two containers cannot have the same port of the node. */
function validateHostPorts(
  { ports }: Draft<Container>,
  hostNetwork: boolean,
  taken: Set<string>,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [index, port] of entriesOf(ports)) {
    // On the node's network a container's port is a port of the node.
    const hostPort = port.hostPort ?? (hostNetwork ? port.containerPort : undefined);
    if (hostPort === undefined) continue;
    const key = `${port.protocol ?? 'TCP'}/${port.hostIP ?? ''}/${hostPort}`;
    if (taken.has(key)) list.add(duplicate([...path, 'ports', index, 'hostPort'], key));
    taken.add(key);
  }
}
