import {
  composePodStatus,
  type ContainerStatus,
  emptyPodStatus,
  LABELS,
  type Labels,
  type ObservedContainer,
  type PodStatus,
  type Runtime,
  type SandboxStatus,
} from '#watch';
import { lostEnd } from '../../status/container-state.js';
import { mayBeAlive } from '../../status/pod-containers.js';
import { type Clock } from '#base/time/clock.js';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { withinTime } from '#base/async/within-time.js';

/** What {@link readPodParts} works with. */
export interface ReadPodPartsOptions {
  readonly runtime: Pick<Runtime, 'findPod' | 'getPodStatus'>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** As many calls as for a pod that is inspected as a whole. */
const CALLS_AT_ONCE = 8;
/** Limit for one sandbox or container, in milliseconds: a call that hangs will hang forever. */
const LIMIT_MS = 10_000;
const NOT_TOLD = 'The runtime lists the container as exited and does not return its status';

/**
 * Reads the sandboxes and containers of a pod one by one, to end a pod whose full status the runtime cannot
 * return.
 *
 * A part without a status appears with the id and state that the list shows. Its owner is read from other
 * parts of the same sandbox. Rejects when there are none and the part may be alive, and when the list fails;
 * dead parts without an owner are left out.
 */
export async function readPodParts(
  uid: string,
  { runtime, clock }: ReadPodPartsOptions,
  signal: AbortSignal,
): Promise<PodStatus> {
  const pod = await runtime.findPod(uid, signal);
  if (pod === undefined) return emptyPodStatus(uid);
  const sandboxes: SandboxStatus[] = [];
  const containers: ContainerStatus[] = [];
  const untold = new Map<ObservedContainer, Error>();
  await forEachAtOnce(
    [...pod.sandboxes, ...pod.containers],
    CALLS_AT_ONCE,
    async (part) => {
      const [ofSandboxes, ofContainers] = part.kind === 'sandbox' ? [[part], []] : [[], [part]];
      const alone = { ...pod, sandboxes: ofSandboxes, containers: ofContainers };
      try {
        const status = await withinTime({ clock, limitMs: LIMIT_MS, signal }, (inTime) =>
          runtime.getPodStatus(alone, inTime),
        );
        sandboxes.push(...status.sandboxes);
        containers.push(...status.containers);
      } catch (error) {
        signal.throwIfAborted();
        untold.set(part, error as Error);
      }
    },
    signal,
  );
  const told = [...sandboxes.map((each) => ({ ...each, sandboxId: each.id })), ...containers];
  for (const [part, error] of untold) {
    const mate = told.find(({ sandboxId }) => sandboxId === part.sandboxId);
    if (mate === undefined) {
      if (mayBeAlive(part)) throw error;
      continue;
    }
    if (part.kind === 'sandbox') sandboxes.push(asListedSandbox(part, ownersOf(mate.labels)));
    else containers.push(asListedContainer(part, ownersOf(mate.labels)));
  }
  return composePodStatus(pod, sandboxes, containers);
}

/** The labels that name its owner. */
function ownersOf(labels: Labels): Labels {
  const owning: readonly string[] = [LABELS.podUid, LABELS.nodeInstance];
  return Object.fromEntries(Object.entries(labels).filter(([key]) => owning.includes(key)));
}

function asListedSandbox(
  { id, name, attempt, state, createdAtNs }: ObservedContainer,
  labels: Labels,
): SandboxStatus {
  const unknown = { ips: [], annotations: {}, runtimeHandler: '', hostNetwork: false };
  return { id, name, attempt, state, createdAtNs, labels, ...unknown };
}

function asListedContainer(
  { id, name, attempt, state, sandboxId, createdAtNs }: ObservedContainer,
  labels: Labels,
): ContainerStatus {
  const { exitCode, reason, message = '' } = lostEnd(NOT_TOLD);
  return {
    ...{ id, name, attempt, state, sandboxId, createdAtNs, labels },
    // The earliest time possible.
    startedAtNs: state === 'running' ? createdAtNs : 0n,
    finishedAtNs: 0n,
    ...(state === 'exited' ? { exitCode, reason, message } : { exitCode: 0, reason: '', message: '' }),
    ...{ image: '', imageRef: '', imageId: '', restartCount: attempt, annotations: {}, logPath: '' },
    isListedOnly: true,
  };
}
