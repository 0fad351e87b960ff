import { type Container } from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { invalid, required } from '../fields/field-problem.js';
import { type ProblemList } from './problem-list.js';

/** Kubernetes' limits. */
const MAX_RESTART_RULES = 20;
const MAX_EXIT_CODES = 255;

/** Validates the restart policy of a regular or an init container. */
export function validateRestartRules(
  { restartPolicy, restartPolicyRules }: Draft<Container>,
  path: FieldPath,
  list: ProblemList,
): void {
  const place = [...path, 'restartPolicyRules'];
  const rules = entriesOf(restartPolicyRules);
  if (rules.length > 0 && restartPolicy === undefined)
    list.add(
      required([...path, 'restartPolicy'], 'a container with restartPolicyRules needs one of its own'),
    );
  if (rules.length > MAX_RESTART_RULES)
    list.add(invalid(place, rules.length, `use at most ${MAX_RESTART_RULES} rules`));
  for (const [index, { exitCodes }] of rules) {
    const { length } = entriesOf(exitCodes?.values);
    if (length > MAX_EXIT_CODES)
      list.add(invalid([...place, index, 'exitCodes', 'values'], length, `use at most ${MAX_EXIT_CODES}`));
  }
}
