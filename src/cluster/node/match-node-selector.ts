import { matchesLabels } from '#base/text/matches-labels.js';
import { type ApiNode } from './api-node.js';

/** Which nodes a pod asks for, or a volume lies on. Nothing is sure to be there. */
export interface NodeSelection {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: { readonly nodeAffinity?: NodeAffinity };
}

/** Only what is required counts once a pod is on a node. */
export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
  };
}

/** All of it has to hold; one that asks for nothing never does. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

/** What is asked of one label or field. */
export interface NodeSelectorRequirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}

/**
 * Whether a node is one that the pod asks for: by all of its nodeSelector, and by one of the terms that its affinity
 * requires. Pure.
 *
 * @see https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
 */
export function matchesNodeSelector(
  { nodeSelector = {}, affinity }: NodeSelection,
  { metadata }: ApiNode,
): boolean {
  const labels = metadata?.labels ?? {};
  if (!matchesLabels(labels, nodeSelector)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  const fields = { 'metadata.name': metadata?.name ?? '' };
  return (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, labels, fields));
}

type Texts = Readonly<Record<string, string>>;

function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  labels: Texts,
  fields: Texts,
) {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((each) => matches(each, labels)) &&
    matchFields.every((each) => matches(each, fields))
  );
}

function matches({ key = '', operator, values = [] }: NodeSelectorRequirement, texts: Texts): boolean {
  const value = Object.hasOwn(texts, key) ? texts[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt': {
      const [number, limit] = [readInteger(value), readInteger(values[0])];
      if (number === undefined || limit === undefined) return false;
      return operator === 'Gt' ? number > limit : number < limit;
    }
    default:
      return false;
  }
}

function readInteger(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[-+]?\d+$/.test(text) ? BigInt(text) : undefined;
}
