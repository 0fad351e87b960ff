/**
 * Runs the pods of a Job until enough have succeeded, or too many have failed.
 *
 * ```
 *   running ── enough succeeded ──────────► ending ── its last pods have ended ──► Complete
 *      ▲ │ └── too many failed, too late ─► ending ── its last pods have ended ──► Failed
 *      │ ▼                                                                            │
 *   suspended                                                     ttlSecondsAfterFinished ─► expired
 * ```
 *
 * Each pod is in the record before it runs. How it ended is written there once, before anything follows from
 * it, and counts are computed from that: an agent that is killed at any point runs nothing twice, and counts
 * nothing twice.
 *
 * @module
 */
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { type Job, type JobSpec, type PodFailureRule } from '#kube/workloads/workload.js';
import { failedIndexesOf, failuresByIndex, matchSuccessPolicy } from './job-indexes.js';
import { type ActivePod, addPod, deletePod, type Reconciling, settlePods } from './reconciling.js';
import { type PodEntry, type WorkloadCondition, type WorkloadRecord } from './workload-record.js';

const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 600_000;

/** How many pods of a Job ended, and how. */
export interface JobCounts {
  readonly succeeded: number;
  readonly failed: number;
  /** Indexes of an indexed Job that are done, in order. */
  readonly indexes: readonly number[];
  /** Those that have failed, in order; undefined where failures count for the whole Job. */
  readonly failedIndexes: readonly number[] | undefined;
}

/** Pure. */
export function countPods(record: WorkloadRecord): JobCounts {
  const { spec } = record.object as Job;
  const isIndexed = spec.completionMode === 'Indexed';
  const done = record.pods.filter(({ end }) => end === 'Succeeded');
  const indexes = [...new Set(done.map(({ index }) => index ?? 0))].sort((one, other) => one - other);
  const failed = record.pods.filter(({ end, isIgnored }) => end === 'Failed' && isIgnored !== true).length;
  return {
    ...{ succeeded: isIndexed ? indexes.length : done.length, failed, indexes: isIndexed ? indexes : [] },
    failedIndexes: failedIndexesOf(record.pods, spec),
  };
}

/** Whether nothing is left to run. */
export function isFinished({ progress }: WorkloadRecord): boolean {
  return (progress.conditions ?? []).some(
    ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
  );
}

/** How a Job ended; `none` while it has not. */
export interface JobEnd {
  /** `namespace/name`. */
  readonly name: string;
  readonly end: 'none' | 'good' | { readonly why: string };
}

/** Pure. A CronJob has no end. */
export function toJobEnd({ object, progress }: WorkloadRecord): JobEnd {
  const name = `${object.metadata.namespace}/${object.metadata.name}`;
  const last = (progress.conditions ?? []).find(({ type }) => type === 'Complete' || type === 'Failed');
  if (object.kind !== 'Job' || last === undefined) return { name, end: 'none' };
  return { name, end: last.type === 'Complete' ? 'good' : { why: `${last.reason}: ${last.message}` } };
}

/** How many must succeed, and how many run at a time; without a number any success ends the Job. */
function sizeOf({ parallelism, completions }: JobSpec): {
  readonly parallelism: number;
  readonly completions: number | undefined;
} {
  const both = parallelism === undefined && completions === undefined;
  return { parallelism: parallelism ?? 1, completions: both ? 1 : completions };
}

/** Changes the record. */
export function reconcileJob(record: WorkloadRecord, work: Reconciling): void {
  const { progress } = record;
  const { spec } = applyWorkloadDefaults(record.object as Job);
  if (progress.isExpired === true) {
    record.pods = [];
    return;
  }
  const active = settleJobPods(record, spec, work);
  if (isFinished(record)) {
    expire(record, spec, work);
    return;
  }
  if (spec.suspend === true && progress.ending === undefined) {
    suspend(record, active, work);
    return;
  }
  if (progress.isSuspended === true) resume(record, work);
  progress.startedAtMs ??= work.nowMs;
  progress.ending ??= findEnd(record, spec, active, work);
  if (progress.ending !== undefined) {
    end(record, progress.ending, active, work);
    return;
  }
  managePods(record, spec, active, work);
}

/** Writes down how pods ended; returns those that still run. */
function settleJobPods(record: WorkloadRecord, spec: JobSpec, work: Reconciling): ActivePod[] {
  const before = record.pods;
  const active = settlePods(record, work).filter(({ entry }) => entry.end === undefined);
  // A pod that was taken away before its end did not succeed. Its entry stays, as it counts.
  record.pods = before;
  for (const entry of record.pods) {
    if (entry.isGone === true) continue;
    const progress = work.progressOf(entry);
    const isLeaving = entry.deletedAtMs !== undefined || progress.isStopped;
    if (entry.end === undefined && progress.end !== undefined) {
      entry.end = progress.end;
      entry.endedAtMs = work.nowMs;
      if (entry.end === 'Failed') applyFailureRules(record, spec, { entry, progress }, work);
    }
    if (!isLeaving || !progress.isGone) continue;
    entry.isGone = true;
    if (entry.end !== undefined) continue;
    entry.end = 'Failed';
    entry.endedAtMs = work.nowMs;
    // What the Job itself took away did not fail, unless the Job has failed with it.
    const { ending } = record.progress;
    const failedAtMs = ending?.type === 'Failed' ? ending.atMs : Infinity;
    if (entry.deletedAtMs !== undefined && entry.deletedAtMs < failedAtMs) entry.isIgnored = true;
  }
  return active.filter(({ entry }) => entry.end === undefined);
}

function applyFailureRules(record: WorkloadRecord, spec: JobSpec, pod: ActivePod, work: Reconciling): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  for (const [index, rule] of rules.entries()) {
    const why = matchRule(rule, pod, `${record.object.metadata.namespace}/${pod.entry.name}`);
    if (why === undefined) continue;
    if (rule.action === 'Ignore') pod.entry.isIgnored = true;
    if (rule.action === 'FailIndex') pod.entry.failsIndex = true;
    if (rule.action === 'FailJob') {
      const message = `${why} matching FailJob rule at index ${index}`;
      record.progress.ending ??= failed('PodFailurePolicy', message, work);
    }
    return;
  }
}

function matchRule(
  { onExitCodes, onPodConditions = [] }: PodFailureRule,
  { progress }: ActivePod,
  podName: string,
): string | undefined {
  if (onExitCodes !== undefined) {
    const { containerName, operator, values } = onExitCodes;
    for (const [name, code] of Object.entries(progress.exitCodes)) {
      if (code === 0 || (containerName !== undefined && containerName !== name)) continue;
      if (values.includes(code) === (operator === 'In'))
        return `Container ${name} for pod ${podName} failed with exit code ${code}`;
    }
    return undefined;
  }
  const found = onPodConditions.find(
    ({ type, status = 'True' }) => (progress.conditions[type] ?? 'False') === status,
  );
  return found === undefined ? undefined : `Pod ${podName} has condition ${found.type}`;
}

function findEnd(
  record: WorkloadRecord,
  spec: JobSpec,
  active: readonly ActivePod[],
  work: Reconciling,
): WorkloadCondition | undefined {
  const { succeeded, failed: count, indexes, failedIndexes = [] } = countPods(record);
  const { completions } = sizeOf(spec);
  const { backoffLimit = 6, activeDeadlineSeconds, maxFailedIndexes = Infinity } = spec;
  const restarts = active.reduce((sum, { progress }) => sum + progress.restarts, 0);
  const isRestarting = spec.template.spec.restartPolicy === 'OnFailure';
  const isPastRestarts = backoffLimit === 0 ? restarts > 0 : restarts >= backoffLimit;
  if (count > backoffLimit || (isRestarting && isPastRestarts)) {
    return failed('BackoffLimitExceeded', 'Job has reached the specified backoff limit', work);
  }
  if (activeDeadlineSeconds !== undefined) {
    const dueMs = record.progress.startedAtMs! + activeDeadlineSeconds * 1_000;
    if (work.nowMs >= dueMs) {
      return failed('DeadlineExceeded', 'Job was active longer than specified deadline', work);
    }
    work.callAt(dueMs);
  }
  if (failedIndexes.length > maxFailedIndexes) {
    const message = 'Job has exceeded the specified maximal number of failed indexes';
    return failed('MaxFailedIndexesExceeded', message, work);
  }
  if (failedIndexes.length > 0 && failedIndexes.length + succeeded >= completions!) {
    return failed('FailedIndexes', 'Job has failed indexes', work);
  }
  // The object's own policy is the same one at each reconciliation.
  const { successPolicy } = (record.object as Job).spec;
  const enough = matchSuccessPolicy({ successPolicy, completions }, indexes);
  if (enough !== undefined) return condition('Complete', 'SuccessPolicy', enough, work);
  const isDone = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  if (!isDone) return undefined;
  const message = 'Reached expected number of succeeded pods';
  return condition('Complete', 'CompletionsReached', message, work);
}

/** Ends what still runs, and is finished once nothing does. */
function end(
  record: WorkloadRecord,
  ending: WorkloadCondition,
  active: readonly ActivePod[],
  work: Reconciling,
): void {
  for (const { entry } of active) deletePod(record, entry, work);
  const isEnding = record.pods.some((entry) => entry.end === undefined);
  if (isEnding) return;
  const { progress } = record;
  progress.conditions = [...(progress.conditions ?? []), { ...ending, atMs: work.nowMs }];
  if (ending.type === 'Complete') {
    progress.completedAtMs = work.nowMs;
    work.emit(record, { type: 'Normal', reason: 'Completed', message: 'Job completed' });
  } else {
    work.emit(record, { type: 'Warning', reason: ending.reason, message: ending.message });
  }
}

function expire(record: WorkloadRecord, spec: JobSpec, work: Reconciling): void {
  const { ttlSecondsAfterFinished: seconds } = spec;
  if (seconds === undefined) return;
  const dueMs = finishedAtMs(record)! + seconds * 1_000;
  if (work.nowMs < dueMs) {
    work.callAt(dueMs);
    return;
  }
  record.progress.isExpired = true;
  record.pods = [];
}

/** When the Job finished; undefined while it has not. */
export function finishedAtMs({ progress }: WorkloadRecord): number | undefined {
  return (progress.conditions ?? []).find(({ type }) => type === 'Complete' || type === 'Failed')?.atMs;
}

function suspend(record: WorkloadRecord, active: readonly ActivePod[], work: Reconciling): void {
  for (const { entry } of active) deletePod(record, entry, work);
  const { progress } = record;
  if (progress.isSuspended === true) return;
  progress.isSuspended = true;
  delete progress.startedAtMs;
  progress.conditions = [condition('Suspended', 'JobSuspended', 'Job suspended', work)];
  work.emit(record, { type: 'Normal', reason: 'Suspended', message: 'Job suspended' });
}

function resume(record: WorkloadRecord, work: Reconciling): void {
  const { progress } = record;
  delete progress.isSuspended;
  const resumed = condition('Suspended', 'JobResumed', 'Job resumed', work);
  progress.conditions = [{ ...resumed, status: 'False' }];
  work.emit(record, { type: 'Normal', reason: 'Resumed', message: 'Job resumed' });
}

function managePods(
  record: WorkloadRecord,
  spec: JobSpec,
  active: readonly ActivePod[],
  work: Reconciling,
): void {
  const { parallelism, completions } = sizeOf(spec);
  const { succeeded } = countPods(record);
  const left = completions === undefined ? parallelism : completions - succeeded;
  // Without a number of completions, the first success says that there is no more work to begin.
  const wanted =
    completions === undefined && succeeded > 0 ? active.length : Math.max(0, Math.min(parallelism, left));
  const surplus = [...active].sort((one, other) => one.entry.createdAtMs - other.entry.createdAtMs);
  for (const { entry } of surplus.slice(wanted)) deletePod(record, entry, work);
  const leaving = record.pods.filter(({ end: ended }) => ended === undefined).length - active.length;
  // With rules for failures, a pod that is ending may turn out to have failed.
  const waits = (spec.podReplacementPolicy ?? defaultReplacement(spec)) === 'Failed';
  const missing = wanted - active.length - (waits ? leaving : 0);
  if (missing <= 0) return;
  const dueMs = spec.backoffLimitPerIndex === undefined ? nextStartMs(record) : 0;
  if (work.nowMs < dueMs) {
    work.callAt(dueMs);
    return;
  }
  if (spec.completionMode !== 'Indexed') {
    for (let left = missing; left > 0; left--) addPod(record, spec.template, work);
    return;
  }
  addIndexedPods(record, spec, { missing, waits }, work);
}

/** For the first indexes that need a pod; with limits for each index, one whose back-off is not over holds its place. */
function addIndexedPods(
  record: WorkloadRecord,
  spec: JobSpec,
  { missing, waits }: { readonly missing: number; readonly waits: boolean },
  work: Reconciling,
): void {
  const { backoffLimitPerIndex: limit } = spec;
  const { name } = record.object.metadata;
  const failures = limit === undefined ? undefined : failuresByIndex(record.pods, limit);
  const taken = new Set(
    record.pods
      .filter(
        ({ end: ended, deletedAtMs }) =>
          ended === 'Succeeded' || (ended === undefined && (waits || deletedAtMs === undefined)),
      )
      .map(({ index }) => index),
  );
  let left = missing;
  for (let index = 0; index < spec.completions! && left > 0; index++) {
    const before = failures?.get(index);
    if (taken.has(index) || before?.isFailed === true) continue;
    left--;
    const { counted = 0, ignored = 0, lastEndedAtMs = 0 } = before ?? {};
    const dueMs = before === undefined ? 0 : lastEndedAtMs + delayAfter(counted + ignored);
    if (work.nowMs < dueMs) {
      work.callAt(dueMs);
      continue;
    }
    const own = failures === undefined ? {} : { indexFailures: { counted, ignored } };
    addPod(record, spec.template, work, { base: `${name}-${index}-`, index, ...own });
  }
}

function defaultReplacement({ podFailurePolicy }: JobSpec): 'Failed' | 'TerminatingOrFailed' {
  return podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
}

/** After failures in a row a new pod waits, twice as long each time. */
function nextStartMs({ pods }: WorkloadRecord): number {
  const ends = pods
    .filter(({ endedAtMs, isIgnored }: PodEntry) => endedAtMs !== undefined && isIgnored !== true)
    .sort((one, other) => one.endedAtMs! - other.endedAtMs!);
  let failures = 0;
  for (const { end: ended } of ends.reverse()) {
    if (ended !== 'Failed') break;
    failures++;
  }
  return failures === 0 ? 0 : ends[0]!.endedAtMs! + delayAfter(failures);
}

function delayAfter(failures: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
}

function failed(reason: string, message: string, work: Reconciling): WorkloadCondition {
  return condition('Failed', reason, message, work);
}

function condition(type: string, reason: string, message: string, work: Reconciling): WorkloadCondition {
  return { type, status: 'True', reason, message, atMs: work.nowMs };
}
