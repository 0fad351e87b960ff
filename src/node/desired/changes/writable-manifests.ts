import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ManifestWriter } from '../manifests/manifest-writer.js';
import { findForbidden, type NodePolicy } from '#kube/node/node-policy.js';
import { type Clock } from '#base/time/clock.js';
import { type ManifestPlaces } from '../../parts/pod-sources.js';

/** What {@link WritableManifests} needs. */
export interface WritableManifestsOptions {
  readonly clock: Clock;
  readonly nodeName: string;
  /** Undefined where manifests come from elsewhere. */
  readonly manifests: ManifestPlaces | undefined;
  /** What pods may not ask for here. */
  readonly policy: NodePolicy;
}

/** How long to wait for the agent to see a changed file, before the answer is sent all the same. */
const SEEN_LIMIT_MS = 3_000;
const LOOK_MS = 25;
const NO_FOLDER = 'the agent has no folder of manifests: they come from a URL or from standard input';

/** The manifests of an agent that its API may change: one writer for all requests. */
export class WritableManifests {
  readonly #options: WritableManifestsOptions;
  readonly #writer: ManifestWriter | undefined;

  constructor(options: WritableManifestsOptions) {
    const { manifests, nodeName, policy } = options;
    this.#options = options;
    this.#writer =
      manifests === undefined
        ? undefined
        : new ManifestWriter({
            ...{ folder: resolve(manifests.path), nodeName, findFile: manifests.findFile },
            findForbidden: (pod) => findForbidden(pod, policy),
          });
  }

  /** The writer, or a sentence why nothing can be written. */
  async open(): Promise<ManifestWriter | string> {
    const { manifests } = this.#options;
    if (manifests === undefined || this.#writer === undefined) return NO_FOLDER;
    const facts = await stat(manifests.path).catch(() => undefined);
    if (facts === undefined) return `the folder of manifests ${manifests.path} does not exist`;
    if (!facts.isDirectory()) return `the agent reads the one file ${manifests.path}: change it there`;
    return this.#writer;
  }

  /** Resolves once the agent has read what was changed, or after three seconds. */
  async untilSeen(isSeen: () => boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    while (!isSeen() && clock.monotonicMs() < startedMs + SEEN_LIMIT_MS && !signal.aborted) {
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
  }
}
