/**
 * What a node forbids to all pods, whoever wrote them, so that a manifest does not mean root on the node.
 *
 * In: a pod, and what the node's options forbid. Out: each field of the pod that violates that. Nothing is
 * forbidden by default, as with a kubelet.
 *
 * Source of what can be forbidden:
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline
 *
 * @module
 */
import { posix } from 'node:path';
import { type Container, type LifecycleHandler, type Probe } from '../container/container.js';
import { type FieldPath } from '../fields/field-path.js';
import { type FieldProblem, forbidden } from '../fields/field-problem.js';
import { type Pod } from '../pod/pod.js';

/** The words of `--forbid`. */
export const FORBIDDABLE = [
  ...(['privileged', 'hostPath', 'hostNetwork', 'hostPID', 'hostIPC'] as const),
  ...(['hostPort', 'hostProbes', 'capabilities', 'procMount', 'hostImage'] as const),
] as const;

/** One of {@link FORBIDDABLE}. */
export type Forbiddable = (typeof FORBIDDABLE)[number];

/** A path of the node that pods may mount, with everything below it. */
export interface AllowedHostPath {
  /** Absolute, in its shortest form. */
  readonly path: string;
  readonly readOnly: boolean;
}

/** What a node forbids to pods. */
export interface NodePolicy {
  readonly forbid: ReadonlySet<Forbiddable>;
  /**
   * The only paths that pods may mount, even if hostPath is forbidden; undefined allows all that is not
   * forbidden.
   */
  readonly allowedHostPaths: readonly AllowedHostPath[] | undefined;
}

/** The reason in the status of a pod that a node's policy forbids. */
export const POD_FORBIDDEN = 'PodForbidden';

/**
 * The capabilities that every runtime grants by default.
 *
 * MKNOD is not among them although the standard's baseline allows it: the embedded runtime does not grant it,
 * as it has no device rules to limit it.
 */
const USUAL_CAPABILITIES = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];

/** The image of the embedded runtime that is the node's own files, by name and by id. */
const HOST_IMAGE_NAME = 'podloop.local/host';
const HOST_IMAGE_ID = '0325edd21fd19510547d7104585e36315e01a155d3944eaccee9ddaf32dde12e';

/** Parses `/var/log` or `/var/log:ro`; throws an error that says what would be right. */
export function parseAllowedHostPath(text: string): AllowedHostPath {
  const [, path = '', mode] = /^(.*?)(:ro)?$/s.exec(text)!;
  const isFine = path.startsWith('/') && !path.includes(':') && !path.split('/').includes('..');
  if (!isFine)
    throw new Error(`${JSON.stringify(text)} is not an absolute path, such as /var/log or /var/log:ro`);
  return { path: shorten(path), readOnly: mode !== undefined };
}

/** Every field of the pod that requests something forbidden on this node, in the pod's order. Pure. */
export function findForbidden(pod: Pod, policy: NodePolicy): FieldProblem[] {
  const { forbid, allowedHostPaths } = policy;
  // Most nodes forbid nothing, and each pod is checked again and again.
  if (forbid.size === 0 && allowedHostPaths === undefined) return [];
  const { spec } = pod;
  const problems: FieldProblem[] = [];
  const refuse = (word: Forbiddable, path: FieldPath): void => {
    problems.push(forbidden(path, `this node runs with --forbid=${word}`));
  };
  for (const word of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
    if (spec[word] === true && forbid.has(word)) refuse(word, ['spec', word]);
  }
  problems.push(...findForbiddenPaths(pod, policy));
  for (const [container, path] of containersOf(pod)) {
    const { securityContext = {}, ports = [] } = container;
    const at = [...path, 'securityContext'];
    if (forbid.has('hostImage') && isHostImage(container.image)) refuse('hostImage', [...path, 'image']);
    if (securityContext.privileged === true && forbid.has('privileged')) {
      refuse('privileged', [...at, 'privileged']);
    }
    if (securityContext.procMount === 'Unmasked' && forbid.has('procMount')) {
      refuse('procMount', [...at, 'procMount']);
    }
    for (const [index, name] of (securityContext.capabilities?.add ?? []).entries()) {
      const isUsual = USUAL_CAPABILITIES.includes(name.toUpperCase().replace(/^CAP_/, ''));
      if (!isUsual && forbid.has('capabilities')) {
        refuse('capabilities', [...at, 'capabilities', 'add', index]);
      }
    }
    if (forbid.has('hostProbes')) {
      for (const place of hostsAsked(container)) refuse('hostProbes', [...path, ...place]);
    }
    for (const [index, { hostPort = 0 }] of ports.entries()) {
      if (hostPort !== 0 && forbid.has('hostPort')) refuse('hostPort', [...path, 'ports', index, 'hostPort']);
    }
  }
  return problems;
}

/**
 * The allowed path that counts for a path: the nearest one that equals or literally contains it. Pure.
 *
 * Below a path that pods may write to it is that one: what lies there may be a link that a pod has made, and
 * must not become the beginning of a path.
 */
export function findAllowedHostPath(
  path: string,
  allowed: readonly AllowedHostPath[],
): AllowedHostPath | undefined {
  if (path.split('/').includes('..')) return undefined;
  const short = shorten(path);
  const above = allowed
    .filter((each) => isSameOrBelow(short, each.path))
    .sort((one, other) => one.path.length - other.path.length);
  return above.find(({ readOnly }) => !readOnly) ?? above.at(-1);
}

/** The first pair of allowed paths of which one undoes the other, as words; undefined if there is none. Pure. */
export function findHostPathConflict(allowed: readonly AllowedHostPath[]): string | undefined {
  for (const each of allowed.filter(({ readOnly }) => readOnly)) {
    const above = allowed.find(({ path, readOnly }) => !readOnly && isSameOrBelow(each.path, path));
    if (above === undefined) continue;
    const text = formatAllowedHostPath(each);
    if (above.path === each.path) return `${above.path} is there with and without :ro`;
    return `${text} cannot be kept read-only, as pods may write to all of ${above.path}; append :ro to that, or leave ${text} out`;
  }
  return undefined;
}

function findForbiddenPaths(pod: Pod, { forbid, allowedHostPaths }: NodePolicy): FieldProblem[] {
  if (allowedHostPaths === undefined && !forbid.has('hostPath')) return [];
  const problems: FieldProblem[] = [];
  const readOnly = new Set<string>();
  for (const [index, { name, hostPath }] of (pod.spec.volumes ?? []).entries()) {
    if (hostPath === undefined) continue;
    const at = ['spec', 'volumes', index, 'hostPath'];
    if (allowedHostPaths === undefined) {
      problems.push(forbidden(at, 'this node runs with --forbid=hostPath'));
      continue;
    }
    const found = findAllowedHostPath(hostPath.path, allowedHostPaths);
    if (found?.readOnly === true) readOnly.add(name);
    if (found !== undefined) continue;
    const list = allowedHostPaths.map(formatAllowedHostPath).join(',');
    const why = `${JSON.stringify(hostPath.path)} is not below a path of --allowed-host-paths=${list}`;
    problems.push(forbidden([...at, 'path'], why));
  }
  for (const [{ volumeMounts = [] }, path] of containersOf(pod)) {
    for (const [index, mount] of volumeMounts.entries()) {
      if (!readOnly.has(mount.name) || mount.readOnly === true) continue;
      const why = `--allowed-host-paths lets volume ${JSON.stringify(mount.name)} be mounted with readOnly: true only`;
      problems.push(forbidden([...path, 'volumeMounts', index, 'readOnly'], why));
    }
  }
  return problems;
}

function isSameOrBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(above === '/' ? '/' : `${above}/`);
}

/** The path in the notation of the option. */
function formatAllowedHostPath({ path, readOnly }: AllowedHostPath): string {
  return readOnly ? `${path}:ro` : path;
}

/**
 * The fields where a probe or hook of the container names a host; without a host it goes to the pod itself.
 */
function hostsAsked({ livenessProbe, readinessProbe, startupProbe, lifecycle = {} }: Container): FieldPath[] {
  const asking: [FieldPath, Probe | LifecycleHandler | undefined][] = [
    ...Object.entries({ livenessProbe, readinessProbe, startupProbe }).map(
      ([field, probe]): [FieldPath, Probe | undefined] => [[field], probe],
    ),
    [['lifecycle', 'postStart'], lifecycle.postStart],
    [['lifecycle', 'preStop'], lifecycle.preStop],
  ];
  return asking.flatMap(([path, handler]) =>
    (['httpGet', 'tcpSocket'] as const)
      .filter((action) => (handler?.[action]?.host ?? '') !== '')
      .map((action) => [...path, action, 'host']),
  );
}

function isHostImage(image: string): boolean {
  const [name = '', digest = ''] = image.split('@');
  return name.replace(/:[^:/]*$/, '') === HOST_IMAGE_NAME || `${name} ${digest}`.includes(HOST_IMAGE_ID);
}

function containersOf({ spec }: Pod): [Container, FieldPath][] {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  const lists: Record<string, readonly Container[]> = { initContainers, containers, ephemeralContainers };
  return Object.entries(lists).flatMap(([list, members]) =>
    members.map((container, index): [Container, FieldPath] => [container, ['spec', list, index]]),
  );
}

/** `//var/log/./` is `/var/log`. */
function shorten(path: string): string {
  const short = posix.normalize(path);
  // Two leading slashes are one for Linux, but two for Node.
  return short === '/' ? short : short.replace(/^\/+/, '/').replace(/\/$/, '');
}
