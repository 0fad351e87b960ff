/**
 * Workloads without a control plane: what makes pods of Deployments, Jobs and the other kinds.
 *
 * @module
 */
export { type JobEnd } from './job.js';
export { type PodProgress, type WorkloadEvent } from './reconciling.js';
export { readWorkloadTrees, UNCONTROLLED_KINDS, WorkloadControllers } from './workload-controllers.js';
export {
  type ControlledKind,
  type ControlledWorkload,
  nameOfWorkload,
  recordsOf,
  type WorkloadRecord,
} from './workload-record.js';
