import { type ContainerStatus, type PodStatus } from '../../observed/runtime.js';

/** The reason of a container that the kernel has killed for want of memory. */
export const OOM_KILLED = 'OOMKilled';

/** What an end by SIGKILL is told with, whoever sent it. */
const KILLED = 137;

/**
 * Whether an end may have been for want of memory without the runtime knowing yet. Pure.
 *
 * It learns of that beside the end, and in either order: containerd tells of the end as soon as it hears of it, with the reason
 * `Error`, and puts the other reason into the status moments later, of which it tells nobody.
 */
export function mayBeMemoryKill({
  exitCode,
  reason,
}: {
  readonly exitCode: number | undefined;
  readonly reason: string | undefined;
}): boolean {
  return exitCode === KILLED && reason !== OOM_KILLED;
}

/**
 * The status with the ends for want of memory that others of the same containers tell of; the same object where there are none. Pure.
 *
 * Which of the two is older does not matter: a runtime takes this reason back no more than the end itself.
 */
export function withMemoryKills(status: PodStatus, others: readonly ContainerStatus[]): PodStatus {
  const kills = others.filter(({ state, reason }) => state === 'exited' && reason === OOM_KILLED);
  if (kills.length === 0) return status;
  const containers = status.containers.map((known) => {
    if (known.state !== 'exited' || known.reason === OOM_KILLED) return known;
    const kill = kills.find(({ id }) => id === known.id);
    return kill === undefined ? known : { ...known, reason: kill.reason, message: kill.message };
  });
  const isSame = containers.every((container, index) => container === status.containers[index]);
  return isSame ? status : { ...status, containers };
}
