import { describe, expect, it } from 'vitest';
import { copyPod, type CopyRequest } from './copy-pod.js';

const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: {
    ...{ name: 'web-n1', namespace: 'team', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
    ...{ labels: { app: 'web' }, ownerReferences: [{ uid: 'o' }] },
    annotations: { 'podloop.dev/manifest-hash': 'h', note: 'mine' },
  },
  spec: {
    ...{ nodeName: 'n1', hostname: 'web' },
    containers: [
      {
        ...{ name: 'main', image: 'a:1', args: ['serve'], env: [{ name: 'A', value: '1' }] },
        ...{ readinessProbe: {}, livenessProbe: {}, startupProbe: {} },
        ...{ ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }] },
        ...{ securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
      },
      { name: 'other', image: 'b:1', ports: [{ containerPort: 82, hostPort: 82 }] },
    ],
    ephemeralContainers: [{ name: 'added', image: 'c:1' }],
  },
  status: { phase: 'Running' },
};
const DEBUGGER = { name: 'debugger', image: 'tools:1' };

const copy = (more: Partial<CopyRequest>) =>
  copyPod(POD, { name: 'copy', container: DEBUGGER, sharesProcesses: false, images: {}, ...more });
const containersOf = (object: object) =>
  (object as { readonly spec: { readonly containers: readonly object[] } }).spec.containers;

describe('a copy of a pod for debugging', () => {
  it('has a container more, and nothing by which the pod is found, probed or reached from outside', () => {
    const main = {
      ...{ name: 'main', image: 'a:1', args: ['serve'], env: [{ name: 'A', value: '1' }] },
      ports: [{ containerPort: 80 }],
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    };
    expect(copy({})).toEqual({
      copy: {
        ...{ apiVersion: 'v1', kind: 'Pod' },
        metadata: { name: 'copy', namespace: 'team', annotations: { note: 'mine' } },
        spec: { hostname: 'web', containers: [main, { name: 'other', image: 'b:1' }, DEBUGGER] },
      },
      container: 'debugger',
    });
  });

  it('has sidecars without probes and ports of the node, too', () => {
    const sidecar = { name: 'proxy', image: 'p:1', restartPolicy: 'Always' };
    const ports = [{ containerPort: 1 }, { containerPort: 2, hostPort: 2 }];
    const pod = {
      ...POD,
      spec: { ...POD.spec, initContainers: [{ ...sidecar, ports, startupProbe: {}, livenessProbe: {} }] },
    };
    const request = { name: 'copy', container: DEBUGGER, sharesProcesses: false, images: {} };
    expect(copyPod(pod, request).copy).toMatchObject({
      spec: { initContainers: [{ ...sidecar, ports: [{ containerPort: 1 }] }] },
    });
    expect(JSON.stringify(copyPod(pod, request).copy)).not.toContain('Probe');
  });

  it('has another command in a container of the pod, which may do what it might before', () => {
    const securityContext = { capabilities: { add: ['SYS_PTRACE'] } } as object;
    const container = { name: 'main', command: ['sh'], tty: true, env: [{ name: 'B', value: '2' }] };
    const { copy: made, container: name } = copy({ container: { ...container, ...{ securityContext } } });
    expect(name).toBe('main');
    expect(containersOf(made)).toHaveLength(2);
    expect(containersOf(made)[0]).toEqual({
      ...{ name: 'main', image: 'a:1', command: ['sh'], tty: true, ports: [{ containerPort: 80 }] },
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    });
  });

  it('has other images, and then needs no container', () => {
    const images = { main: 'a:2', '*': 'z:1' };
    const { copy: made, container } = copy({ container: { name: 'debugger' }, images });
    expect(container).toBeUndefined();
    expect(containersOf(made)).toMatchObject([{ image: 'a:2' }, { image: 'z:1' }]);
    expect(() => copy({ container: { name: 'debugger' } })).toThrow('you must specify an existing container');
  });

  it('shares processes where that is wanted', () => {
    expect(copy({ sharesProcesses: true }).copy).toMatchObject({ spec: { shareProcessNamespace: true } });
  });
});
