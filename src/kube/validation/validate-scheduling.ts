/**
 * Kubernetes' rules for the scheduling fields of a pod: node selectors, affinity, tolerations, spread.
 *
 * Most of them have no effect here. A manifest that an API server rejects for them is rejected here all the
 * same, so that the mistake is found before it gets there.
 *
 * @module
 */
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { duplicate, forbidden, invalid, required, unsupportedValue } from '../fields/field-problem.js';
import { type PodSpec, type Toleration } from '../pod/pod.js';
import { checkLabel, checkLabelValue, checkQualifiedName, checkSubdomain } from './name-rules.js';
import { inRange, type ProblemList } from './problem-list.js';

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface NodeTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Requirement[];
}

interface LabelKeys {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

interface PodTerm extends LabelKeys {
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly topologyKey: string;
}

interface PodTerms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly podAffinityTerm: PodTerm;
  }[];
}

interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms: readonly NodeTerm[];
    };
    readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
      readonly weight: number;
      readonly preference: NodeTerm;
    }[];
  };
  readonly podAffinity?: PodTerms;
  readonly podAntiAffinity?: PodTerms;
}

interface Spread extends LabelKeys {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly minDomains?: number;
}

/** The fields of a spec that only a scheduler reads, as written. */
interface SchedulingSpec {
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly Spread[];
}

type Labels = Readonly<Record<string, string | undefined>>;

const NODE_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];
const LABEL_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const weight = inRange(1, 100);

/** Validates all of them. `podLabels` are those of the pod itself. */
export function validateScheduling(
  written: Draft<PodSpec>,
  podLabels: Labels,
  path: FieldPath,
  list: ProblemList,
): void {
  const spec = written as Draft<SchedulingSpec>;
  list.check([...path, 'nodeName'], spec.nodeName, checkSubdomain);
  validateLabelMap(spec.nodeSelector ?? {}, [...path, 'nodeSelector'], list);
  validateTolerations(spec.tolerations, [...path, 'tolerations'], list);
  validateNodeAffinity(spec.affinity?.nodeAffinity, [...path, 'affinity', 'nodeAffinity'], list);
  for (const name of ['podAffinity', 'podAntiAffinity'] as const) {
    validatePodTerms(spec.affinity?.[name], podLabels, [...path, 'affinity', name], list);
  }
  validateSpread(spec.topologySpreadConstraints, podLabels, [...path, 'topologySpreadConstraints'], list);
  validateGates(written, path, list);
}

function validateGates(
  { schedulingGates, nodeName }: Draft<PodSpec>,
  path: FieldPath,
  list: ProblemList,
): void {
  const names = new Set<string>();
  for (const [index, { name }] of entriesOf(schedulingGates)) {
    if (name === undefined) continue;
    const place = [...path, 'schedulingGates', index];
    const broken = checkQualifiedName(name);
    if (broken !== undefined) list.add(invalid(place, name, broken));
    if (names.has(name)) list.add(duplicate(place, name));
    names.add(name);
  }
  const why = 'cannot be set until all schedulingGates have been cleared';
  if (names.size > 0 && nodeName !== undefined && nodeName !== '')
    list.add(forbidden([...path, 'nodeName'], why));
}

/** Validates a map of labels. */
export function validateLabelMap(labels: Labels, path: FieldPath, list: ProblemList): void {
  for (const [key, value] of Object.entries(labels)) {
    const broken = checkQualifiedName(key);
    if (broken !== undefined) list.add(invalid([...path, { key }], key, broken));
    list.check([...path, { key }], value, checkLabelValue);
  }
}

/** Validates tolerations. */
export function validateTolerations(
  tolerations: readonly (Draft<Toleration> | undefined)[] | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [index, { key, operator, value = '', effect, tolerationSeconds }] of entriesOf(tolerations)) {
    const place = [...path, index];
    list.check([...place, 'key'], key, checkQualifiedName);
    if (key === undefined && operator !== 'Exists')
      list.add(invalid([...place, 'operator'], operator ?? '', 'must be Exists where there is no key'));
    if (tolerationSeconds !== undefined && effect !== 'NoExecute')
      list.add(
        invalid([...place, 'effect'], effect ?? '', 'must be NoExecute where tolerationSeconds is set'),
      );
    if (operator === 'Exists') {
      if (value !== '') list.add(invalid([...place, 'operator'], value, 'Exists takes no value'));
    } else if (operator === 'Lt' || operator === 'Gt') {
      // These operators exist, but behind a feature gate that is off.
      list.add(unsupportedValue([...place, 'operator'], operator, ['Equal', 'Exists']));
    } else list.check([...place, 'value'], value, checkLabelValue);
  }
}

function validateNodeAffinity(
  affinity: Draft<NonNullable<Affinity['nodeAffinity']>> | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  const must = 'requiredDuringSchedulingIgnoredDuringExecution';
  for (const [index, term] of entriesOf(affinity?.[must]?.nodeSelectorTerms)) {
    validateNodeTerm(term, true, [...path, must, 'nodeSelectorTerms', index], list);
  }
  const may = 'preferredDuringSchedulingIgnoredDuringExecution';
  for (const [index, item] of entriesOf(affinity?.[may])) {
    list.check([...path, may, index, 'weight'], item.weight, weight);
    if (item.preference !== undefined)
      validateNodeTerm(item.preference, false, [...path, may, index, 'preference'], list);
  }
}

function validateNodeTerm(
  term: Draft<NodeTerm>,
  checksValues: boolean,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [index, item] of entriesOf(term.matchExpressions)) {
    validateRequirement(item, NODE_OPERATORS, checksValues, [...path, 'matchExpressions', index], list);
  }
  for (const [index, { key, operator, values = [] }] of entriesOf(term.matchFields)) {
    const place = [...path, 'matchFields', index];
    if (operator !== undefined && operator !== 'In' && operator !== 'NotIn')
      list.add(unsupportedValue([...place, 'operator'], operator, ['In', 'NotIn']));
    else if (values.length !== 1) list.add(required([...place, 'values'], 'exactly one'));
    if (key !== undefined && key !== 'metadata.name')
      list.add(unsupportedValue([...place, 'key'], key, ['metadata.name']));
    else
      for (const [at, value] of entriesOf(values))
        list.check([...place, 'values', at], value, checkSubdomain);
  }
}

function validateRequirement(
  { key, operator, values = [] }: Draft<Requirement>,
  operators: readonly string[],
  checksValues: boolean,
  path: FieldPath,
  list: ProblemList,
): void {
  list.check([...path, 'key'], key, checkQualifiedName);
  const place = [...path, 'values'];
  if (operator !== undefined && !operators.includes(operator))
    list.add(unsupportedValue([...path, 'operator'], operator, operators));
  else if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) list.add(required(place, `with the operator ${operator}`));
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (values.length !== 1) list.add(required(place, `exactly one with the operator ${operator}`));
  } else if (operator !== undefined && values.length > 0) {
    list.add(forbidden(place, `not with the operator ${operator}`));
  }
  if (!checksValues) return;
  for (const [index, value] of entriesOf(values)) list.check([...place, index], value, checkLabelValue);
}

function validateLabelSelector(
  selector: Draft<LabelSelector> | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  validateLabelMap(selector?.matchLabels ?? {}, [...path, 'matchLabels'], list);
  for (const [index, item] of entriesOf(selector?.matchExpressions)) {
    validateRequirement(item, LABEL_OPERATORS, true, [...path, 'matchExpressions', index], list);
  }
}

function validateLabelKeys(
  term: Draft<LabelKeys>,
  podLabels: Labels,
  path: FieldPath,
  list: ProblemList,
): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  for (const name of ['matchLabelKeys', 'mismatchLabelKeys'] as const) {
    const keys = entriesOf(term[name]);
    if (keys.length > 0 && labelSelector === undefined) {
      list.add(forbidden([...path, name], 'only beside a labelSelector'));
    } else for (const [index, key] of keys) list.check([...path, name, index], key, checkQualifiedName);
  }
  const selected = [
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...entriesOf(labelSelector?.matchExpressions).map(([, { key }]) => key),
  ];
  const counts = new Map<string, number>();
  for (const [index, key] of entriesOf(matchLabelKeys)) {
    if (mismatchLabelKeys.includes(key))
      list.add(invalid([...path, 'matchLabelKeys', index], key, 'stands in mismatchLabelKeys, too'));
    // The pod's label is added to the selector once for each occurrence of its key here.
    counts.set(key, (counts.get(key) ?? 0) + (Object.hasOwn(podLabels, key) ? 1 : 0));
    const already = selected.filter((other) => other === key).length;
    if (already > 1 || (already > 0 && counts.get(key)! > 0) || counts.get(key)! > 1)
      list.add(invalid([...path, 'matchLabelKeys', index], key, 'stands in the labelSelector, too'));
  }
}

function validatePodTerms(
  terms: Draft<PodTerms> | undefined,
  podLabels: Labels,
  path: FieldPath,
  list: ProblemList,
): void {
  const must = 'requiredDuringSchedulingIgnoredDuringExecution';
  for (const [index, term] of entriesOf(terms?.[must])) {
    validatePodTerm(term, podLabels, [...path, must, index], list);
  }
  const may = 'preferredDuringSchedulingIgnoredDuringExecution';
  for (const [index, { weight: given, podAffinityTerm: term }] of entriesOf(terms?.[may])) {
    list.check([...path, may, index, 'weight'], given, weight);
    if (term !== undefined) validatePodTerm(term, podLabels, [...path, may, index, 'podAffinityTerm'], list);
  }
}

function validatePodTerm(term: Draft<PodTerm>, podLabels: Labels, path: FieldPath, list: ProblemList): void {
  validateLabelSelector(term.labelSelector, [...path, 'labelSelector'], list);
  validateLabelSelector(term.namespaceSelector, [...path, 'namespaceSelector'], list);
  for (const [index, name] of entriesOf(term.namespaces)) {
    list.check([...path, 'namespaces', index], name, checkLabel);
  }
  validateLabelKeys(term, podLabels, path, list);
  list.check([...path, 'topologyKey'], term.topologyKey, checkQualifiedName);
}

function validateSpread(
  constraints: readonly (Draft<Spread> | undefined)[] | undefined,
  podLabels: Labels,
  path: FieldPath,
  list: ProblemList,
): void {
  const seen = new Set<string>();
  for (const [index, spread] of entriesOf(constraints)) {
    const place = [...path, index];
    const { topologyKey = '', whenUnsatisfiable = '', minDomains } = spread;
    list.check([...place, 'maxSkew'], spread.maxSkew, inRange(1));
    list.check([...place, 'minDomains'], minDomains, inRange(1));
    if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule')
      list.add(
        invalid([...place, 'minDomains'], minDomains, 'only where whenUnsatisfiable is DoNotSchedule'),
      );
    const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (seen.has(pair)) list.add(duplicate([...place, 'topologyKey'], pair));
    seen.add(pair);
    validateLabelKeys(spread, podLabels, place, list);
    validateLabelSelector(spread.labelSelector, [...place, 'labelSelector'], list);
  }
}
