import { type CriClient } from '../cri/index.js';
import { type PodRef } from '../model/pod-ref.js';
import { type PodCache } from '../pleg/pod-cache.js';
import { type RuntimeStreams } from '../server/stream-container.js';
import { PodloopError } from '../util/errors.js';

/** What {@link runtimeStreams} asks. */
export interface RuntimeStreamsOptions {
  readonly client: Pick<CriClient, 'exec' | 'attach' | 'portForward'>;
  /** Knows the sandboxes of pods. */
  readonly cache: Pick<PodCache, 'get'>;
}

/** Gets the URLs of streams from a CRI runtime. */
export function runtimeStreams({ client, cache }: RuntimeStreamsOptions): RuntimeStreams {
  return {
    exec: async ({ pod, containerId, command, stdin, stdout, stderr, tty }, signal) => {
      const request = { containerId, cmd: [...command], stdin, stdout, stderr, tty };
      return (await client.exec(request, { signal, pod })).url;
    },
    attach: async ({ pod, containerId, stdin, stdout, stderr, tty }, signal) =>
      (await client.attach({ containerId, stdin, stdout, stderr, tty }, { signal, pod })).url,
    portForward: async (pod, ports, signal) => {
      const podSandboxId = findSandbox(cache, pod);
      return (await client.portForward({ podSandboxId, port: [...ports] }, { signal, pod })).url;
    },
  };
}

function findSandbox(cache: Pick<PodCache, 'get'>, { uid, name }: PodRef): string {
  const ready = cache.get(uid).status.sandboxes.find(({ state }) => state === 'running');
  if (ready !== undefined) return ready.id;
  throw new PodloopError('CRI_NOT_FOUND', `pod ${name} has no sandbox that is ready`);
}
