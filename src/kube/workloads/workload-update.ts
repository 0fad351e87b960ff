import { isDeepStrictEqual } from 'node:util';
import { type FieldProblem, forbidden, invalid } from '../fields/field-problem.js';
import { getQuantity } from '../fields/quantity.js';
import { applyWorkloadDefaults } from './read-workload.js';
import { type Workload } from './workload.js';

const WAY_OUT = 'remove the object, and add it once it is gone';
/** What an edit may change of a StatefulSet, as Kubernetes says it. */
const OF_STATEFUL_SETS = [
  ...['replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit'],
  ...['persistentVolumeClaimRetentionPolicy', 'minReadySeconds'],
];
const FIXED: Partial<Record<Workload['kind'], readonly string[]>> = {
  Deployment: ['selector'],
  ReplicaSet: ['selector'],
  DaemonSet: ['selector'],
  Job: [
    'completions',
    'completionMode',
    'podFailurePolicy',
    'template',
    'backoffLimitPerIndex',
    'successPolicy',
  ],
};

/** Finds changes of an existing object that Kubernetes rejects. Pure; both have the same kind and name. */
export function checkWorkloadUpdate(before: Workload, next: Workload): FieldProblem[] {
  if (before.kind !== next.kind) return [];
  const [old, wanted] = [before, next].map(
    (each) => (applyWorkloadDefaults(each).spec ?? {}) as Readonly<Record<string, unknown>>,
  ) as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>];
  const changed = [...new Set([...Object.keys(old), ...Object.keys(wanted)])].filter(
    (name) => !isDeepStrictEqual(old[name], wanted[name]),
  );
  if (next.kind === 'StatefulSet' && changed.some((name) => !OF_STATEFUL_SETS.includes(name))) {
    const words = `'${OF_STATEFUL_SETS.slice(0, -1).join("', '")}' and '${OF_STATEFUL_SETS.at(-1)}'`;
    const why = `updates to statefulset spec for fields other than ${words} are forbidden; ${WAY_OUT}`;
    return [forbidden(['spec'], why)];
  }
  if (next.kind === 'PersistentVolumeClaim') return checkClaim(old, wanted, changed);
  const fixed = changed.filter((name) => FIXED[next.kind]?.includes(name));
  return fixed.map((name) => {
    // A whole template would hide what is to be done about it.
    const value = name === 'template' ? {} : wanted[name];
    return invalid(['spec', name], value, `field is immutable; ${WAY_OUT}`);
  });
}

interface Sized {
  readonly resources?: { readonly requests?: { readonly storage?: string } };
}

function checkClaim(
  old: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
  changed: readonly string[],
): FieldProblem[] {
  if (changed.some((name) => name !== 'resources')) {
    const why = `spec is immutable after creation except resources.requests; ${WAY_OUT}`;
    return [forbidden(['spec'], why)];
  }
  const sizeOf = ({ resources }: Sized): bigint => getQuantity(resources?.requests?.storage ?? '0').nanos;
  if (sizeOf(wanted) >= sizeOf(old)) return [];
  const path = ['spec', 'resources', 'requests', 'storage'];
  return [forbidden(path, `field can not be less than previous value; ${WAY_OUT}`)];
}
