import { HOST_IMAGE } from '../harness/cluster-agent.js';

/** Ends at once when it is asked to. */
const SERVE = 'trap "exit 0" TERM; touch /tmp/.ready 2>/dev/null; while :; do sleep 0.3; done';

/** What the pods of a workload are like. */
export interface PodShape {
  /** Shows which version of a workload a pod is of. */
  readonly version?: string;
  readonly command?: readonly string[];
  readonly graceSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Of the pod's spec. */
  readonly more?: object;
}

/** A template of pods for a workload of that name. */
export function podTemplate(app: string, shape: PodShape = {}): object {
  const { version = '1', command = ['sh', '-c', SERVE], graceSeconds = 3, labels = {}, more = {} } = shape;
  const container = {
    ...{ name: 'main', image: HOST_IMAGE, imagePullPolicy: 'IfNotPresent', command },
    env: [{ name: 'VERSION', value: version }],
  };
  return {
    metadata: { labels: { app, version, ...labels } },
    spec: { terminationGracePeriodSeconds: graceSeconds, containers: [container], ...more },
  };
}

/** A Deployment, ReplicaSet, StatefulSet or DaemonSet of such pods. */
export function workload(kind: string, name: string, spec: object, shape?: PodShape): object {
  return {
    ...{ apiVersion: 'apps/v1', kind, metadata: { name } },
    spec: { ...spec, selector: { matchLabels: { app: name } }, template: podTemplate(name, shape) },
  };
}
