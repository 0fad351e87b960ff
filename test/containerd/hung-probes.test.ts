import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { SystemClock } from '#base/time/clock.js';
import { probeRunner } from '../../src/node/probes/probe-runner.js';
import { podOf, shell, SyncHarness } from '../integration/sync-harness.js';
import { until } from '../integration/embedded-node.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { findLeftovers } from './harness/leftovers.js';
import { TRIED_RELEASES } from './harness/tried-releases.js';

const NEVER = new AbortController().signal;
/** Each leaves something behind that holds the output of the command open: containerd answers when that ends. */
const SCRIPTS = [
  ['ends in time, its child does not', 'sleep 5661 & exit 0'],
  ['is killed, its child is not', 'sleep 5662 & sleep 5663'],
  ['is killed, a grandchild in a session of its own is not', '(setsid sleep 5664 &) ; sleep 5665'],
] as const;

describe.each(TRIED_RELEASES)('commands of probes on containerd %s', (release) => {
  let containerd: Containerd;
  let client: CriClient;
  let lab: SyncHarness;
  beforeAll(async () => {
    containerd = await startContainerd({ version: release });
    client = new CriClient({ endpoint: containerd.endpoint });
    const folder = await mkdtemp(path.join(tmpdir(), 'podloop-sync-'));
    const { cgroupParent } = containerd.names;
    lab = new SyncHarness({ client, folder, canMount: true, cgroupParent });
  });
  afterAll(async () => {
    await lab[Symbol.asyncDispose]();
    client.close();
    await containerd[Symbol.asyncDispose]();
    expect(await findLeftovers(containerd.names)).toEqual([]);
  });

  it('fail when what they leave behind holds their output open', async () => {
    const container = shell('app', BUSYBOX_IMAGE, 'sleep 1000');
    const pod = podOf('hung-probes', { containers: [container] });
    await lab.syncUntil(pod, () => lab.status(pod)?.phase === 'Running');
    const observed = await lab.observe(pod);
    const run = probeRunner({ clock: new SystemClock(), commands: lab.changes });
    const what = { container, containerId: observed.containers[0]!.id, host: '', neverRestarts: false };
    const probed = { pod: pod.metadata, ...what, type: 'liveness', timeoutMs: 1_000 };
    const probe = async (script: string, type: 'liveness' | 'readiness' | 'startup') => {
      const exec = { command: ['sh', '-c', script] };
      return await run({ ...probed, type, probe: { exec } } as never, NEVER);
    };
    const types = ['liveness', 'readiness', 'startup'] as const;
    const outcomes = await Promise.all(SCRIPTS.map(([, script], index) => probe(script, types[index]!)));
    for (const [index, [, script]] of SCRIPTS.entries()) {
      expect(outcomes[index]).toMatchObject({
        ...{ result: 'failure', isDecisive: false },
        message: `command timed out: ${JSON.stringify(`sh -c ${script}`)} timed out after 1s`,
      });
      expect(outcomes[index]!.unansweredMs).toBeGreaterThan(10_000);
    }
    // What answers is not held up by those that do not, and nothing that is open keeps the changes from settling.
    expect(await probe('echo fine', 'liveness')).toMatchObject({ result: 'success', message: 'fine\n' });
    // A program that is not there cannot be run: that counts neither way.
    expect(
      (await run({ ...probed, probe: { exec: { command: ['/no/such'] } } } as never, NEVER)).result,
    ).toBe('error');
    await lab.changes.settled();
    await lab.end(pod, 1);
    // The end of the container ends the processes, and with them the calls.
    await until(
      () => client.callsInFlight().filter(({ method }) => method === 'ExecSync').length,
      (count) => count === 0,
    );
    await lab.remove(pod);
  });
});
