import { formatFieldProblem } from '#kube/fields/field-problem.js';
import { readPod, SUPPORTED_FIELDS } from '#kube/pod/read-pod.js';

/** The container of {@link podOf}. */
export const CONTAINER = { name: 'main', image: 'nginx' };
/** What is read of a manifest. */
export type Json = Record<string, unknown>;

/** A Pod with one container. */
export const podOf = (spec: Json = {}, metadata: Json = {}): Json => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', ...metadata } },
  spec: { containers: [CONTAINER], ...spec },
});
/** One whose container has these fields, too. */
export const withContainer = (fields: Json): Json => podOf({ containers: [{ ...CONTAINER, ...fields }] });

/** One with a variable out of a file. */
export const fromFile = (fileKeyRef: Json, volumes: Json[]): Json =>
  podOf({ containers: [{ ...CONTAINER, env: [{ name: 'A', valueFrom: { fileKeyRef } }] }], volumes });

/** The problems of a Pod, each as a line. */
export function problemsOf(value: unknown, rule = SUPPORTED_FIELDS): string[] {
  return readPod(value, rule).problems.map(formatFieldProblem);
}

/** One with a liveness probe. */
export const probe = (fields: Json): Json =>
  withContainer({ livenessProbe: { exec: { command: ['true'] }, ...fields } });
/** One with a volume. */
export const volume = (source: Json): Json => podOf({ volumes: [{ name: 'v', ...source }] });
/** One whose container has these resources. */
export const resources = (fields: Json): Json => withContainer({ resources: fields });
/** Where the container of {@link podOf} is. */
export const at = 'spec.containers[0]';
