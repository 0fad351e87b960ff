import { type ContainerStatus, type PodStatus } from '../../observed/runtime.js';

/** The reason of a container that the kernel killed for lack of memory. */
export const OOM_KILLED = 'OOMKilled';

/** The exit code after SIGKILL, whoever sent it. */
const KILLED = 137;

/**
 * Whether an exit may have been caused by lack of memory without the runtime knowing yet. Pure.
 *
 * The runtime learns of the cause and of the exit separately, in either order. containerd reports the exit at
 * once, with the reason `Error`, and corrects the reason in the status moments later, without an event.
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
 * Adds the out-of-memory reasons that `others` have for the same containers; returns the same object if there
 * are none. Pure.
 *
 * It does not matter which of the two is older: a runtime never takes this reason back.
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
