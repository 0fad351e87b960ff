import { ContainerStatusRequest } from '../../src/cri/generated/runtime/v1/cri.js';
import { type Containerd } from '../../test/containerd/harness/containerd.js';
import { type CriDriver, runtimeService } from '../../test/containerd/harness/cri-driver.js';
import { containerConfig, sandboxConfig } from '../../test/containerd/harness/pod-configs.js';

interface Pod {
  readonly sandboxId: string;
  readonly config: ReturnType<typeof sandboxConfig>;
  attempt: number;
  containerId: string;
  pid: number;
}

/** When a container's process ended. */
export interface Death {
  readonly containerId: string;
  /** Monotonic milliseconds just before the signal was sent. */
  readonly killedAtMs: number;
  /** Wall-clock minus monotonic milliseconds at that moment. */
  readonly wallOffsetMs: number;
}

const SCRIPT = 'while :; do sleep 1000; done';

/** Pods of one container each, whose processes are killed behind the runtime's back and replaced. */
export class KillablePods {
  readonly #driver: CriDriver;
  readonly #pods: Pod[] = [];
  #next = 0;

  static async create(containerd: Containerd, count: number): Promise<KillablePods> {
    const pods = new KillablePods(containerd.driver);
    for (let index = 0; index < count; index++)
      await pods.#add(`latency-${index}`, containerd.names.cgroupParent);
    return pods;
  }

  private constructor(driver: CriDriver) {
    this.#driver = driver;
  }

  /** Kills the next container's process; the others take their turns before it is killed again. */
  killNext(): Death {
    const pod = this.#pods[this.#next++ % this.#pods.length]!;
    const wallOffsetMs = measureWallOffsetMs();
    const killedAtMs = performance.now();
    process.kill(pod.pid, 'SIGKILL');
    return { containerId: pod.containerId, killedAtMs, wallOffsetMs };
  }

  /** Wall-clock milliseconds of the end, as the runtime remembers it. */
  async finishedAtMs(containerId: string): Promise<number> {
    const status = await this.#status(containerId);
    return Number(status.finishedAt / 1000n) / 1000;
  }

  /** Puts a running container in place of a killed one. */
  async replace(containerId: string): Promise<void> {
    const pod = this.#pods.find((candidate) => candidate.containerId === containerId)!;
    await this.#driver.call(runtimeService.removeContainer, { containerId });
    pod.attempt++;
    await this.#startContainer(pod);
  }

  async #add(name: string, cgroupParent: string): Promise<void> {
    const config = sandboxConfig({ name, cgroupParent });
    const pod: Pod = {
      sandboxId: await this.#driver.runSandbox(config),
      config,
      attempt: 0,
      containerId: '',
      pid: 0,
    };
    await this.#startContainer(pod);
    this.#pods.push(pod);
  }

  async #startContainer(pod: Pod): Promise<void> {
    const { sandboxId, config, attempt } = pod;
    const container = containerConfig(config, { name: 'main', script: SCRIPT, attempt });
    pod.containerId = await this.#driver.createContainer(sandboxId, container, config);
    await this.#driver.startContainer(pod.containerId);
    const { info } = await this.#driver.call(runtimeService.containerStatus, {
      containerId: pod.containerId,
      verbose: true,
    });
    pod.pid = (JSON.parse(info['info'] ?? '{}') as { pid: number }).pid;
  }

  async #status(containerId: string): Promise<{ finishedAt: bigint }> {
    const request = ContainerStatusRequest.fromPartial({ containerId });
    const { status } = await this.#driver.call(runtimeService.containerStatus, request);
    if (status === undefined || status.finishedAt === 0n) throw new Error(`${containerId} has not ended`);
    return status;
  }
}

/** What to add to a monotonic time to get the wall clock's; waits for its next millisecond to begin. */
function measureWallOffsetMs(): number {
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  return now - performance.now();
}
