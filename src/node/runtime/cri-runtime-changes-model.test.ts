import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cri } from '../../watch/cri/index.js';
import { FakeClock } from '#testing/index.js';
import { PodloopError } from '#base/errors/errors.js';
import { type ChangingClient } from './changing-client.js';
import { CriRuntimeChanges } from './cri-runtime-changes.js';
import { ANNOTATIONS, LABELS } from '../../watch/observed/labels.js';

/** What happens to one call: it is done or not, and its answer arrives or not. */
type Fate = 'done' | 'lost before' | 'lost after' | 'refused';

const labels = { [LABELS.podUid]: 'u1', [LABELS.nodeInstance]: 'me', [LABELS.containerName]: 'app' };
const sandboxConfig = cri.PodSandboxConfig.fromPartial({
  metadata: { name: 'web', namespace: 'default', uid: 'u1', attempt: 0 },
  labels,
});
const containerConfig = cri.ContainerConfig.fromPartial({
  metadata: { name: 'app', attempt: 0 },
  labels,
  annotations: { [ANNOTATIONS.hash]: 'a' },
});

/** A runtime that reserves names, as containerd does, and treats each call as its fate says; then all is well. */
class FatefulRuntime {
  readonly sandboxes: cri.PodSandbox[] = [];
  readonly containers: cri.Container[] = [];
  starts = 0;
  readonly #fates: Fate[];

  constructor(fates: readonly Fate[]) {
    this.#fates = [...fates];
  }

  get client(): ChangingClient {
    const methods = {
      runPodSandbox: () =>
        this.#meet(() => {
          reserve(this.sandboxes.length);
          const { metadata } = sandboxConfig;
          const state = cri.PodSandboxState.SANDBOX_READY;
          this.sandboxes.push(cri.PodSandbox.fromPartial({ id: 's', metadata: metadata!, labels, state }));
          return { podSandboxId: 's' };
        }),
      createContainer: () =>
        this.#meet(() => {
          reserve(this.containers.length);
          const { metadata, annotations } = containerConfig;
          const names = { metadata: metadata!, labels, annotations };
          this.containers.push(cri.Container.fromPartial({ id: 'c', podSandboxId: 's', ...names }));
          return { containerId: 'c' };
        }),
      startContainer: () =>
        this.#meet(() => {
          const [container] = this.containers;
          if (container!.state !== cri.ContainerState.CONTAINER_CREATED)
            throw failure('CRI_UNKNOWN', 'wrong state');
          container!.state = cri.ContainerState.CONTAINER_RUNNING;
          this.starts++;
          return {};
        }),
      listPodSandbox: () => this.#meet(() => ({ items: this.sandboxes })),
      listContainers: () => this.#meet(() => ({ containers: this.containers })),
      containerStatus: () => this.#meet(() => ({ status: this.containers[0] })),
    };
    return methods as unknown as ChangingClient;
  }

  async #meet<T>(work: () => T): Promise<T> {
    const fate = this.#fates.shift() ?? 'done';
    await Promise.resolve();
    if (fate === 'lost before') throw failure('CRI_UNAVAILABLE', 'connection refused');
    if (fate === 'refused') throw failure('CRI_UNKNOWN', 'out of luck');
    const answer = work();
    if (fate === 'lost after') throw failure('CRI_DEADLINE_EXCEEDED', 'no answer');
    return answer;
  }
}

function failure(code: 'CRI_UNAVAILABLE' | 'CRI_UNKNOWN' | 'CRI_DEADLINE_EXCEEDED', message: string): Error {
  return new PodloopError(code, message);
}

function reserve(taken: number): void {
  if (taken > 0) throw failure('CRI_UNKNOWN', 'failed to reserve: name "web" is reserved for "0123"');
}

it('makes one sandbox and one container, and starts it once, whatever calls are lost on the way', async () => {
  const fate = fc.constantFrom<Fate>('done', 'lost before', 'lost after', 'refused');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fate, { maxLength: 12 }),
      fc.integer({ min: 0, max: 6 }),
      async (fates, restartAt) => {
        const runtime = new FatefulRuntime(fates);
        let changes = new CriRuntimeChanges({ client: runtime.client, clock: new FakeClock() });
        let isRunning = false;
        for (let attempt = 0; attempt < 30 && !isRunning; attempt++) {
          // Whoever dies forgets what it was not sure of.
          if (attempt === restartAt)
            changes = new CriRuntimeChanges({ client: runtime.client, clock: new FakeClock() });
          try {
            const sandbox = await changes.runPodSandbox(sandboxConfig);
            const container = await changes.createContainer(sandbox, containerConfig, sandboxConfig);
            await changes.startContainer(container);
            isRunning = true;
          } catch (error) {
            if (!(error instanceof PodloopError)) throw error;
          }
          expect(runtime.sandboxes.length).toBeLessThanOrEqual(1);
          expect(runtime.containers.length).toBeLessThanOrEqual(1);
        }
        expect(isRunning).toBe(true);
        expect(runtime.starts).toBe(1);
        expect(changes.facts).toMatchObject({ changes: { waiting: 0, inside: 0, outside: 0 } });
      },
    ),
    { numRuns: 500 },
  );
});
