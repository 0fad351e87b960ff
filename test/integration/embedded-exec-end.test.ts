import { expect, it } from 'vitest';
import { EmbeddedNode } from './embedded-node.js';

const COMMANDS = 10;

it.runIf(process.getuid?.() === 0)(
  'leaves nothing of a command whose time is over in the container, not even dead (needs root)',
  async () => {
    await using node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none' });
    const pod = await node.runPod('p');
    const containerId = await node.run(pod, 'c', 'exec tail -f /dev/null');
    const exec = async (script: string, timeout: bigint) =>
      node.client.execSync({ containerId, cmd: ['sh', '-c', script], timeout });
    // By name: which of them comes first goes by their numbers, which grow with each command.
    const names = async (): Promise<string[]> =>
      (await exec('cat /proc/[0-9]*/comm', 0n)).stdout.toString().split('\n').sort();
    const before = await names();
    expect(before).toContain('tail');
    await Promise.all(
      Array.from({ length: COMMANDS }, async () =>
        expect(exec('sleep 4321 & sleep 4321', 1n)).rejects.toMatchObject({ code: 'CRI_DEADLINE_EXCEEDED' }),
      ),
    );
    expect(await names()).toEqual(before);
  },
);
