import { createHash } from 'node:crypto';
import { saysNothing, type SupportRule } from '../fields/decode-object.js';
import { DEFAULT_NAMESPACE } from '../objects/default-namespace.js';
import { type FieldType } from '../fields/field-facts.js';
import { type FieldProblem, invalid } from '../fields/field-problem.js';
import { type NodePod } from './node-pod.js';
import { type Pod } from './pod.js';
import { applyPodDefaults } from './pod-defaults.js';
import { POD_TABLES } from './pod-fields.js';

/** The source of a static pod and its node. */
export interface StaticPodOrigin {
  /** How the manifest came: `file`, `http`, `stdin`. Part of the identity. */
  readonly source: string;
  readonly nodeName: string;
  /** Which fields get defaults (default: those supported today). */
  readonly isSupported?: SupportRule;
}

/** A pod of this node, made from a manifest. */
export interface StaticPod {
  /** With defaults, and with its name, uid, namespace and node on this node. */
  readonly pod: NodePod;
  /** Hash of the manifest as written: an edit changes it, an update of podloop does not. */
  readonly hash: string;
}

/** The annotations that mark static pods for other programs. */
export const STATIC_POD_ANNOTATIONS = {
  /** How the manifest came. */
  source: 'kubernetes.io/config.source',
  /**
   * The uid, as in a kubelet.
   *
   * It names the pod's cgroups and log folder. Log collectors and metrics read that name here, because a
   * mirror pod on an API server has another uid.
   */
  uid: 'kubernetes.io/config.hash',
  /** Set by podloop: {@link StaticPod.hash}, which shows whether a manifest changed. */
  manifestHash: 'podloop.dev/manifest-hash',
} as const;

/** The source of pods that an API server has bound to the node, named as a kubelet names it. */
export const API_SOURCE = 'api';

/** Whether the pod came from a source without deletions: a file, a URL, standard input. */
export function isStaticPod({ metadata }: Pick<NodePod, 'metadata'>): boolean {
  const source = metadata.annotations?.[STATIC_POD_ANNOTATIONS.source];
  return source !== undefined && source !== API_SOURCE;
}

/** Whether the pod came from an API server: it runs once, and its end is final. */
export function isClusterPod({ metadata }: Pick<NodePod, 'metadata'>): boolean {
  return metadata.annotations?.[STATIC_POD_ANNOTATIONS.source] === API_SOURCE;
}

/**
 * The limit of file systems: Linux' NAME_MAX. Names of pods, namespaces and nodes, and uids, have one byte
 * per character.
 */
const MAX_FILE_NAME_LENGTH = 255;
const UID_LENGTH = 32;

/**
 * Makes the pod of a manifest a pod of this node. Pure.
 *
 * The node's name is appended to its name. Its uid is metadata.uid, or is derived from source, namespace,
 * name and node, so that an edit updates the same pod.
 */
export function toStaticPod(written: Pod, { source, nodeName, isSupported }: StaticPodOrigin): StaticPod {
  const hash = hashPod(written);
  const full = applyPodDefaults(written, isSupported);
  const namespace = written.metadata.namespace ?? DEFAULT_NAMESPACE;
  const name = staticPodName(written.metadata.name, nodeName);
  const uid = written.metadata.uid ?? staticPodUid({ source, namespace, name, nodeName });
  const annotations = {
    ...full.metadata.annotations,
    [STATIC_POD_ANNOTATIONS.source]: source,
    [STATIC_POD_ANNOTATIONS.uid]: uid,
    [STATIC_POD_ANNOTATIONS.manifestHash]: hash,
  };
  const metadata = { ...full.metadata, name, namespace, uid, annotations };
  return { pod: { ...full, metadata, spec: { ...full.spec, nodeName } }, hash };
}

/**
 * Finds problems that the names around the pod's own would cause.
 *
 * The name of its log folder contains all of them, and must not be too long. This leaves less room than
 * Kubernetes' limit of 253 characters for the name with the node's appended.
 */
export function checkStaticPod({ metadata }: Pod, nodeName: string): FieldProblem[] {
  const { name, namespace = DEFAULT_NAMESPACE, uid } = metadata;
  const uidLength = uid?.length ?? UID_LENGTH;
  const room = MAX_FILE_NAME_LENGTH - `${namespace}_${staticPodName('', nodeName)}_`.length - uidLength;
  if (name.length <= room) return [];
  const bound =
    room > 0 ? `must have at most ${room} characters, and has ${name.length}` : 'no name is short enough';
  const rule = `${bound}: the folder of its logs is ${namespace}_NAME-${nodeName.toLowerCase()}_UID, with ${uidLength} characters of uid, and its name has at most ${MAX_FILE_NAME_LENGTH}`;
  return [invalid(['metadata', 'name'], name, rule)];
}

/** The manifest's name with the node's appended, in lower case. */
export function staticPodName(name: string, nodeName: string): string {
  return `${name}-${nodeName.toLowerCase()}`;
}

/** 32 hexadecimal digits, as in a kubelet: the same for the same four words, on every machine. */
export function staticPodUid(identity: {
  readonly source: string;
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
}): string {
  const { source, namespace, name, nodeName } = identity;
  return digest(['podloop static pod', source, namespace, name, nodeName]);
}

/**
 * Hash of everything that was written and has an effect. The order of keys does not matter, that of lists
 * does.
 */
export function hashPod(pod: Pod): string {
  return digest(sorted(pod, { kind: 'object', name: 'Pod' }));
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, UID_LENGTH);
}

function sorted(value: unknown, type: FieldType): unknown {
  if (type.kind === 'list') return (value as unknown[]).map((item): unknown => sorted(item, type.of));
  if (typeof value !== 'object' || value === null) return value;
  const table = type.kind === 'object' ? POD_TABLES[type.name]! : {};
  const entries = Object.entries(value as Record<string, unknown>)
    // A field without effect today must not count as an edit once it becomes supported.
    .filter(([key, item]) => !Object.hasOwn(table, key) || !saysNothing(item, table[key]!))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  // Pairs, not an object, which would put keys that look like numbers first.
  return entries.map(([key, item]) => [
    key,
    Object.hasOwn(table, key) ? sorted(item, table[key]!.type) : item,
  ]);
}
