import { type EphemeralContainer } from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { forbidden, notFound } from '../fields/field-problem.js';
import { type ProblemList } from './problem-list.js';

/** Fields that make no sense for a container that joins a pod late and is started once. */
const FORBIDDEN = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const satisfies readonly (keyof EphemeralContainer)[];

const NOT_FOR_IT = 'cannot be set for an Ephemeral Container';

/**
 * Validates an ephemeral container beyond the rules for all containers. `targets` are the names of the
 * others.
 */
export function validateEphemeralContainer(
  container: Draft<EphemeralContainer>,
  targets: ReadonlySet<string>,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const field of FORBIDDEN) {
    const value = container[field];
    // kubectl always writes `resources: {}`.
    const isEmpty = field === 'resources' && Object.keys(value ?? {}).length === 0;
    if (value !== undefined && !isEmpty) list.add(forbidden([...path, field], NOT_FOR_IT));
  }
  for (const [index, mount] of entriesOf(container.volumeMounts)) {
    for (const field of ['subPath', 'subPathExpr'] as const) {
      if (mount[field] === undefined) continue;
      list.add(forbidden([...path, 'volumeMounts', index, field], NOT_FOR_IT));
    }
  }
  const { targetContainerName: target } = container;
  if (target !== undefined && !targets.has(target)) {
    list.add(notFound([...path, 'targetContainerName'], target));
  }
}
