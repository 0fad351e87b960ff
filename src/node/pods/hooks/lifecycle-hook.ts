import { request as requestPlainly } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { type Container, type HttpGetAction, type LifecycleHandler } from '#kube/container/container.js';
import { formatPod, type PodRef } from '#kube/pod/pod-ref.js';
import { describeRuntimeError } from '#watch';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { hookSleepCutShort } from '#base/channels/hook-channels.js';
import { MAX_REDIRECTS, nextUrl } from '../../probes/http-probe.js';
import { probeUrl } from '../../probes/http-probe-request.js';

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

/** The target of a hook's request. */
interface HookTarget {
  /** The pod's address, used where the hook names no host of its own. */
  readonly host: string;
  /** The container's ports, for a port given by name. */
  readonly ports: NonNullable<Container['ports']>;
}

const USER_AGENT = 'podloop/lifecycle';

/**
 * Sends the GET request of a hook and resolves at the head of any answer.
 *
 * Rejects when there is none, or with the signal's reason. Like the kubelet, it does not check certificates,
 * as pods create their own. It follows a redirect that stays on the host: many servers want a slash at the
 * end of a path, and the hook is behind it.
 */
async function requestHook(action: HttpGetAction, target: HookTarget, signal: AbortSignal): Promise<void> {
  const host = action.host || target.host;
  if (host === '') throw new Error('failed to find networking container: the pod has no address');
  let url = probeUrl(action, host, findPort(action.port, target.ports));
  const headers = headersOf(action.httpHeaders ?? []);
  for (let requests = 1; ; requests++) {
    const next = nextUrl(url, await ask(url, headers, signal));
    if (next instanceof Error) throw next;
    if (next?.hostname !== url.hostname) return;
    if (requests >= MAX_REDIRECTS) throw new Error(`stopped after ${MAX_REDIRECTS} redirects`);
    url = next;
  }
}

async function ask(
  url: URL,
  headers: Record<string, string | string[]>,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly location: string | undefined }> {
  // Accepts malformed headers: only the status matters.
  const options = { headers, agent: false, rejectUnauthorized: false, insecureHTTPParser: true };
  signal.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => {
      request.destroy(signal.reason as Error);
    };
    const request = (url.protocol === 'https:' ? requestSecurely : requestPlainly)(
      url,
      options,
      (response) => {
        // Only the head is needed, and a body may never end.
        response.destroy();
        resolve({ status: response.statusCode ?? 0, location: response.headers.location });
      },
    );
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('error', reject);
    request.on('close', () => signal.removeEventListener('abort', onAbort));
    request.end();
  });
}

function findPort(port: number | string, ports: HookTarget['ports']): number {
  if (typeof port === 'number') return port;
  const named = ports.find(({ name }) => name === port)?.containerPort;
  const found = named ?? (/^\d+$/.test(port) ? Number(port) : undefined);
  if (found === undefined) throw new Error(`the container has no port named ${JSON.stringify(port)}`);
  return found;
}

/** A header may be given several times. */
function headersOf(given: NonNullable<HttpGetAction['httpHeaders']>): Record<string, string | string[]> {
  const headers = new Map<string, string[]>();
  for (const { name, value = '' } of given) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  const own = Object.fromEntries([...headers].map(([name, values]) => [name, oneOrAll(values)]));
  return { 'user-agent': USER_AGENT, accept: '*/*', ...own };
}

function oneOrAll(values: string[]): string | string[] {
  return values.length === 1 ? values[0]! : values;
}
