import { type NodePod } from '../pod/node-pod.js';

/** What the downward API tells of a pod that does not stand in its manifest. */
export interface DownwardFieldFacts {
  /** Of its sandbox, or of the host for a pod on the host's network; the first is the pod's own. Empty: none yet. */
  readonly podIps: readonly string[];
  /** Of the node, the first is its own. Empty where the node has none. */
  readonly hostIps: readonly string[];
  readonly nodeName: string;
  /** The pod's own. */
  readonly serviceAccountName: string;
}

const SUBSCRIPT = /^metadata\.(labels|annotations)\['([^]*)'\]$/;

/** What Go's %q has short words for. */
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};
/** Go's IsPrint: letters, marks, numbers, punctuation, symbols, and of spaces the plain one. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
const LONE_SURROGATE = /^[\ud800-\udfff]$/;

/**
 * The value of a field of a pod, as containers get it in a variable or a file. Pure.
 *
 * A label or annotation that the pod does not have is the empty string, as in Kubernetes. Throws RangeError for a path
 * that the downward API does not have; manifests are checked for it.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
 */
export function fieldValue(
  { metadata, spec }: NodePod,
  fieldPath: string,
  facts: DownwardFieldFacts,
): string {
  const [, map, key] = SUBSCRIPT.exec(fieldPath) ?? [];
  if (key !== undefined) return findOwn(metadata[map as 'labels' | 'annotations'], key) ?? '';
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return formatMap(metadata.labels ?? {});
    case 'metadata.annotations':
      return formatMap(metadata.annotations ?? {});
    case 'spec.nodeName':
      return spec.nodeName ?? facts.nodeName;
    case 'spec.serviceAccountName':
      return facts.serviceAccountName;
    case 'status.hostIP':
      return facts.hostIps[0] ?? '';
    case 'status.hostIPs':
      return facts.hostIps.join(',');
    case 'status.podIP':
      return facts.podIps[0] ?? '';
    case 'status.podIPs':
      return facts.podIps.join(',');
    default:
      throw new RangeError(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** A line `key="value"` for each entry, sorted by key, without an end of line behind the last. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${quote(map[key]!)}`)
    .join('\n');
}

/** As Go's %q does. */
function quote(text: string): string {
  return `"${Array.from(text, escape).join('')}"`;
}

function escape(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  // No UTF-8 can hold it; Go reads the replacement character in its place.
  if (LONE_SURROGATE.test(character)) return '\ufffd';
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0)!;
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

function findOwn(map: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
