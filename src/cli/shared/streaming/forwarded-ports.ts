import { type PodObject } from '#kube/columns/kube-object.js';
import { failure } from '../../command-failure.js';

/** A port here and the one of the pod behind it; 0 stands for any free port. */
export interface ForwardedPort {
  readonly local: number;
  readonly remote: number;
}

/** Reads `8080`, `8080:80`, `:80` and `8080:http`, with the names that the pod's containers give their ports. Throws a CommandFailure. */
export function readForwardedPorts(words: readonly string[], pod: PodObject): ForwardedPort[] {
  return words.map((word) => readPort(word, pod));
}

function readPort(word: string, pod: PodObject): ForwardedPort {
  const parts = word.split(':');
  if (parts.length > 2) throw failure(`invalid port format '${word}'`);
  const [first = '', second] = parts;
  const remoteText = second ?? first;
  if (remoteText === '') throw failure('remote port cannot be empty');
  const remote = /^\d+$/.test(remoteText) ? toPort(remoteText, 'remote') : findNamed(remoteText, pod);
  const isUdp = portsOf(pod).filter(({ containerPort }) => containerPort === remote);
  if (isUdp.length > 0 && isUdp.every(({ protocol }) => protocol === 'UDP')) {
    throw failure(`UDP protocol is not supported for ${remoteText}`);
  }
  if (second === undefined) return { local: remote, remote };
  return { local: first === '' ? 0 : toPort(first, 'local'), remote };
}

function toPort(text: string, side: 'local' | 'remote'): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(port) || port > 65_535) {
    throw failure(`error parsing ${side} port '${text}': it is no number from 0 to 65535`);
  }
  if (side === 'remote' && port === 0) throw failure('remote port must be > 0');
  return port;
}

function findNamed(name: string, pod: PodObject): number {
  const found = portsOf(pod).find((port) => port.name === name)?.containerPort;
  if (found !== undefined) return found;
  const { namespace = '', name: podName = '' } = pod.metadata ?? {};
  throw failure(`Pod '${podName}' of namespace '${namespace}' does not have a named port '${name}'`);
}

function portsOf({
  spec = {},
}: PodObject): NonNullable<NonNullable<typeof spec.containers>[number]['ports']> {
  const { containers = [], initContainers = [] } = spec;
  return [...containers, ...initContainers].flatMap(({ ports = [] }) => ports);
}
