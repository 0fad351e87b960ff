import { type Container, type LifecycleHandler } from '#kube/container/container.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { describeRuntimeError } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { hookSleepCutShort } from '#base/channels/hook-channels.js';

import { requestHook } from './hook-request.js';

/** Options of {@link LifecycleHooks}. */
export interface LifecycleHooksOptions extends Publisher {
  readonly changes: Pick<RuntimeChanges, 'execSync'>;
  readonly clock: Clock;
  /** Reads where a pod's ports are; empty while it has no address. Used where a call gives no host. */
  readonly findHost: (pod: PodRef, signal: AbortSignal) => Promise<string>;
}

/** A hook of one container. */
export interface HookCall {
  readonly pod: PodRef;
  readonly containerId: string;
  readonly containerName: string;
  readonly handler: LifecycleHandler;
  /** For ports by name. */
  readonly ports: NonNullable<Container['ports']>;
  /** Where the container's ports are; empty when unknown. */
  readonly host: string;
  /** Kills a command after this time; 0 for never. In seconds. */
  readonly timeoutSeconds: number;
}

/** A runtime may report an address a little later than the sandbox. */
const MAX_READS = 5;
const LOOK_AGAIN_MS = 1_000;

/**
 * Runs postStart and preStop hooks: a command in the container, a request to it, or a pause.
 *
 * As in the kubelet, any answer to a request counts as success, whatever its status.
 *
 * Source: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/
 */
export class LifecycleHooks {
  readonly #options: LifecycleHooksOptions;

  constructor(options: LifecycleHooksOptions) {
    this.#options = options;
  }

  /**
   * Resolves with undefined when the hook succeeded, otherwise with the problem. Rejects only as the signal
   * does.
   */
  async run(call: HookCall, signal: AbortSignal): Promise<string | undefined> {
    const { exec, httpGet, sleep } = call.handler;
    try {
      if (exec !== undefined) return await this.#exec(call, exec.command, signal);
      if (httpGet !== undefined) {
        const isKnown = call.host !== '' || (httpGet.host ?? '') !== '';
        const host = isKnown ? call.host : await this.#waitForHost(call.pod, signal);
        await requestHook(httpGet, { host, ports: call.ports }, signal);
        return undefined;
      }
      if (sleep !== undefined) {
        await this.#sleep(call.pod, sleep.seconds, signal);
        return undefined;
      }
    } catch (error) {
      signal.throwIfAborted();
      return `${describeHook(call)} failed - error: ${describeRuntimeError(error)}`;
    }
    return `${describeHook(call)} failed - error: invalid handler`;
  }

  async #sleep({ uid }: PodRef, seconds: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.clock.sleep(seconds * 1000, signal);
    } catch (error) {
      publishTo(this.#options.channels, hookSleepCutShort, { podUid: uid });
      throw error;
    }
  }

  /** Empty when the pod still has no address after several reads. Rejects when the last read failed. */
  async #waitForHost(pod: PodRef, signal: AbortSignal): Promise<string> {
    const { clock, findHost } = this.#options;
    for (let looks = 1; ; looks++) {
      try {
        const host = await findHost(pod, signal);
        if (host !== '' || looks >= MAX_READS) return host;
      } catch (error) {
        signal.throwIfAborted();
        if (looks >= MAX_READS) throw error;
      }
      await clock.sleep(LOOK_AGAIN_MS, signal);
    }
  }

  async #exec(call: HookCall, command: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const { containerId, timeoutSeconds, pod } = call;
    const { exitCode, stdout, stderr } = await this.#options.changes.execSync(
      containerId,
      command,
      timeoutSeconds,
      { signal, pod },
    );
    if (exitCode === 0) return undefined;
    const output = Buffer.concat([stdout, stderr]).toString('utf8').slice(0, MAX_OUTPUT_CHARACTERS);
    const what = `command '${command.join(' ')}' exited with ${exitCode}: , message: ${JSON.stringify(output)}`;
    return `${describeHook(call)} failed - error: ${what}`;
  }
}

const MAX_OUTPUT_CHARACTERS = 1024;

function describeHook({ handler, containerName, pod }: HookCall): string {
  const { exec, httpGet } = handler;
  const kind =
    exec !== undefined
      ? `Exec lifecycle hook (${JSON.stringify(exec.command)})`
      : httpGet !== undefined
        ? `HTTP lifecycle hook (${httpGet.path ?? '/'})`
        : 'Lifecycle hook';
  return `${kind} for Container "${containerName}" in Pod "${formatPod(pod)}"`;
}
