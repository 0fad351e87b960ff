import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { restartRuleOf, runsOnce, sidecarsOf } from '#kube/container/restart-rule.js';
import { type ProbeType } from './probe-result.js';
import { type ProbeSubject } from './probe-worker.js';

const FIELDS = [
  ['startup', 'startupProbe'],
  ['readiness', 'readinessProbe'],
  ['liveness', 'livenessProbe'],
] as const satisfies readonly (readonly [ProbeType, keyof Container])[];

/** Every probe of a pod's regular containers and sidecars, by container and type. Pure. */
export function probeSubjects(pod: NodePod): Map<string, ProbeSubject> {
  const { uid, namespace, name } = pod.metadata;
  const probed = [
    ...sidecarsOf(pod.spec).map((container) => ['sidecar', container] as const),
    ...pod.spec.containers.map((container) => ['regular', container] as const),
  ];
  const subjects = new Map<string, ProbeSubject>();
  for (const [kind, container] of probed) {
    for (const [type, field] of FIELDS) {
      const probe = container[field];
      if (probe === undefined) continue;
      subjects.set(probeKey(container.name, type), {
        pod: { uid, namespace, name },
        container,
        type,
        probe,
        neverRestarts: runsOnce(restartRuleOf(kind, container, pod.spec)),
      });
    }
  }
  return subjects;
}

/** The name of a probe within its pod. */
export function probeKey(containerName: string, type: ProbeType): string {
  return `${containerName}/${type}`;
}
