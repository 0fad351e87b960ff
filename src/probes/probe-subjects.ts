import { type Container } from '../model/container.js';
import { type NodePod } from '../model/node-pod.js';
import { initKindOf, restartRuleOf, runsOnce } from '../model/restart-rule.js';
import { type ProbeType } from './probe-result.js';
import { type ProbeSubject } from './probe-worker.js';

const FIELDS = [
  ['startup', 'startupProbe'],
  ['readiness', 'readinessProbe'],
  ['liveness', 'livenessProbe'],
] as const satisfies readonly (readonly [ProbeType, keyof Container])[];

/** Every probe of a pod, by container and type: of its regular containers and of its sidecars. Pure. */
export function probeSubjects(pod: NodePod): Map<string, ProbeSubject> {
  const { uid, namespace, name } = pod.metadata;
  const sidecars = (pod.spec.initContainers ?? []).filter((each) => initKindOf(each) === 'sidecar');
  const rules = [
    ...sidecars.map((each) => restartRuleOf('sidecar', each, pod.spec)),
    ...pod.spec.containers.map((each) => restartRuleOf('regular', each, pod.spec)),
  ];
  const subjects = new Map<string, ProbeSubject>();
  for (const [index, container] of [...sidecars, ...pod.spec.containers].entries()) {
    for (const [type, field] of FIELDS) {
      const probe = container[field];
      if (probe === undefined) continue;
      subjects.set(probeKey(container.name, type), {
        pod: { uid, namespace, name },
        container,
        type,
        probe,
        neverRestarts: runsOnce(rules[index]!),
      });
    }
  }
  return subjects;
}

/** What names a probe within its pod. */
export function probeKey(containerName: string, type: ProbeType): string {
  return `${containerName}/${type}`;
}
