import { type Container, type LifecycleHandler } from '#kube/container/container.js';
import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { ANNOTATIONS, type ContainerStatus, type PodStatus, quoteRuntimeError } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { settlesWithin } from '#base/async/settles-within.js';

import { computeStopOrder } from '../actions/compute-stop-order.js';
import { hookHostOf } from '../hooks/hook-host.js';
import { type ContainerKiller } from '../containers/kill-container.js';
import { mayBeAlive, PodContainers } from '../../status/pod-containers.js';
import { type SyncFailure } from './sync-failure.js';

/** What {@link killPod} needs. */
export interface PodKillTools {
  readonly killer: Pick<ContainerKiller, 'kill'>;
  readonly changes: Pick<RuntimeChanges, 'stopPodSandbox'>;
  /**
   * Writes the status of the pod: when its containers have ended but its sandbox takes long, and when
   * something failed.
   *
   * Never rejects (default: the next sync writes it).
   */
  readonly showEnded?: ((signal: AbortSignal) => Promise<void>) | undefined;
  readonly clock: Pick<Clock, 'setTimer'>;
}

/** A pod to end. */
export interface PodKill {
  readonly pod: PodRef;
  /** The pod's spec; undefined when only the runtime knows it. */
  readonly spec: PodSpec | undefined;
  readonly observed: PodStatus;
  /** Undefined: the annotations of the containers apply. */
  readonly graceSeconds: number | undefined;
  /** Containers that end for a reason of their own, which overrides what is given here. */
  readonly ownKills?: readonly OwnKill[];
}

/** Most sandboxes end sooner, and the next status says that as well. */
const SHOWN_AFTER_MS = 1_000;

/** Why a container ends that ends together with its pod. */
export interface OwnKill {
  readonly id: string;
  readonly message: string;
  readonly gracePeriodSeconds: number;
}

/**
 * Ends everything alive of a pod: its containers, sidecars last, then its sandboxes. Returns the failures.
 *
 * Rejects only with the signal's reason, once what is under way has settled or is a stop that the next call
 * overtakes.
 */
export async function killPod(
  { pod, spec, observed, graceSeconds, ownKills = [] }: PodKill,
  { killer, changes, showEnded, clock }: PodKillTools,
  signal: AbortSignal,
): Promise<readonly SyncFailure[]> {
  const failures: SyncFailure[] = [];
  // A container that somebody put into an owned sandbox by hand ends with the sandbox, not by its name.
  const owners = new PodContainers(observed, undefined);
  const alive = observed.containers.filter((each) => mayBeAlive(each) && owners.isOfPod(each));
  const host = hookHostOf(observed);
  const killOne = async (container: ContainerStatus, turn: Promise<void> | undefined): Promise<void> => {
    const { id, name } = container;
    const { preStop, ports } = hookOf(container, spec);
    const own = ownKills.find((each) => each.id === id);
    const grace = own?.gracePeriodSeconds ?? graceSeconds ?? readGraceSeconds(container);
    const kill = {
      pod,
      containerId: id,
      containerName: name,
      graceSeconds: grace,
      message: own?.message,
      preStop,
      ports,
      host,
      turn,
    };
    try {
      await killer.kill(kill, signal);
    } catch (error) {
      failures.push(failureOf('KillContainer', name, 'KillContainerError', error));
    }
  };
  // All start at once, as hooks take time; each wave stops when those before it have ended.
  let turn: Promise<void> | undefined;
  for (const wave of computeStopOrder(spec, alive)) {
    const before = turn;
    const ended = Promise.all(wave.map((container) => killOne(container, before)));
    turn = Promise.all([before, ended]).then(() => undefined);
  }
  await turn;
  signal.throwIfAborted();
  // A runtime stops the remaining containers together with their sandbox.
  const stopped = Promise.all(
    observed.sandboxes.map(async ({ id }) => {
      try {
        await changes.stopPodSandbox(id, { signal, pod });
      } catch (error) {
        failures.push(failureOf('KillPodSandbox', formatPod(pod), 'KillPodSandboxError', error));
      }
    }),
  );
  // The network may take minutes to go, or never go, while the containers have ended already.
  if (!(await settlesWithin(stopped, SHOWN_AFTER_MS, clock)) && !signal.aborted) await showEnded?.(signal);
  await stopped;
  signal.throwIfAborted();
  if (failures.length > 0) await showEnded?.(signal);
  signal.throwIfAborted();
  return failures;
}

/** The grace period in a container's annotation, in seconds. */
function readGraceSeconds({ annotations }: Pick<ContainerStatus, 'annotations'>): number {
  const texts = [
    annotations[ANNOTATIONS.podDeletionGracePeriod],
    annotations[ANNOTATIONS.podTerminationGracePeriod],
  ];
  const written = texts.find((text) => text !== undefined && /^\d{1,9}$/.test(text));
  return written === undefined ? DEFAULT_GRACE_SECONDS : Number(written);
}

/** The hook that ends a container: the manifest's, otherwise the one in its annotation. */
export function hookOf(
  { name, annotations }: Pick<ContainerStatus, 'name' | 'annotations'>,
  spec: PodSpec | undefined,
): { readonly preStop: LifecycleHandler | undefined; readonly ports: Container['ports'] } {
  const { containers = [], initContainers = [] } = spec ?? {};
  const written = [...containers, ...initContainers].find((container) => container.name === name);
  if (written !== undefined) return { preStop: written.lifecycle?.preStop, ports: written.ports };
  return {
    preStop: readJson(annotations[ANNOTATIONS.preStopHandler]),
    ports: readJson(annotations[ANNOTATIONS.ports]) as Container['ports'],
  };
}

/** Parses an annotation of podloop; others may write anything there, and invalid JSON is ignored. */
function readJson(text: string | undefined): object | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function failureOf(
  action: SyncFailure['action'],
  subject: string,
  reason: string,
  error: unknown,
): SyncFailure {
  return { action, subject, reason, message: quoteRuntimeError(error), cause: error };
}
