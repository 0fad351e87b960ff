import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentNode } from '../integration/pod-stories/agent-node.js';
import { PodloopProcess, type PodloopProcessOptions, runPodloop } from '../integration/podloop-process.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { findLeftovers } from './harness/leftovers.js';

const SCRIPT =
  'trap "exit 0" TERM; (while :; do echo forwarded | nc -l -p 8080; done) & while :; do echo line; sleep 0.2; done';
const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 2,
    containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', SCRIPT] }],
  },
};

// Its streaming server speaks no WebSocket in which the end of an input can be told: SPDY it is.
describe('kubectl’s words on containerd 1.7', () => {
  let folder: string;
  let containerd: Containerd;
  let node: AgentNode;

  beforeAll(async () => {
    containerd = await startContainerd({ version: '1.7' });
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-words-'));
    const { cgroupParent: cgroupRoot } = containerd.names;
    const agent = { cgroupRoot, stopPods: true };
    node = await AgentNode.start({ folder, endpoint: containerd.endpoint, agent });
    await writeFile(path.join(node.manifestFolder, 'web.json'), JSON.stringify(POD));
  });
  afterAll(async () => {
    await node.stop();
    await containerd[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
    expect(await findLeftovers(containerd.names)).toEqual([]);
  });

  const env = (): Record<string, string> => ({ PODLOOP_SOCKET: node.agent.socket });
  const podloop = (
    args: readonly string[],
    options: PodloopProcessOptions = {},
  ): ReturnType<typeof runPodloop> => runPodloop(args, { ...options, env: env() });

  it('show the pod as it begins to run', async () => {
    const row = async (): Promise<string> => (await podloop(['get', 'pods', '--no-headers'])).stdout;
    await expect.poll(row, { timeout: 60_000 }).toMatch(/^web-test {3}1\/1 {3}Running {3}0 /);
  });

  it('run commands, with their exit codes and the end of their input', async () => {
    const failing = await podloop(['exec', 'web-test', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
    expect(failing).toEqual({
      code: 3,
      stdout: 'out',
      stderr: 'err\ncommand terminated with exit code 3',
    });
    const input = `${'x'.repeat(300_000)}\nhi`;
    const cat = await podloop(['exec', '-i', 'web-test', '--', 'cat'], { stdin: input });
    expect(cat).toEqual({ code: 0, stdout: input, stderr: '' });
  });

  it('copy both ways', async () => {
    const source = path.join(folder, 'source');
    await mkdir(source);
    await writeFile(path.join(source, 'big'), Buffer.alloc(1_000_000, 'ab'));
    expect(await podloop(['cp', source, 'web-test:/tmp/there'])).toMatchObject({ code: 0 });
    expect(await podloop(['cp', 'web-test:/tmp/there', path.join(folder, 'back')])).toMatchObject({
      code: 0,
    });
    const big = await readFile(path.join(folder, 'back/big'));
    expect(big.equals(await readFile(path.join(source, 'big')))).toBe(true);
  });

  it('forward ports and follow logs', async () => {
    await using forwarding = new PodloopProcess(['port-forward', 'web-test', ':8080'], { env: env() });
    const line = await forwarding.line('stdout', /^Forwarding from/);
    const port = Number(/:(\d+) /.exec(line)![1]);
    expect(await text(connect(port, '127.0.0.1'))).toBe('forwarded\n');
    await using following = new PodloopProcess(['logs', '-f', '--tail=1', 'web-test'], { env: env() });
    await following.line('stdout', /^line$/);
    expect(await following.end('SIGINT')).toEqual({ code: 130, signal: null });
  });
});
