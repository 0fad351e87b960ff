import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const PODS = '/api/v1/namespaces/default/pods';
const NODE = 'lab-a';

describe.skipIf('missing' in found)('static pods of a node of a real control plane', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    agent = await ClusterAgent.prepare(plane, NODE, '--node-labels', 'disk=ssd');
    await write('by-flag', { nodeSelector: { disk: 'ssd', 'kubernetes.io/hostname': NODE } });
    await write('of-zone', { nodeSelector: { zone: 'a' } });
    await write('by-affinity', affinityTo('disk', 'NotIn', 'ssd'));
    await write('by-name', {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [NODE] }] }],
          },
        },
      },
    });
    await write('of-windows', { nodeSelector: { 'kubernetes.io/os': 'windows' } });
    agent.start();
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const write = async (name: string, spec: object): Promise<void> => {
    const container = { name: 'main', image: HOST_IMAGE, command: ['sleep', '1000'] };
    const more = { terminationGracePeriodSeconds: 0, containers: [container] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { ...spec, ...more } };
    await writeFile(join(agent.manifests, `${name}.json`), JSON.stringify(pod));
  };
  const mirrorOf = async (name: string): Promise<Pod> =>
    await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}-${NODE}` });
  const untilPhase = async (name: string, phase: string): Promise<Pod> =>
    await untilAsync(`${name}, that it is ${phase}`, async () => {
      const pod = await mirrorOf(name);
      return pod.status?.phase === phase && pod;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; the agent said:\n${agent.log.slice(-4_000)}`);
    });

  it('run where they select the node, and else fail as with a kubelet', async () => {
    await untilPhase('by-flag', 'Running');
    await untilPhase('by-name', 'Running');
    for (const name of ['of-zone', 'by-affinity']) {
      expect((await untilPhase(name, 'Failed')).status).toMatchObject({
        reason: 'NodeAffinity',
        message:
          "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
      });
    }
    expect((await untilPhase('of-windows', 'Failed')).status).toMatchObject({
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message:
        "Pod was rejected: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    });
    const events = await plane.kubectl(
      'get',
      'events',
      '--field-selector',
      'reason=NodeAffinity',
      '-o',
      'name',
    );
    expect(events.trim().split('\n')).toHaveLength(2);
  });

  it('run as soon as somebody has labelled the node, with a mirror that says so', async () => {
    const before = await mirrorOf('of-zone');
    await plane.kubectl('label', 'node', NODE, 'zone=a');
    const after = await untilPhase('of-zone', 'Running');
    expect(after.metadata?.uid).not.toBe(before.metadata?.uid);
    expect(after.status?.reason).toBeUndefined();
  });

  it('go on when the label is taken away, and over a restart of the agent', async () => {
    const { metadata, status } = await mirrorOf('of-zone');
    await plane.kubectl('label', 'node', NODE, 'zone-');
    await agent.kill();
    agent.start();
    await untilAsync('an agent that has begun', async () =>
      Promise.resolve(agent.log.includes('Started node agent')),
    );
    // It has judged them by now.
    await write('after', { nodeSelector: { disk: 'ssd' } });
    await untilPhase('after', 'Running');
    const now = await mirrorOf('of-zone');
    expect(now.metadata?.uid).toBe(metadata?.uid);
    expect(now.status?.containerStatuses).toEqual(status?.containerStatuses);
  });

  it('run once their manifest is edited, and take their mirror along when it goes', async () => {
    await write('by-affinity', affinityTo('disk', 'In', 'ssd'));
    await untilPhase('by-affinity', 'Running');
    await rm(join(agent.manifests, 'by-affinity.json'));
    await rm(join(agent.manifests, 'of-windows.json'));
    await untilAsync('no mirror of them', async () => {
      const names = await plane.kubectl('get', 'pods', '-o', 'name');
      return !/by-affinity|of-windows/.test(names);
    });
  });

  it('keep their names to themselves, and tell a pod of the cluster that has one of them', async () => {
    const name = `taken-${NODE}`;
    const containers = [{ name: 'main', image: HOST_IMAGE, command: ['sleep', '1000'] }];
    const body = { metadata: { name }, spec: { schedulerName: 'nobody', containers } };
    await plane.admin.request({ method: 'POST', path: PODS, body });
    await write('taken', { tolerations: [{ key: 'disk', operator: 'Exists' }] });
    const eventsOf = async (reason: string): Promise<string> => {
      const output = ['-o', 'jsonpath={.items[*].message}'];
      return await plane.kubectl('get', 'events', '--field-selector', `reason=${reason}`, ...output);
    };
    await untilAsync('an event of the static pod', async () =>
      (await eventsOf('FailedMirrorPod')).includes(`pod default/${name} is there already`),
    );
    const target = { apiVersion: 'v1', kind: 'Node', name: NODE };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
    await plane.admin.request({ method: 'POST', path: `${PODS}/${name}/binding`, body: binding });
    const waiting = await untilAsync('a reason', async () => {
      const pod = await mirrorOf('taken');
      return pod.status?.reason === 'PodNameInUse' && pod;
    });
    expect(waiting.status).toMatchObject({ phase: 'Pending', qosClass: 'BestEffort' });
    expect(waiting.status?.message).toContain(`has the pod default/${name} already`);
    await untilAsync('an event of the pod', async () => (await eventsOf('PodNameInUse')) !== '');
    await plane.admin.request({ method: 'DELETE', path: `${PODS}/${name}` });
    const { metadata, spec } = await untilPhase('taken', 'Running');
    expect(metadata?.annotations).toHaveProperty(['kubernetes.io/config.mirror']);
    expect(spec).toMatchObject({
      tolerations: [
        { key: 'disk', operator: 'Exists' },
        { operator: 'Exists', effect: 'NoExecute' },
      ],
    });
  });
});

function affinityTo(key: string, operator: string, value: string): object {
  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values: [value] }] }] };
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } };
}
