import { podPreempted, podRejected } from '#base/channels/admission-channels.js';
import { BoundedValues } from '../registry/bounded-values.js';
import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** More than all reasons, with a few resources of others. */
const MAX_VALUES = 64;

/** Counts rejected pods, and pods that were ended for others. */
export function addAdmissionMetrics(registry: MetricsRegistry): void {
  const rejections = registry.counter({
    name: 'kubelet_admission_rejections_total',
    help: 'Pods that were not let in, by reason.',
    labels: ['reason'],
  });
  const reasons = new BoundedValues(MAX_VALUES);
  registry.listen(podRejected, ({ reason }) => rejections.inc({ reason: reasons.take(reason) }));
  const preemptions = registry.counter({
    name: 'kubelet_preemptions',
    help: 'Pods that were ended so that critical ones could be let in, by what the node was short of.',
    labels: ['preemption_signal'],
  });
  const resources = new BoundedValues(MAX_VALUES);
  registry.listen(podPreempted, ({ resource }) =>
    preemptions.inc({ preemption_signal: resources.take(resource) }),
  );
}
