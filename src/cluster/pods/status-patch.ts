/**
 * What a node reports to the API server about a pod: the difference between the status that it has computed and the one that is
 * there, as a strategic merge patch. Pure.
 *
 * What the node does not own is never in it: conditions of others, and PodScheduled where the scheduler has set it. A
 * phase never goes back, and is not called ended as long as a container may run.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 * @module
 */
import { isTerminalPhase, toV1Time, type V1PodCondition, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { type ApiPodCondition, type ApiPodStatus, hasEndedThere, type NamedApiPod } from './api-pod.js';

/** What {@link computeStatusPatch} looks at. */
export interface StatusPatchInputs {
  /** As the API server has it. */
  readonly api: NamedApiPod;
  /** As the node has computed it. */
  readonly status: V1PodStatus;
  /** Containers of the pod may still run. */
  readonly mayHaveRunning: boolean;
  /** The version of the spec that the status is of. */
  readonly generation: number | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The body of a PATCH; the uid makes it fail where another pod has the name by now. */
export interface StatusPatch {
  readonly metadata: { readonly uid: string };
  readonly status: Readonly<Record<string, unknown>>;
}

/** There while it holds, and ours alone. */
const PASSING_CONDITIONS = ['PodResizePending'];
/** What is once known of a pod stays, also where the runtime has forgotten it. */
const LASTING_FIELDS = ['hostIP', 'podIP', 'startTime', 'qosClass'] as const;
const OTHER_FIELDS = [
  ...['phase', 'reason', 'message', 'observedGeneration'],
  ...['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'],
];

/** Undefined when there is nothing to write. */
export function computeStatusPatch(inputs: StatusPatchInputs): StatusPatch | undefined {
  const { api, status, generation } = inputs;
  const there: ApiPodStatus = api.status ?? {};
  const wanted: Readonly<Record<string, unknown>> = {
    ...status,
    ...choosePhase(inputs),
    startTime: there.startTime ?? status.startTime,
    // The server never takes another, and with it nothing else that is told: it counts by rules that we may not have.
    qosClass: there['qosClass'] ?? status.qosClass,
    observedGeneration: api.metadata.generation === undefined ? there['observedGeneration'] : generation,
  };
  const changed: [string, unknown][] = [];
  for (const field of LASTING_FIELDS) {
    if (wanted[field] !== undefined && !isSameJson(wanted[field], there[field])) {
      changed.push([field, wanted[field]]);
    }
  }
  for (const field of OTHER_FIELDS) {
    if (!isSameJson(wanted[field], there[field])) changed.push([field, wanted[field] ?? null]);
  }
  for (const field of ['hostIPs', 'podIPs'] as const) {
    const ips = status[field] ?? [];
    if (ips.length === 0 || isSameJson(ips, there[field])) continue;
    // These lists are merged by address: without the directive those from before would stay.
    changed.push([field, (there[field] ?? []).length === 0 ? ips : [...ips, { $patch: 'replace' }]]);
  }
  const conditions = diffConditions(inputs);
  if (conditions.length > 0) changed.push(['conditions', conditions]);
  if (changed.length === 0) return undefined;
  return { metadata: { uid: api.metadata.uid }, status: Object.fromEntries(changed) };
}

/** Whether a patch says nothing that the other does not say as well. Pure. */
export function isPartOf({ status: one }: StatusPatch, { status: other }: StatusPatch): boolean {
  return Object.entries(one).every(([field, value]) => {
    const said = other[field];
    if (field !== 'conditions') return field in other && isSameJson(value, said);
    const conditions = (said ?? []) as readonly ApiPodCondition[];
    return (value as readonly ApiPodCondition[]).every((each) =>
      conditions.some((condition) =>
        Object.entries(each).every(([key, part]) => isSameJson(part, condition[key])),
      ),
    );
  });
}

type PhaseFields = Pick<ApiPodStatus, 'phase' | 'reason' | 'message'>;

function choosePhase({ api, status, mayHaveRunning }: StatusPatchInputs): PhaseFields {
  const { phase, reason, message } = status;
  const { phase: phaseThere, reason: reasonThere, message: messageThere } = api.status ?? {};
  const before = { phase: phaseThere, reason: reasonThere, message: messageThere };
  if (hasEndedThere(api))
    return phase === phaseThere ? { ...before, ...withText({ reason, message }) } : before;
  if (isTerminalPhase(phase)) return mayHaveRunning ? before : { phase, reason, message };
  return { phase: phaseThere === 'Running' ? phaseThere : phase, reason, message };
}

/** What says something. */
function withText(fields: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(fields).filter(([, text]) => (text ?? '') !== ''));
}

function diffConditions(inputs: StatusPatchInputs): unknown[] {
  const { api, status, generation, nowMs } = inputs;
  const there = api.status?.conditions ?? [];
  const find = (type: string): ApiPodCondition | undefined => there.find((each) => each.type === type);
  const observed =
    api.metadata.generation === undefined || generation === undefined
      ? {}
      : { observedGeneration: generation };
  const changed: unknown[] = [];
  const own = withGates(status.conditions, api);
  for (const condition of own) {
    const before = find(condition.type);
    if (condition.type === 'PodScheduled' && before?.status === 'True') continue;
    const next = {
      ...condition,
      ...observed,
      lastTransitionTime: transitionOf(condition, before, status, nowMs),
    };
    if (isSameJson(next, before)) continue;
    // A patch takes away only what it names.
    const left = ['reason', 'message'].filter((key) => key in (before ?? {}) && !(key in next));
    changed.push({ ...next, ...Object.fromEntries(left.map((key) => [key, null])) });
  }
  for (const type of PASSING_CONDITIONS) {
    if (find(type) !== undefined && !own.some((each) => each.type === type)) {
      changed.push({ type, $patch: 'delete' });
    }
  }
  return changed;
}

/** The time of the last transition: the report of an earlier agent stays valid. */
function transitionOf(
  condition: V1PodCondition,
  before: ApiPodCondition | undefined,
  { conditions }: V1PodStatus,
  nowMs: number,
): string {
  if (before?.status === condition.status) return before.lastTransitionTime ?? condition.lastTransitionTime;
  // One that a gate turned has no time of its own.
  const computed = conditions.find(({ type }) => type === condition.type);
  return computed?.status === condition.status ? condition.lastTransitionTime : toV1Time(nowMs);
}

/**
 * Whether two pieces of JSON say the same to an API server: it leaves out what is null, and empty text, lists and objects
 * say no more than what is absent. The order of keys does not count.
 */
function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (saysNothing(one) && saysNothing(other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => isSameJson(item, (other as unknown[])[index]));
  }
  const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((key) => isSameJson(a[key], b[key]));
}

function saysNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(saysNothing);
}

/** What makes a pod unready although its containers are ready. */
interface UnmetGates {
  readonly reason: 'ReadinessGatesNotReady';
  readonly message: string;
}

/**
 * The readiness gates of a pod that hold it up, by the conditions that others have set on it. Pure, in the kubelet's
 * words.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-readiness-gate
 */
function findUnmetGates({ spec, status }: NamedApiPod): UnmetGates | undefined {
  const unmet: string[] = [];
  for (const { conditionType: type = '' } of spec?.readinessGates ?? []) {
    const condition = status?.conditions?.find((each) => each.type === type);
    if (condition === undefined) {
      unmet.push(`corresponding condition of pod readiness gate "${type}" does not exist.`);
    } else if (condition.status !== 'True') {
      unmet.push(`the status of pod readiness gate "${type}" is not "True", but ${condition.status ?? ''}`);
    }
  }
  if (unmet.length === 0) return undefined;
  return { reason: 'ReadinessGatesNotReady', message: unmet.join(', ') };
}

/** The pod's own conditions with {@link findUnmetGates} worked in: containers that are not ready come first. */
function withGates(conditions: readonly V1PodCondition[], pod: NamedApiPod): readonly V1PodCondition[] {
  const unmet = findUnmetGates(pod);
  if (unmet === undefined) return conditions;
  return conditions.map((each) =>
    each.type === 'Ready' && each.status === 'True' ? { ...each, status: 'False', ...unmet } : each,
  );
}
