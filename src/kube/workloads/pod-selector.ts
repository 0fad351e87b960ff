import { type LabelSelector, type SelectorExpression } from './workload.js';

type Labels = Readonly<Record<string, string>>;

/** Whether labels match a selector; an empty one matches everything. Pure. */
export function matchesPodSelector(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const hasAll = Object.entries(matchLabels).every(([key, value]) => find(labels, key) === value);
  return hasAll && matchExpressions.every((expression) => matchesExpression(expression, labels));
}

function matchesExpression({ key, operator, values = [] }: SelectorExpression, labels: Labels): boolean {
  const value = find(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/** As kubectl prints it: `app=web,tier in (a,b)`. Pure. */
export function formatPodSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const pairs = Object.keys(matchLabels)
    .sort()
    .map((key) => `${key}=${matchLabels[key]!}`);
  const rest = matchExpressions.map(({ key, operator, values = [] }) => {
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${operator.toLowerCase()} (${[...values].sort().join(',')})`;
  });
  const all = [...pairs, ...rest];
  return all.length === 0 ? '<none>' : all.join(',');
}

function find(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
