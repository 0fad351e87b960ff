import { type FieldTable, ignored, supported, type TableOf } from '../fields/field-facts.js';
import { type SchedulingGate, type Toleration } from './pod.js';

const SCHEDULER = 'only a scheduler reads it, and the pod is here already';

const at = (type: string, required = false) => ignored(type, SCHEDULER, { required });

/**
 * The fields that a scheduler reads.
 *
 * They are known, so that a misspelt one is an error, and have no effect otherwise, except for what a pod
 * requires of its node and what its mirror pod tolerates.
 */
export const SCHEDULING_TABLES = {
  Affinity: {
    nodeAffinity: supported('NodeAffinity'),
    podAffinity: at('PodAffinity'),
    podAntiAffinity: at('PodAffinity'),
  },
  NodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: supported('NodeSelector'),
    preferredDuringSchedulingIgnoredDuringExecution: at('[]PreferredSchedulingTerm'),
  },
  NodeSelector: { nodeSelectorTerms: supported('[]NodeSelectorTerm', { required: true }) },
  NodeSelectorTerm: {
    matchExpressions: supported('[]SelectorRequirement'),
    matchFields: supported('[]SelectorRequirement'),
  },
  SelectorRequirement: {
    key: supported('string', { required: true }),
    operator: supported('string', { required: true }),
    values: supported('[]string'),
  },
  PreferredSchedulingTerm: { weight: at('int32', true), preference: at('NodeSelectorTerm') },
  PodAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: at('[]PodAffinityTerm'),
    preferredDuringSchedulingIgnoredDuringExecution: at('[]WeightedPodAffinityTerm'),
  },
  PodAffinityTerm: {
    labelSelector: at('LabelSelector'),
    namespaces: at('[]string'),
    topologyKey: at('string', true),
    namespaceSelector: at('LabelSelector'),
    matchLabelKeys: at('[]string'),
    mismatchLabelKeys: at('[]string'),
  },
  WeightedPodAffinityTerm: { weight: at('int32', true), podAffinityTerm: at('PodAffinityTerm', true) },
  LabelSelector: { matchLabels: at('map[string]string'), matchExpressions: at('[]SelectorRequirement') },
  Toleration: {
    key: supported('string'),
    operator: supported('Exists|Equal|Lt|Gt'),
    value: supported('string'),
    effect: supported('|NoSchedule|PreferNoSchedule|NoExecute'),
    tolerationSeconds: supported('int64'),
  } satisfies TableOf<Toleration>,
  PodSchedulingGate: {
    name: supported('string', { required: true }),
  } satisfies TableOf<SchedulingGate>,
  TopologySpreadConstraint: {
    maxSkew: at('int32', true),
    topologyKey: at('string', true),
    whenUnsatisfiable: at('DoNotSchedule|ScheduleAnyway', true),
    labelSelector: at('LabelSelector'),
    minDomains: at('int32'),
    nodeAffinityPolicy: ignored('Honor|Ignore', SCHEDULER, { emptyIsValue: true }),
    nodeTaintsPolicy: ignored('Honor|Ignore', SCHEDULER, { emptyIsValue: true }),
    matchLabelKeys: at('[]string'),
  },
} as const satisfies Record<string, FieldTable>;
