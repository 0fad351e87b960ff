import { reconcileCronJob } from './cron-job.js';
import { reconcileDaemonSet } from './daemon-set.js';
import { reconcileDeployment } from './deployment.js';
import { reconcileJob } from './job.js';
import { type Reconciling } from './reconciling.js';
import { reconcileReplicaSet } from './replica-set.js';
import { reconcileStatefulSet } from './stateful-set.js';
import { type WorkloadTree } from './workload-record.js';

/** Enough for every step that follows from another one at once; the rest waits for pods. */
const MAX_ROUNDS = 10;

/** Does what is to be done for a workload now, until nothing is left. Changes the tree. */
export function reconcileTree(tree: WorkloadTree, work: Reconciling): void {
  let before: string;
  let rounds = 0;
  do {
    before = JSON.stringify(tree);
    reconcileOnce(tree, work);
    rounds++;
  } while (JSON.stringify(tree) !== before && rounds < MAX_ROUNDS);
}

function reconcileOnce(tree: WorkloadTree, work: Reconciling): void {
  const { root } = tree;
  switch (root.object.kind) {
    case 'Deployment':
      reconcileDeployment(tree, work);
      break;
    case 'ReplicaSet':
    case 'ReplicationController':
      reconcileReplicaSet(root, work);
      break;
    case 'StatefulSet':
      reconcileStatefulSet(root, work);
      break;
    case 'DaemonSet':
      reconcileDaemonSet(root, work);
      break;
    case 'Job':
      reconcileJob(root, work);
      break;
    case 'CronJob':
      reconcileCronJob(tree, work);
      break;
  }
}
