import { messageOf } from '#base/errors/errors.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import {
  duplicate,
  type FieldProblem,
  invalid,
  required,
  unsupportedValue,
} from '../fields/field-problem.js';
import { inRange, type ProblemList } from '../validation/problem-list.js';
import { countIndexes, parseIndexRanges } from './index-ranges.js';
import { type JobSpec } from './workload.js';

/** Kubernetes' limits for Jobs whose pods have an index. */
const MAX_INDEXED_PARALLELISM = 100_000;
const MAX_FAILED_INDEXES = 100_000;
/** Above so many completions, a Job with limits per index has to be modest. */
const MANY_COMPLETIONS = 100_000;
const MAX_OF_MANY = 10_000;
const MAX_EXIT_CODES = 255;
const MAX_FAILURE_RULES = 20;
const MAX_SUCCESS_RULES = 20;
const MAX_SUCCEEDED_INDEXES = 64 * 1024;

/** Validates a Job, or what a CronJob makes Jobs of. */
export function validateJob(spec: Draft<JobSpec>, path: FieldPath, list: ProblemList): void {
  const numbers = [
    ...(['parallelism', 'completions', 'backoffLimit', 'activeDeadlineSeconds'] as const),
    'ttlSecondsAfterFinished',
  ] as const;
  for (const name of numbers) list.check([...path, name], spec[name], inRange(0));
  const { completionMode, completions, parallelism = 1, podFailurePolicy, successPolicy } = spec;
  if (completionMode === 'Indexed') {
    if (completions === undefined) {
      list.add(required([...path, 'completions'], 'when completion mode is Indexed'));
    }
    if (parallelism > MAX_INDEXED_PARALLELISM) {
      const rule = `must be less than or equal to ${MAX_INDEXED_PARALLELISM} when completion mode is Indexed`;
      list.add(invalid([...path, 'parallelism'], parallelism, rule));
    }
  }
  if (podFailurePolicy !== undefined && spec.podReplacementPolicy === 'TerminatingOrFailed') {
    list.add(unsupportedValue([...path, 'podReplacementPolicy'], spec.podReplacementPolicy, ['Failed']));
  }
  validateFailureRules(podFailurePolicy?.rules, [...path, 'podFailurePolicy', 'rules'], list);
  for (const [index, { action }] of entriesOf(podFailurePolicy?.rules)) {
    if (action !== 'FailIndex' || spec.backoffLimitPerIndex !== undefined) continue;
    const at = [...path, 'podFailurePolicy', 'rules', index, 'action'];
    list.add(invalid(at, action, 'requires the backoffLimitPerIndex to be set'));
  }
  validateLimitPerIndex(spec, path, list);
  if (successPolicy === undefined) return;
  if (completionMode === 'Indexed') validateSuccessRules(spec, [...path, 'successPolicy', 'rules'], list);
  else list.add(ofIndexedOnly([...path, 'successPolicy'], {}, path));
}

function ofIndexedOnly(path: FieldPath, value: unknown, spec: FieldPath): FieldProblem {
  const problem = invalid(path, value, 'requires indexed completion mode');
  return { ...problem, dependsOn: [...spec, 'completionMode'] };
}

function validateLimitPerIndex(spec: Draft<JobSpec>, path: FieldPath, list: ProblemList): void {
  const { completions = 0, parallelism = 1, backoffLimitPerIndex: limit, maxFailedIndexes: most } = spec;
  for (const name of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
    list.check([...path, name], spec[name], inRange(0));
    if (spec.completionMode === 'Indexed' || spec[name] === undefined) continue;
    list.add(ofIndexedOnly([...path, name], spec[name], path));
  }
  if (most !== undefined && limit === undefined)
    list.add(required([...path, 'backoffLimitPerIndex'], 'when maxFailedIndexes is specified'));
  if (spec.completionMode !== 'Indexed') return;
  const at = [...path, 'maxFailedIndexes'];
  if (most !== undefined && spec.completions !== undefined && most > completions)
    list.add(invalid(at, most, 'must be less than or equal to completions'));
  if (most !== undefined && most > MAX_FAILED_INDEXES)
    list.add(invalid(at, most, `must be less than or equal to ${MAX_FAILED_INDEXES}`));
  if (completions <= MANY_COMPLETIONS || limit === undefined) return;
  if (most === undefined)
    list.add(required(at, `must be specified when completions is above ${MANY_COMPLETIONS}`));
  const rule = `must be less than or equal to ${MAX_OF_MANY} when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  if (parallelism > MAX_OF_MANY) list.add(invalid([...path, 'parallelism'], parallelism, rule));
  if (most !== undefined && most > MAX_OF_MANY) list.add(invalid(at, most, rule));
}

function validateSuccessRules(spec: Draft<JobSpec>, path: FieldPath, list: ProblemList): void {
  const { successPolicy, completions = Infinity } = spec;
  const rules = entriesOf(successPolicy?.rules);
  if (rules.length > MAX_SUCCESS_RULES)
    list.add(invalid(path, `${rules.length} rules`, `must have at most ${MAX_SUCCESS_RULES} items`));
  for (const [index, { succeededIndexes: text, succeededCount: count }] of rules) {
    const at = [...path, index];
    if (text === undefined && count === undefined)
      list.add(required(at, 'at least one of succeededCount or succeededIndexes must be specified'));
    let total: number | undefined;
    list.check([...at, 'succeededIndexes'], text, (indexes) => {
      if (indexes.length > MAX_SUCCEEDED_INDEXES)
        return `must have at most ${MAX_SUCCEEDED_INDEXES} characters`;
      try {
        total = countIndexes(parseIndexRanges(indexes, completions));
        return undefined;
      } catch (error) {
        return `error parsing succeededIndexes: ${messageOf(error)}`;
      }
    });
    list.check([...at, 'succeededCount'], count, (wanted) => {
      if (wanted > completions)
        return `must be less than or equal to ${completions} (the number of specified completions)`;
      if (total === undefined || wanted <= total) return inRange(0)(wanted);
      return `must be less than or equal to ${total} (the number of indexes in the specified succeededIndexes field)`;
    });
  }
}

function validateFailureRules(
  rules: Draft<NonNullable<JobSpec['podFailurePolicy']>['rules']> | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  if ((rules ?? []).length > MAX_FAILURE_RULES) {
    list.add(invalid(path, `${rules!.length} rules`, `must have at most ${MAX_FAILURE_RULES} items`));
  }
  for (const [index, { onExitCodes, onPodConditions }] of entriesOf(rules)) {
    const at = [...path, index];
    const hasConditions = (onPodConditions ?? []).length > 0;
    if (onExitCodes !== undefined && hasConditions) {
      const rule = 'specifying both OnExitCodes and OnPodConditions is not supported';
      list.add(invalid(at, { onExitCodes, onPodConditions }, rule));
    }
    if (onExitCodes === undefined && !hasConditions) {
      list.add(invalid(at, {}, 'specifying one of OnExitCodes and OnPodConditions is required'));
    }
    const codes = (onExitCodes?.values ?? []).filter((code) => code !== undefined);
    const values = [...at, 'onExitCodes', 'values'];
    if (codes.length > MAX_EXIT_CODES) {
      list.add(invalid(values, `${codes.length} values`, `must have at most ${MAX_EXIT_CODES} items`));
    }
    if (onExitCodes?.operator === 'In' && codes.includes(0)) {
      list.add(invalid([...values, codes.indexOf(0)], 0, 'must not be 0 for the In operator'));
    }
    if (new Set(codes).size < codes.length) list.add(duplicate(values, codes));
  }
}
