import { createHash } from 'node:crypto';
import { hashPod } from '#kube/pod/static-pod.js';
import { type PodTemplate } from '#kube/workloads/workload.js';
import { SAFE_LETTERS } from '#base/text/random-suffix.js';

/** A pod's name is often its host name, too. */
const MAX_GENERATED_LENGTH = 63;

/** A name that begins with `base`, cut to what host names may have. */
export function generateName(base: string, suffix: string): string {
  return `${base.slice(0, MAX_GENERATED_LENGTH - suffix.length)}${suffix}`;
}

/** Identifies a template: the same for the same content, in ten characters of Kubernetes' alphabet. */
export function hashTemplate({ metadata = {}, spec }: PodTemplate): string {
  const hash = hashPod({ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name: 'template' }, spec });
  const bytes = createHash('sha256').update(hash).digest();
  return [...bytes.subarray(0, 10)].map((byte) => SAFE_LETTERS[byte % SAFE_LETTERS.length]!).join('');
}
