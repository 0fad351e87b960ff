import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { describeWait } from './describe-wait.js';

const asking = (name: string, { cpu, ports = [] }: { cpu?: string; ports?: object[] }): NodePod =>
  aNodePod({
    ...{ name, source: 'api' },
    spec: {
      containers: [
        {
          ...{ name: 'main', image: 'i', ports: ports as [] },
          ...(cpu !== undefined && { resources: { requests: { cpu } } }),
        },
      ],
    },
  });
const WEB_PORT = [{ containerPort: 80, hostPort: 8080 }];
const [CPU, PODS] = [{ resource: 'cpu' }, { resource: 'pods' }];
const web = asking('web', { cpu: '1', ports: WEB_PORT });

describe('what a pod waits for', () => {
  it('is the pod that has a port of the node', () => {
    expect(describeWait(web, [asking('web-1', { ports: WEB_PORT })], [])).toEqual({
      message: 'Waiting for default/web-1 to end: it still has host port 8080',
      uids: ['uid-web-1'],
    });
  });

  it('is distinguished from the pod itself when it takes the place of one of its name', () => {
    const former = asking('web', { cpu: '1', ports: WEB_PORT });
    expect(describeWait(web, [former], [CPU]).message).toBe(
      'Waiting for the former default/web to end: it still has host port 8080, cpu',
    );
  });

  it('is each pod with what it has, and no pod that has nothing of it', () => {
    const dns = asking('dns', { ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP' }] });
    const both = [...WEB_PORT, { containerPort: 53, hostPort: 53, protocol: 'UDP' }];
    const ending = [dns, asking('idle', {}), asking('busy', { cpu: '2' })];
    expect(describeWait(asking('web', { ports: both }), ending, [CPU])).toEqual({
      message:
        'Waiting for 2 pods to end: default/busy still has cpu; default/dns still has host port 53/UDP',
      uids: ['uid-busy', 'uid-dns'],
    });
    expect(describeWait(asking('web', { ports: both }), ending.reverse(), [CPU]).uids).toEqual([
      'uid-busy',
      'uid-dns',
    ]);
  });

  it('is said of four pods by name, and of the others by number', () => {
    const ending = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => asking(name, {}));
    const { message, uids } = describeWait(web, ending, [PODS]);
    expect(message).toBe(
      `Waiting for 6 pods to end: ${['a', 'b', 'c', 'd'].map((name) => `default/${name} still has a place among the pods`).join('; ')}; and 2 more`,
    );
    expect(uids).toHaveLength(6);
  });

  it('names no pod of another namespace', () => {
    const secret = asking('secret', { cpu: '1' });
    const elsewhere = { ...secret, metadata: { ...secret.metadata, namespace: 'hidden' } };
    expect(describeWait(web, [elsewhere, asking('busy', { cpu: '2' })], [CPU])).toEqual({
      message:
        'Waiting for 2 pods to end: default/busy still has cpu; a pod of another namespace still has cpu',
      uids: ['uid-busy', 'uid-secret'],
    });
    expect(describeWait(web, [elsewhere], [CPU]).message).toBe(
      'Waiting for a pod of another namespace to end: it still has cpu',
    );
  });

  it('is nobody in particular where nobody knows', () => {
    expect(describeWait(web, [asking('idle', {})], [])).toEqual({
      message: 'Waiting for other pods to end',
      uids: [],
    });
  });
});
