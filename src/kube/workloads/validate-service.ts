import { isIPv4 } from 'node:net';
import { type Draft, entriesOf } from '../fields/draft.js';
import { duplicate, forbidden, invalid, required } from '../fields/field-problem.js';
import {
  checkLabel,
  checkLabelValue,
  checkPortName,
  checkPortNumber,
  checkQualifiedName,
  checkSubdomain,
} from '../validation/name-rules.js';
import { type ProblemList } from '../validation/problem-list.js';
import { type ServicePort, type ServiceSpec } from './workload.js';

/** Kubernetes' default range. */
export const NODE_PORTS = { first: 30_000, last: 32_767 } as const;
/** A Service without an address of its own. */
export const HEADLESS = 'None';

/** Kubernetes' rules for Services beyond the types of their fields. */
export function validateService(name: string | undefined, spec: Draft<ServiceSpec>, list: ProblemList): void {
  const { type = 'ClusterIP', ports = [], clusterIP = '', externalName, selector } = spec;
  if (name !== undefined && (checkLabel(name) !== undefined || !/^[a-z]/.test(name))) {
    const rule = 'use at most 63 of a-z, 0-9 and "-", with a letter first and a letter or digit last';
    list.add(invalid(['metadata', 'name'], name, rule));
  }
  for (const [key, value] of Object.entries(selector ?? {})) {
    list.check(['spec', 'selector', { key }], key, checkQualifiedName);
    list.check(['spec', 'selector', { key }], value, checkLabelValue);
  }
  const isExternal = type === 'ExternalName';
  const isHeadless = clusterIP === HEADLESS;
  if (ports.length === 0 && !isHeadless && !isExternal) list.add(required(['spec', 'ports']));
  if (isExternal) {
    if ((externalName ?? '') === '') list.add(required(['spec', 'externalName']));
    else list.check(['spec', 'externalName'], externalName!.replace(/\.$/, ''), checkSubdomain);
    if (clusterIP !== '') {
      list.add(forbidden(['spec', 'clusterIP'], 'may not be set for ExternalName services'));
    }
  }
  if (isHeadless && (type === 'NodePort' || type === 'LoadBalancer')) {
    const rule = `may not be set to 'None' for ${type} services`;
    list.add(invalid(['spec', 'clusterIP'], clusterIP, rule));
  } else if (clusterIP !== '' && !isHeadless && !isIPv4(clusterIP)) {
    list.add(invalid(['spec', 'clusterIP'], clusterIP, 'use an IPv4 address, None, or leave it out'));
  }
  validatePorts(ports, type, list);
}

function validatePorts(
  ports: Draft<readonly ServicePort[]>,
  type: NonNullable<ServiceSpec['type']>,
  list: ProblemList,
): void {
  const names = new Set<string>();
  const numbers = new Set<string>();
  const nodePorts = new Set<string>();
  for (const [index, { name = '', port, targetPort, protocol = 'TCP', nodePort }] of entriesOf(ports)) {
    const at = ['spec', 'ports', index];
    if (name === '' && ports.length > 1) list.add(required([...at, 'name']));
    if (name !== '') {
      list.check([...at, 'name'], name, checkLabel);
      if (names.has(name)) list.add(duplicate([...at, 'name'], name));
      names.add(name);
    }
    list.check([...at, 'port'], port, checkPortNumber);
    if (typeof targetPort === 'string') list.check([...at, 'targetPort'], targetPort, checkPortName);
    else if (targetPort !== 0) list.check([...at, 'targetPort'], targetPort, checkPortNumber);
    if (numbers.has(`${protocol} ${port}`)) list.add(duplicate(at, { protocol, port }));
    numbers.add(`${protocol} ${port}`);
    if (nodePort === undefined) continue;
    const atNode = [...at, 'nodePort'];
    if (type !== 'NodePort' && type !== 'LoadBalancer') {
      list.add(forbidden(atNode, `may not be used when \`type\` is '${type}'`));
    } else if (nodePort < NODE_PORTS.first || nodePort > NODE_PORTS.last) {
      const rule = `provided port is not in the valid range, which is ${NODE_PORTS.first}-${NODE_PORTS.last}`;
      list.add(invalid(atNode, nodePort, rule));
    }
    if (nodePorts.has(`${protocol} ${nodePort}`)) list.add(duplicate(atNode, nodePort));
    nodePorts.add(`${protocol} ${nodePort}`);
  }
}
