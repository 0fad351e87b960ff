import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PodPaths } from '../runtime/pod-paths.js';
import { FakeClock } from '../testing/fake-clock.js';
import { FakeRuntimeChanges } from '../testing/fake-runtime-changes.js';
import { aNodePod, someNodeFacts } from '../testing/node-pods.js';
import { SandboxStarter, type SandboxOutcome } from './start-sandbox.js';
import { type PodCgroupParents } from './sync-pod-ports.js';

const NEVER = new AbortController().signal;
const pod = aNodePod({ hostNetwork: true });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-sandbox-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function makeStarter(cgroups?: PodCgroupParents): {
  runtime: FakeRuntimeChanges;
  start: (sandboxId?: string) => Promise<SandboxOutcome>;
} {
  const runtime = new FakeRuntimeChanges({ clock: new FakeClock() });
  const starter = new SandboxStarter({
    ...{ changes: runtime, events: { record: () => undefined }, node: () => someNodeFacts(), cgroups },
    paths: new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') }),
  });
  const start = (sandboxId?: string): Promise<SandboxOutcome> => {
    const observed = runtime.observe(pod.metadata.uid);
    const actions = { sandboxAttempt: 0, sandboxId };
    return starter.start({ pod, observed, actions, startTime: undefined }, NEVER);
  };
  return { runtime, start };
}

const parentIn = (outcome: SandboxOutcome): string | undefined =>
  'sandbox' in outcome ? outcome.sandbox.config.linux?.cgroupParent : outcome.failure.message;

describe('the cgroup parent of a sandbox', () => {
  it('is prepared for a new one, and written on it', async () => {
    const { runtime, start } = makeStarter({
      prepare: ({ metadata }) => Promise.resolve(`/pods/${metadata.uid}`),
      findParent: () => Promise.reject(new Error('not asked')),
    });
    expect(parentIn(await start())).toBe('/pods/u1');
    const { annotations, linux } = runtime.sandboxConfigOf('web-sandbox-0');
    expect(linux?.cgroupParent).toBe('/pods/u1');
    expect(annotations).toMatchObject({ 'podloop.dev/cgroup-parent': '/pods/u1' });
  });

  it('stays what it was made with, for containers that are started in it later', async () => {
    let layout = '/old';
    const { runtime, start } = makeStarter({
      prepare: () => Promise.resolve(layout),
      findParent: (_pod, sandbox) =>
        Promise.resolve(sandbox.annotations['podloop.dev/cgroup-parent'] ?? 'not told'),
    });
    await start();
    layout = '/new';
    expect(parentIn(await start('web-sandbox-0'))).toBe('/old');
    expect(runtime.calls.filter((call) => call.startsWith('runPodSandbox'))).toHaveLength(1);
  });

  it('is waited for where only the runtime can tell it', async () => {
    const { start } = makeStarter({
      prepare: () => Promise.resolve(''),
      findParent: () => Promise.reject(new Error('the runtime is away')),
    });
    await start();
    const outcome = await start('web-sandbox-0');
    expect(outcome).toMatchObject({ failure: { reason: 'ConfigPodSandboxError' } });
    expect(parentIn(outcome)).toContain('the runtime is away');
  });

  it('is the runtime’s own choice where nobody has another', async () => {
    const { start } = makeStarter();
    expect(parentIn(await start())).toBe('');
  });
});
