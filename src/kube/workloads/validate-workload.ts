/**
 * Kubernetes' rules for the fields of workloads beyond their types, those of their pod templates aside.
 *
 * In: the readable parts of an object. Out: every problem, with its path.
 *
 * @module
 */
import { messageOf } from '#base/errors/errors.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import {
  duplicate,
  type FieldProblem,
  forbidden,
  invalid,
  required,
  unsupportedValue,
} from '../fields/field-problem.js';
import { getQuantity } from '../fields/quantity.js';
import { checkLabel, checkLabelValue, checkQualifiedName, checkSubdomain } from '../validation/name-rules.js';
import { inRange, ProblemList } from '../validation/problem-list.js';
import { validateMetadata } from '../validation/validate-metadata.js';
import { isTimeZone, parseCronSchedule } from './cron-schedule.js';
import { matchesPodSelector } from './pod-selector.js';
import { validateJob } from './validate-job.js';
import { validateService } from './validate-service.js';
import {
  type ClaimSpec,
  type CronJob,
  type DaemonSet,
  type Deployment,
  type IntOrPercent,
  type LabelSelector,
  type StatefulSet,
  type Workload,
} from './workload.js';

/** A CronJob's name has room behind it for the time of each Job. */
const MAX_CRON_NAME = 52;
const ACCESS_MODES = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'];

/** All problems of an object, or of the readable parts of one. */
export function validateWorkload(workload: Draft<Workload>): FieldProblem[] {
  const list = new ProblemList();
  const { metadata, kind } = workload;
  if (metadata !== undefined) validateMetadata(metadata, ['metadata'], list);
  const spec = (workload as { readonly spec?: unknown }).spec;
  if (typeof spec !== 'object' || spec === null) return list.problems;
  const name = metadata?.name;
  switch (kind) {
    case 'Deployment':
      validateDeployment(spec, list);
      break;
    case 'ReplicaSet':
    case 'ReplicationController':
      validateReplicas(spec, list);
      break;
    case 'StatefulSet':
      if (name !== undefined) list.check(['metadata', 'name'], name, checkLabel);
      validateStatefulSet(spec, list);
      break;
    case 'DaemonSet':
      validateDaemonSet(spec, list);
      break;
    case 'Job':
      validateJob(spec, ['spec'], list);
      break;
    case 'CronJob':
      if (name !== undefined && name.length > MAX_CRON_NAME) {
        list.add(invalid(['metadata', 'name'], name, `must be no more than ${MAX_CRON_NAME} characters`));
      }
      validateCronJob(spec, list);
      break;
    case 'PersistentVolumeClaim':
      validateClaim(spec, ['spec'], list);
      break;
    case 'Service':
      validateService(name, spec, list);
      break;
    default:
  }
  return list.problems;
}

/** The selector against the labels of the template, once both could be read. */
export function validateSelector(
  kind: Workload['kind'],
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>>,
): FieldProblem[] {
  const list = new ProblemList();
  const path = ['spec', 'selector'];
  if (selector === undefined) return [];
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
    list.add(invalid(path, selector, `empty selector is invalid for ${kind.toLowerCase()}`));
    return list.problems;
  }
  for (const [key, value] of Object.entries(matchLabels)) {
    list.check([...path, 'matchLabels', { key }], key, checkQualifiedName);
    list.check([...path, 'matchLabels', { key }], value, checkLabelValue);
  }
  for (const [index, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = [...path, 'matchExpressions', index];
    list.check([...at, 'key'], key, checkQualifiedName);
    const wantsValues = operator === 'In' || operator === 'NotIn';
    if (wantsValues && values.length === 0)
      list.add(required([...at, 'values'], 'must be specified when `operator` is "In" or "NotIn"'));
    const wantsNone = operator === 'Exists' || operator === 'DoesNotExist';
    if (wantsNone && values.length > 0)
      list.add(
        forbidden([...at, 'values'], 'may not be specified when `operator` is "Exists" or "DoesNotExist"'),
      );
  }
  if (list.problems.length === 0 && !matchesPodSelector(selector, labels)) {
    const rule = '`selector` does not match template `labels`';
    list.add(invalid(['spec', 'template', 'metadata', 'labels'], labels, rule));
  }
  return list.problems;
}

/** What pods of a kind may ask for when they end. */
export function validateTemplateEnds(
  kind: Workload['kind'],
  spec: Draft<{ restartPolicy: string; activeDeadlineSeconds: number }>,
  path: FieldPath,
  hasFailurePolicy: boolean,
): FieldProblem[] {
  const { restartPolicy = 'Always', activeDeadlineSeconds } = spec;
  const at = [...path, 'spec', 'restartPolicy'];
  if (kind === 'Job' || kind === 'CronJob') {
    if (restartPolicy === 'Always') return [required(at, 'valid values: "OnFailure", "Never"')];
    return hasFailurePolicy && restartPolicy !== 'Never'
      ? [invalid(at, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified')]
      : [];
  }
  const problems: FieldProblem[] = [];
  if (restartPolicy !== 'Always') problems.push(unsupportedValue(at, restartPolicy, ['Always']));
  if (activeDeadlineSeconds !== undefined) {
    const why = `activeDeadlineSeconds in ${kind === 'Deployment' ? 'ReplicaSet' : kind} is not Supported`;
    problems.push(forbidden([...path, 'spec', 'activeDeadlineSeconds'], why));
  }
  return problems;
}

function validateReplicas(spec: Draft<Deployment['spec']>, list: ProblemList): void {
  for (const name of ['replicas', 'minReadySeconds', 'revisionHistoryLimit'] as const) {
    list.check(['spec', name], spec[name], inRange(0));
  }
}

function validateDeployment(spec: Draft<Deployment['spec']>, list: ProblemList): void {
  validateReplicas(spec, list);
  const { strategy } = spec;
  const path = ['spec', 'strategy', 'rollingUpdate'];
  if (strategy?.type === 'Recreate') {
    const why = "may not be specified when strategy `type` is 'Recreate'";
    if (strategy.rollingUpdate !== undefined) list.add(forbidden(path, why));
    return;
  }
  const { maxUnavailable = '25%', maxSurge = '25%' } = strategy?.rollingUpdate ?? {};
  validateShares({ maxUnavailable, maxSurge }, path, list);
  if (isZero(maxUnavailable) && isZero(maxSurge)) {
    list.add(invalid([...path, 'maxUnavailable'], maxUnavailable, 'may not be 0 when `maxSurge` is 0'));
  }
}

function validateStatefulSet(spec: Draft<StatefulSet['spec']>, list: ProblemList): void {
  const { replicas, minReadySeconds, ordinals, serviceName, updateStrategy, volumeClaimTemplates } = spec;
  list.check(['spec', 'replicas'], replicas, inRange(0));
  list.check(['spec', 'minReadySeconds'], minReadySeconds, inRange(0));
  list.check(['spec', 'ordinals', 'start'], ordinals?.start, inRange(0));
  list.check(['spec', 'serviceName'], serviceName, checkLabel);
  const rolling = updateStrategy?.rollingUpdate;
  const path = ['spec', 'updateStrategy', 'rollingUpdate'];
  if (updateStrategy?.type === 'OnDelete' && rolling !== undefined) {
    list.add(invalid(path, rolling, 'only allowed for updateStrategy `RollingUpdate`'));
  }
  list.check([...path, 'partition'], rolling?.partition, inRange(0));
  const most = rolling?.maxUnavailable;
  if (most !== undefined) {
    validateShares({ maxUnavailable: most }, path, list);
    if (isZero(most)) list.add(invalid([...path, 'maxUnavailable'], most, 'cannot be 0'));
  }
  const names = new Set<string>();
  for (const [index, claim] of entriesOf(volumeClaimTemplates)) {
    const { metadata, spec: claimSpec } = claim;
    const at = ['spec', 'volumeClaimTemplates', index];
    const { name } = metadata ?? {};
    list.check([...at, 'metadata', 'name'], name, checkLabel);
    if (name !== undefined && names.has(name)) list.add(duplicate([...at, 'metadata', 'name'], name));
    if (name !== undefined) names.add(name);
    if (claimSpec !== undefined) validateClaim(claimSpec, [...at, 'spec'], list);
  }
}

function validateDaemonSet(spec: Draft<DaemonSet['spec']>, list: ProblemList): void {
  list.check(['spec', 'minReadySeconds'], spec.minReadySeconds, inRange(0));
  const { type, rollingUpdate } = spec.updateStrategy ?? {};
  if (type === 'OnDelete' || rollingUpdate === undefined) return;
  const path = ['spec', 'updateStrategy', 'rollingUpdate'];
  const { maxUnavailable = 1, maxSurge = 0 } = rollingUpdate;
  validateShares({ maxUnavailable, maxSurge }, path, list);
  // Of several nodes it would be a choice; here one of the two has to happen.
  const hasUnavailable = !isZero(maxUnavailable);
  const hasSurge = !isZero(maxSurge);
  if (hasUnavailable && hasSurge) {
    list.add(invalid([...path, 'maxSurge'], maxSurge, 'may not be set when maxUnavailable is non-zero'));
  }
  if (!hasUnavailable && !hasSurge) {
    list.add(required([...path, 'maxUnavailable'], 'cannot be 0 when maxSurge is 0'));
  }
}

/** Numbers from 0, or percentages of at most 100 (of a surge: any). */
function validateShares(
  shares: Readonly<Record<string, IntOrPercent>>,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [name, share] of Object.entries(shares)) {
    const at = [...path, name];
    if (typeof share === 'number') list.check(at, share, inRange(0));
    else if (!/^\d+%$/.test(share)) {
      list.add(
        invalid(
          at,
          share,
          "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', or '93%')",
        ),
      );
    } else if (name === 'maxUnavailable' && Number.parseInt(share) > 100) {
      list.add(invalid(at, share, 'must not be greater than 100%'));
    }
  }
}

function isZero(share: IntOrPercent): boolean {
  return share === 0 || (typeof share === 'string' && /^0+%$/.test(share));
}

function validateCronJob(spec: Draft<CronJob['spec']>, list: ProblemList): void {
  const { schedule, timeZone, jobTemplate } = spec;
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    list.add(invalid(['spec', 'timeZone'], timeZone, `unknown time zone ${timeZone}`));
  }
  if (schedule !== undefined) {
    list.check(['spec', 'schedule'], schedule, (text) => {
      try {
        parseCronSchedule(text);
        return undefined;
      } catch (error) {
        return messageOf(error);
      }
    });
  }
  const numbers = [
    ...(['startingDeadlineSeconds', 'successfulJobsHistoryLimit'] as const),
    'failedJobsHistoryLimit',
  ] as const;
  for (const name of numbers) list.check(['spec', name], spec[name], inRange(0));
  if (jobTemplate?.spec !== undefined) validateJob(jobTemplate.spec, ['spec', 'jobTemplate', 'spec'], list);
}

function validateClaim(spec: Draft<ClaimSpec>, path: FieldPath, list: ProblemList): void {
  const { accessModes = [], resources, storageClassName } = spec;
  const modes = accessModes.filter((mode) => mode !== undefined);
  if (modes.length === 0) {
    list.add(required([...path, 'accessModes'], 'at least 1 access mode is required'));
  }
  for (const [index, mode] of entriesOf(accessModes)) {
    if (!ACCESS_MODES.includes(mode)) {
      list.add(unsupportedValue([...path, 'accessModes', index], mode, ACCESS_MODES));
    }
  }
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    const why = 'may not use ReadWriteOncePod with other access modes';
    list.add(forbidden([...path, 'accessModes'], why));
  }
  if (storageClassName !== undefined && storageClassName !== '') {
    list.check([...path, 'storageClassName'], storageClassName, checkSubdomain);
  }
  const amount = resources?.requests?.['storage'];
  const at = [...path, 'resources', { key: 'storage' }];
  if (amount === undefined) list.add(required(at));
  else if (getQuantity(amount).nanos <= 0n) {
    list.add(invalid(at, amount, 'must be greater than zero'));
  }
}
