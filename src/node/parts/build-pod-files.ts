import { readFile } from 'node:fs/promises';
import { type CriClient, type PodPaths } from '#watch';
import { PodFiles } from '../resources/stats/pod-files.js';

/** What {@link buildPodFiles} needs. */
export interface BuildPodFilesOptions {
  readonly client: Pick<CriClient, 'containerStatus'>;
  readonly paths: Pick<PodPaths, 'podDir'>;
  /** Ends what goes on in the background. */
  readonly ending: AbortSignal;
}

/** Timeout for one container: nobody waits for one that hangs. */
const INSPECT_TIMEOUT_MS = 10_000;

/** Wires the part that counts files of pods outside of volumes, layers and logs. */
export function buildPodFiles({ client, paths, ending }: BuildPodFilesOptions): PodFiles {
  return new PodFiles({
    podDir: (uid) => paths.podDir(uid),
    inspect: async (containerId) => {
      const options = { timeoutMs: INSPECT_TIMEOUT_MS, signal: ending };
      const { info } = await client.containerStatus({ containerId, verbose: true }, options);
      return info['info'] ?? '';
    },
    readMounts: async (pid) => readFile(`/proc/${pid}/mountinfo`, 'utf8'),
  });
}
