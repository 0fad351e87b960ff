import { type CriClient, type Pleg } from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type RuntimeStreams } from '../node/stream-container.js';
import { PodloopError } from '#base/errors/errors.js';

/** Sources of {@link runtimeStreams}. */
export interface RuntimeStreamsOptions {
  readonly client: Pick<CriClient, 'exec' | 'attach' | 'portForward'>;
  /** Knows the sandboxes of pods, including those whose status is unavailable. */
  readonly pleg: Pick<Pleg, 'findObserved'>;
}

/** Gets the URLs of streams from a CRI runtime. */
export function runtimeStreams({ client, pleg }: RuntimeStreamsOptions): RuntimeStreams {
  return {
    exec: async ({ pod, containerId, command, stdin, stdout, stderr, tty }, signal) => {
      const request = { containerId, cmd: [...command], stdin, stdout, stderr, tty };
      return (await client.exec(request, { signal, pod })).url;
    },
    attach: async ({ pod, containerId, stdin, stdout, stderr, tty }, signal) =>
      (await client.attach({ containerId, stdin, stdout, stderr, tty }, { signal, pod })).url,
    portForward: async (pod, ports, signal) => {
      const podSandboxId = findSandbox(pleg, pod);
      return (await client.portForward({ podSandboxId, port: [...ports] }, { signal, pod })).url;
    },
  };
}

function findSandbox(pleg: Pick<Pleg, 'findObserved'>, { uid, name }: PodRef): string {
  const ready = pleg.findObserved(uid)?.sandboxes.find(({ state }) => state === 'running');
  if (ready !== undefined) return ready.id;
  throw new PodloopError('CRI_NOT_FOUND', `pod ${name} has no sandbox that is ready`);
}
