/**
 * Starts the Jobs of a CronJob at their times.
 *
 * A Job is named after its time, and is on the disk together with that time, so that no time starts two. Of
 * times that were missed, while no agent ran or another Job was in the way, the last one is made up for.
 *
 * @module
 */
import { type CronSchedule, parseCronSchedule } from '#kube/workloads/cron-schedule.js';
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { type CronJob, type Job } from '#kube/workloads/workload.js';
import { finishedAtMs, isFinished, reconcileJob } from './job.js';
import { type Reconciling } from './reconciling.js';
import { type WorkloadRecord, type WorkloadTree } from './workload-record.js';

/** Says on a Job which time it is for. */
const TIME_ANNOTATION = 'batch.kubernetes.io/cronjob-scheduled-timestamp';
/** As in Kubernetes: more of them are not counted, and are worth a warning. */
const MANY_MISSED = 100;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How far back the last time is looked for, in steps: a minute's schedule is not followed through years. */
const WINDOWS_MS = [HOUR_MS, DAY_MS, 31 * DAY_MS, 366 * DAY_MS];

/** Changes the tree. */
export function reconcileCronJob(tree: WorkloadTree, work: Reconciling): void {
  const { root } = tree;
  const before = new Set(tree.owned.filter(isFinished));
  for (const job of tree.owned) reconcileJob(job, work);
  const { metadata, spec } = applyWorkloadDefaults(root.object as CronJob);
  for (const job of tree.owned) {
    if (!isFinished(job) || before.has(job) || isReplaced(job)) continue;
    const type = job.progress.completedAtMs === undefined ? 'Failed' : 'Complete';
    const message = `Saw completed job: ${job.object.metadata.name}, condition: ${type}`;
    work.emit(root, { type: 'Normal', reason: 'SawCompletedJob', message });
    if (type === 'Complete') root.progress.lastSuccessMs = job.progress.completedAtMs!;
  }
  tree.owned = tree.owned.filter(({ progress }) => progress.isExpired !== true);
  dropFinished(tree, spec, work);
  if (spec.suspend === true) return;
  const schedule = parseCronSchedule(spec.schedule, spec.timeZone);
  const dueMs = findDue(root, spec, schedule, work);
  if (dueMs === undefined) return;
  const name = `${metadata.name}-${Math.floor(dueMs / 60_000)}`;
  const active = tree.owned.filter((job) => !isFinished(job) && job.progress.ending === undefined);
  if (active.length > 0 && spec.concurrencyPolicy === 'Forbid') {
    const message = 'Not starting job because prior execution is running and concurrency policy is Forbid';
    work.emit(root, { type: 'Normal', reason: 'JobAlreadyActive', message });
    return;
  }
  if (spec.concurrencyPolicy === 'Replace') for (const job of active) replace(job, root, work);
  root.progress.lastScheduleMs = dueMs;
  if (tree.owned.some(({ object }) => object.metadata.name === name)) return;
  const job = makeJob(root.object as CronJob, name, dueMs, work);
  tree.owned.push(job);
  work.emit(root, { type: 'Normal', reason: 'SuccessfulCreate', message: `Created job ${name}` });
  reconcileJob(job, work);
}

/** Jobs that are being ended for another one. */
const REPLACED = 'Replaced';

function isReplaced({ progress }: WorkloadRecord): boolean {
  return progress.ending?.reason === REPLACED;
}

function replace(job: WorkloadRecord, root: WorkloadRecord, work: Reconciling): void {
  const { name } = job.object.metadata;
  const message = `replaced by the next Job of ${root.object.metadata.name}`;
  job.progress.ending = { type: 'Failed', status: 'True', reason: REPLACED, message, atMs: work.nowMs };
  work.emit(root, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` });
  reconcileJob(job, work);
}

/** The time that is due and was not started yet. */
function findDue(
  root: WorkloadRecord,
  { startingDeadlineSeconds }: CronJob['spec'],
  schedule: CronSchedule,
  work: Reconciling,
): number | undefined {
  const { nowMs } = work;
  let sinceMs = root.progress.lastScheduleMs ?? root.createdAtMs;
  if (startingDeadlineSeconds !== undefined) {
    sinceMs = Math.max(sinceMs, nowMs - startingDeadlineSeconds * 1_000);
  }
  const next = schedule.nextAfter(Math.max(sinceMs, nowMs));
  if (next !== undefined) work.callAt(next);
  for (const windowMs of WINDOWS_MS) {
    const fromMs = Math.max(sinceMs, nowMs - windowMs);
    let lastMs: number | undefined;
    let count = 0;
    for (let at = schedule.nextAfter(fromMs); at !== undefined && at <= nowMs; at = schedule.nextAfter(at)) {
      lastMs = at;
      count++;
    }
    const isWhole = fromMs === sinceMs;
    if (lastMs === undefined && !isWhole) continue;
    const hasMissedMany = lastMs !== undefined && (count > MANY_MISSED || !isWhole);
    if (hasMissedMany && isOver(schedule, sinceMs, nowMs)) {
      const message =
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew';
      work.emit(root, { type: 'Warning', reason: 'TooManyMissedTimes', message });
    }
    return lastMs;
  }
  return undefined;
}

/** Whether more than a hundred times lie between two. */
function isOver(schedule: CronSchedule, fromMs: number, toMs: number): boolean {
  let at: number | undefined = fromMs;
  for (let count = 0; count <= MANY_MISSED; count++) {
    at = schedule.nextAfter(at);
    if (at === undefined || at > toMs) return false;
  }
  return true;
}

function makeJob(cron: CronJob, name: string, dueMs: number, work: Reconciling): WorkloadRecord {
  const { metadata, spec } = cron.spec.jobTemplate;
  const annotations = {
    ...metadata?.annotations,
    [TIME_ANNOTATION]: new Date(dueMs).toISOString().replace('.000', ''),
  };
  const object: Job = {
    ...{ apiVersion: 'batch/v1', kind: 'Job' },
    metadata: {
      ...{ name, namespace: cron.metadata.namespace, annotations },
      ...(metadata?.labels === undefined ? {} : { labels: metadata.labels }),
    },
    spec,
  };
  return {
    ...{ uid: work.newUid(), createdAtMs: work.nowMs, generation: 1, object },
    ...{ revisions: {}, pods: [], progress: {} },
  };
}

/** Of finished Jobs only the newest stay. What was replaced goes at once. */
function dropFinished(tree: WorkloadTree, spec: CronJob['spec'], work: Reconciling): void {
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = spec;
  const finished = tree.owned
    .filter(isFinished)
    .sort((one, other) => finishedAtMs(other)! - finishedAtMs(one)!);
  const isGood = ({ progress }: WorkloadRecord): boolean => progress.completedAtMs !== undefined;
  const spare = [
    ...finished.filter(isGood).slice(successfulJobsHistoryLimit),
    ...finished.filter((job) => !isGood(job) && !isReplaced(job)).slice(failedJobsHistoryLimit),
  ];
  for (const { object } of spare) {
    const message = `Deleted job ${object.metadata.name}`;
    work.emit(tree.root, { type: 'Normal', reason: 'SuccessfulDelete', message });
  }
  tree.owned = tree.owned.filter((job) => !spare.includes(job) && !(isFinished(job) && isReplaced(job)));
}
