import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Event, type KubeList, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { ClusterAgent, HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { PODS, untilEvent, untilPhase } from './harness/pods-seen.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NODE = 'lab-w';
const STAY = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.2; done'];
const REJECTED = 'Pod was rejected: Predicate';

describe.skipIf('missing' in found)('a node of a real control plane says in a kubelet’s words', () => {
  let plane: ControlPlane;
  let agent: ClusterAgent;

  beforeAll(async () => {
    if ('missing' in found) return;
    // It would take away what the node has rejected, before anybody could read why.
    const controllerManager = ['--controllers=-taint-eviction-controller'];
    plane = await ControlPlane.start({ ...found, args: { controllerManager } });
    agent = await ClusterAgent.start(plane, NODE);
    await untilAsync('a Node that is Ready', async () =>
      isReady(await plane.admin.request<Node>({ method: 'GET', path: `/api/v1/nodes/${NODE}` })),
    );
  });

  afterAll(async () => {
    await agent[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  /** Puts a pod of one container onto the node, whatever a scheduler would say. */
  const bind = async (name: string, container: object = {}, spec: object = {}): Promise<Pod> => {
    const main = { name: 'main', image: HOST_IMAGE, command: STAY, ...container };
    const more = { nodeName: NODE, terminationGracePeriodSeconds: 2, containers: [main], ...spec };
    return plane.admin.request<Pod>({ method: 'POST', path: PODS, body: { metadata: { name }, spec: more } });
  };
  /** Waits for an event of each of these reasons with such a message. */
  const untilSaid = async (name: string, words: Readonly<Record<string, RegExp>>): Promise<void> => {
    const path = '/api/v1/namespaces/default/events';
    const query = { fieldSelector: `involvedObject.name=${name}` };
    for (const [reason, message] of Object.entries(words)) {
      await untilAsync(`${name}: ${reason} ${String(message)}`, async () => {
        const { items = [] } = await plane.admin.request<KubeList<Event>>({ method: 'GET', path, query });
        return items.some((each) => each.reason === reason && message.test(each.message ?? ''));
      });
    }
  };

  it('that a port is taken', async () => {
    const ports = [{ containerPort: 8080, hostPort: 38_081 }];
    await bind('holder', { ports });
    await untilPhase(plane, 'holder', 'Running');
    await bind('other', { ports });
    expect(await untilPhase(plane, 'other', 'Failed')).toMatchObject({
      reason: 'NodePorts',
      message: `${REJECTED} NodePorts failed: node(s) didn't have free ports for the requested pod ports`,
    });
  });

  it('that a pod does not tolerate what drives pods off the node', async () => {
    await plane.kubectl('taint', 'node', NODE, 'lab=away:NoExecute');
    await sleep(2_000);
    await bind('delicate');
    expect(await untilPhase(plane, 'delicate', 'Failed')).toMatchObject({
      reason: 'TaintToleration',
      message: `${REJECTED} TaintToleration failed: node(s) had taints that the pod didn't tolerate`,
    });
    await bind('robust', {}, { tolerations: [{ key: 'lab', operator: 'Exists' }] });
    await untilPhase(plane, 'robust', 'Running');
    await plane.kubectl('taint', 'node', NODE, 'lab-');
  });

  it('that a container is made, started and ended', async () => {
    await bind('plain', { imagePullPolicy: 'IfNotPresent' });
    await untilPhase(plane, 'plain', 'Running');
    await plane.kubectl('delete', 'pod', 'plain');
    await untilSaid('plain', {
      Pulled: /^Container image ".+" already present on machine and can be accessed by the pod$/,
      Created: /^Container created$/,
      Started: /^Container started$/,
      Killing: /^Stopping container main$/,
    });
  });

  it('that a container fails again and again', async () => {
    const { metadata } = await bind('failing', { command: ['sh', '-c', 'exit 3'] });
    const pod = `failing_default(${metadata?.uid})`;
    expect(await untilEvent(plane, 'failing', 'BackOff')).toBe(
      `Back-off restarting failed container main in pod ${pod}`,
    );
    await untilAsync('the reason on the pod', async () => {
      const { status } = await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/failing` });
      return status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff';
    });
  });

  it('that probes fail, and what comes of it', async () => {
    await bind('sick', { livenessProbe: { exec: { command: ['false'] }, periodSeconds: 1 } });
    const command = ['sh', '-c', 'echo not yet; exit 1'];
    await bind('slow', { readinessProbe: { exec: { command }, periodSeconds: 1 } });
    await untilSaid('sick', {
      Unhealthy: /^Liveness probe failed: /,
      Killing: /^Container main failed liveness probe, will be restarted$/,
    });
    await untilSaid('slow', { Unhealthy: /^Readiness probe failed: not yet/ });
  });

  it('that the runtime does not have what a runtime class asks for', async () => {
    await plane.admin.request({
      ...{ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses' },
      body: { metadata: { name: 'walled' }, handler: 'runsc' },
    });
    await untilAsync('a pod that is admitted', async () =>
      bind('walled', {}, { runtimeClassName: 'walled' }),
    );
    await untilSaid('walled', {
      FailedCreatePodSandBox: /^Failed to create pod sandbox: .*no runtime for "runsc" is configured/,
    });
  });
});
