import { type PodSpec } from '../../src/cluster/client/kube-objects.js';
import { BUSYBOX_IMAGE } from '../../test/containerd/harness/image.js';

/** It does not heed SIGTERM: each end takes the whole grace period. */
const SCRIPT = 'while :; do sleep 1000; done';

/** One container on the host's network, with the volume of its service account, as every pod of a cluster has it. */
export function measuredPodSpec(graceSeconds: number): PodSpec {
  return {
    ...{ hostNetwork: true, terminationGracePeriodSeconds: graceSeconds },
    containers: [
      {
        ...{ name: 'main', image: BUSYBOX_IMAGE, imagePullPolicy: 'IfNotPresent' },
        command: ['sh', '-c', SCRIPT],
      },
    ],
  };
}
