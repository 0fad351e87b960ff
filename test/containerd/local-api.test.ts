import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { LocalApiClient } from '../integration/local-api-client.js';
import { AgentNode } from '../integration/pod-stories/agent-node.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { BUSYBOX_IMAGE } from './harness/image.js';
import { TRIED_RELEASES } from './harness/tried-releases.js';
import { findLeftovers } from './harness/leftovers.js';

const PODS = '/api/v1/namespaces/default/pods';
const WEB = `${PODS}/web-test`;
const SCRIPT =
  'trap "exit 0" TERM; (while :; do echo forwarded | nc -l -p 8080; done) & i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done';
const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 2,
    containers: [{ name: 'main', image: BUSYBOX_IMAGE, command: ['sh', '-c', SCRIPT] }],
  },
};

describe.each(TRIED_RELEASES)('the API of an agent on containerd %s', (version) => {
  let folder: string;
  let containerd: Containerd;
  let node: AgentNode;
  let api: LocalApiClient;

  beforeAll(async () => {
    containerd = await startContainerd({ version });
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-api-'));
    const { cgroupParent: cgroupRoot } = containerd.names;
    node = await AgentNode.start({
      folder,
      endpoint: containerd.endpoint,
      agent: { cgroupRoot, stopPods: true },
    });
    api = new LocalApiClient(node.agent.socket);
    await writeFile(path.join(node.manifestFolder, 'web.json'), JSON.stringify(POD));
  });
  afterAll(async () => {
    await node.stop();
    const client = new CriClient({ endpoint: containerd.endpoint });
    expect((await client.listPodSandbox({})).items).toEqual([]);
    client.close();
    await containerd[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
    expect(await findLeftovers(containerd.names)).toEqual([]);
  });

  it('shows the pod as it begins to run', async () => {
    const phases = async () => (await api.ask(PODS)).text;
    await expect.poll(phases, { timeout: 60_000 }).toContain('"phase":"Running"');
  });

  it('runs commands over WebSocket up to v4', async () => {
    const words = ['sh', '-c', 'head -c 4; echo oh >&2; exit 3'].map(
      (word) => `command=${encodeURIComponent(word)}`,
    );
    const exec = `${WEB}/exec?${words.join('&')}&stdin=true&stdout=true&stderr=true`;
    const end = await api.stream(exec, ['v4.channel.k8s.io'], 'said');
    expect(end).toMatchObject({ protocol: 'v4.channel.k8s.io', stdout: 'said', stderr: 'oh\n' });
    expect(end.status).toMatchObject({ details: { causes: [{ reason: 'ExitCode', message: '3' }] } });
  });

  it('does not speak v5, of which a client learns before anything is run', async () => {
    const exec = `${WEB}/exec?command=true&stdout=true`;
    const outcome = await api.stream(exec, ['v5.channel.k8s.io']).then(
      ({ protocol }) => protocol,
      (error: unknown) => String(error),
    );
    expect(outcome).toContain('403');
    expect((await api.stream(exec, ['v5.channel.k8s.io', 'v4.channel.k8s.io'])).protocol).toBe(
      'v4.channel.k8s.io',
    );
  });

  it('runs commands over SPDY, with an end of their input', async () => {
    const exec = `${WEB}/exec?command=cat&stdin=true&stdout=true`;
    const client = await api.spdy(exec, 'v4.channel.k8s.io');
    const error = await client.open({ streamtype: 'error' });
    const stdin = await client.open({ streamtype: 'stdin' });
    const stdout = await client.open({ streamtype: 'stdout' });
    await stdout.replied;
    stdin.write('said');
    stdin.end();
    // It resets streams that are over.
    await expect.poll(() => error.data.toString()).toContain('"Success"');
    expect(stdout.data.toString()).toBe('said');
    client.socket.destroy();
  });

  it('joins the streams of what runs', async () => {
    const client = await api.spdy(`${WEB}/attach?stdout=true`, 'v4.channel.k8s.io');
    await client.open({ streamtype: 'error' });
    const stdout = await client.open({ streamtype: 'stdout' });
    await expect.poll(() => stdout.data.toString()).toMatch(/line \d+\n/);
    client.socket.destroy();
  });

  it('forwards ports', async () => {
    const client = await api.spdy(`${WEB}/portforward`, 'portforward.k8s.io');
    await client.open({ streamtype: 'error', port: '8080', requestid: '0' });
    const data = await client.open({ streamtype: 'data', port: '8080', requestid: '0' });
    await expect.poll(() => data.data.toString(), { timeout: 10_000 }).toBe('forwarded\n');
    client.socket.destroy();
  });

  it('has the logs, and ends one that is followed with its container', async () => {
    expect((await api.ask(`${WEB}/log?limitBytes=7`)).text).toBe('line 1\n');
    const followed = api.ask(`${WEB}/log?follow=true&tailLines=1`);
    expect((await api.ask(WEB, 'DELETE')).code).toBe(200);
    expect((await followed).text).toMatch(/^line \d+\n/);
    await expect
      .poll(async () => (await api.json(PODS)) as object, { timeout: 30_000 })
      .toMatchObject({ items: [] });
  });
});
