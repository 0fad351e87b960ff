import { type NodePod } from '../pod/node-pod.js';

/** Facts of the downward API that are not in the pod's manifest. */
export interface DownwardFieldFacts {
  /**
   * Addresses of its sandbox, or of the host for a pod on the host's network, the primary first; empty if
   * there are none yet.
   */
  readonly podIps: readonly string[];
  /** Addresses of the node, the primary first; empty if the node has none. */
  readonly hostIps: readonly string[];
  readonly nodeName: string;
  /** The pod's own service account. */
  readonly serviceAccountName: string;
}

const SUBSCRIPT = /^metadata\.(labels|annotations)\['([^]*)'\]$/;

/** Characters with short escapes in Go's %q. */
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
/** Go's IsPrint: letters, marks, numbers, punctuation, symbols, and the plain space. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;
const LONE_SURROGATE = /^[\ud800-\udfff]$/;

/**
 * The value of a pod's field for a container's variable or file. Pure.
 *
 * A missing label or annotation is the empty string, as in Kubernetes. Throws RangeError for a path that the
 * downward API does not have, which validation of manifests prevents.
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

/** One line `key="value"` per entry, sorted by key, without a line end after the last. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${quote(map[key]!)}`)
    .join('\n');
}

/** Quotes a text like Go's %q. */
function quote(text: string): string {
  return `"${Array.from(text, escape).join('')}"`;
}

function escape(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  // UTF-8 cannot encode it; Go has the replacement character instead.
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
