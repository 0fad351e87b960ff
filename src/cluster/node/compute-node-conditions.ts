import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { type NodeCondition } from './node-object.js';
import { type NodeEvent, type NodeHealth } from './node-ports.js';

/** What is short on a node. */
export interface NodePressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

/** What conditions follow from. */
export interface ConditionFacts {
  /** Of the events. */
  readonly nodeName: string;
  readonly pressure: NodePressure;
  readonly health: NodeHealth;
  /** Resources that every node has and that are not known of this one. */
  readonly missingCapacities: readonly string[];
  /** Wall-clock milliseconds. */
  readonly nowMs: number;
}

/** The conditions of a Node, and the events for those that have changed. */
export interface ComputedConditions {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly NodeEvent[];
}

/** What a condition says, without its times. */
interface Verdict {
  readonly type: string;
  readonly status: NodeCondition['status'];
  readonly reason: string;
  readonly message: string;
  /** The reason of the event when the status has changed. */
  readonly event: string;
}

/**
 * The kubelet's four conditions in its order, those of others untouched and in their places. Pure.
 *
 * A condition that goes on keeps the time at which it began; all four are reported with the present time. Ready stands last where the
 * Node is new: https://kubernetes.io/docs/reference/node/node-status/#condition
 */
export function computeConditions(
  previous: readonly NodeCondition[],
  facts: ConditionFacts,
): ComputedConditions {
  const { nodeName, nowMs } = facts;
  const now = toV1Time(nowMs);
  const conditions = [...previous];
  const events: NodeEvent[] = [];
  for (const { event, ...verdict } of [...judgePressure(facts), judgeReady(facts, previous)]) {
    const at = conditions.findIndex(({ type }) => type === verdict.type);
    const before = conditions[at];
    const isSame = before?.status === verdict.status;
    const next = {
      ...verdict,
      lastHeartbeatTime: now,
      lastTransitionTime: (isSame ? before.lastTransitionTime : undefined) ?? now,
    };
    if (at === -1) conditions.push(next);
    else conditions[at] = next;
    // For a new Node the kubelet reports every pressure condition, and Ready only when it changes.
    if (!isSame && (before !== undefined || verdict.type !== 'Ready')) {
      events.push({ type: 'Normal', reason: event, message: `Node ${nodeName} status is now: ${event}` });
    }
  }
  return { conditions, events };
}

function judgePressure({ pressure }: ConditionFacts): Verdict[] {
  const { memory, disk, pid } = pressure;
  const judge = (
    isShort: boolean,
    type: string,
    short: [string, string],
    fine: [string, string],
  ): Verdict => {
    const [word, message] = isShort ? short : fine;
    return {
      ...{ type, status: isShort ? 'True' : 'False' },
      ...{ reason: `Kubelet${word}`, message: `kubelet has ${message}`, event: `Node${word}` },
    };
  };
  return [
    judge(
      ...([memory, 'MemoryPressure'] as const),
      ['HasInsufficientMemory', 'insufficient memory available'],
      ['HasSufficientMemory', 'sufficient memory available'],
    ),
    judge(
      ...([disk, 'DiskPressure'] as const),
      ['HasDiskPressure', 'disk pressure'],
      ['HasNoDiskPressure', 'no disk pressure'],
    ),
    judge(
      ...([pid, 'PIDPressure'] as const),
      ['HasInsufficientPID', 'insufficient PID available'],
      ['HasSufficientPID', 'sufficient PID available'],
    ),
  ];
}

function judgeReady(
  { health, missingCapacities }: ConditionFacts,
  previous: readonly NodeCondition[],
): Verdict {
  const ready: Verdict = {
    ...{ type: 'Ready', status: 'True', reason: 'KubeletReady', event: 'NodeReady' },
    message: 'kubelet is posting ready status',
  };
  const missing =
    missingCapacities.length === 0
      ? []
      : [`missing node capacity for resources: ${missingCapacities.join(', ')}`];
  const wasReady = previous.some(({ type, status }) => type === 'Ready' && status === 'True');
  const problems = [...(wasReady && !health.isKnown ? [] : health.problems), ...missing];
  if (problems.length === 0) return ready;
  const { culprit } = health;
  const words = formatProblems(problems);
  return {
    ...{ type: 'Ready', status: 'False', reason: 'KubeletNotReady', event: 'NodeNotReady' },
    message: culprit === undefined ? words : `${words}; ${culprit}`,
  };
}

/** Several as Go's aggregates of errors print them: each once, in brackets; one alone without. */
function formatProblems(problems: readonly string[]): string {
  const each = [...new Set(problems)];
  return each.length === 1 ? each[0]! : `[${each.join(', ')}]`;
}
