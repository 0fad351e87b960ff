import { describe, expect, it } from 'vitest';
import { cri } from '../../../watch/cri/index.js';
import { STOP_SIGNALS } from '#kube/container/stop-signals.js';
import { aSpecPod, aSpecContainer, someNodeFacts } from '#support/builders/node-pods.js';
import { buildContainerConfig } from './build-container-config.js';
import { buildSandboxConfig } from './build-sandbox-config.js';
import { ContainerEnvironment } from './container-environment.js';
import { ANNOTATIONS, LABELS } from '../../../watch/observed/labels.js';
import { PodPaths } from '../../../watch/observed/pod-paths.js';

const node = someNodeFacts();
const paths = new PodPaths({ rootDir: '/root', podLogsDir: '/logs' });
const sandboxFacts = {
  ...{ node, paths, attempt: 2, cgroupParent: '/kubepods/podu1' },
  annotations: { 'podloop.dev/sandbox-hash': 'cafe' },
};
const containerFacts = {
  environment: new ContainerEnvironment(),
  ...({ node, kind: 'container', restartCount: 3, imageRef: 'sha256:1234', mounts: [] } as const),
  annotations: { [ANNOTATIONS.hash]: 'beef' },
};

describe('the configuration of a sandbox', () => {
  it('bears the kubelet’s labels, the pod’s own, and our mark', () => {
    const pod = aSpecPod(
      {},
      { labels: { app: 'web', [LABELS.podUid]: 'forged' }, annotations: { note: 'x' } },
    );
    const config = buildSandboxConfig(pod, sandboxFacts);
    expect(config.metadata).toEqual({ name: 'web', namespace: 'default', uid: 'u1', attempt: 2 });
    expect(config.labels).toEqual({
      app: 'web',
      [LABELS.podName]: 'web',
      [LABELS.podNamespace]: 'default',
      [LABELS.podUid]: 'u1',
      [LABELS.nodeInstance]: 'me',
    });
    expect(config.annotations).toEqual({ note: 'x', 'podloop.dev/sandbox-hash': 'cafe' });
    expect(config.logDirectory).toBe('/logs/default_web_u1');
    expect(config.hostname).toBe('web');
    expect(config.linux?.cgroupParent).toBe('/kubepods/podu1');
    expect(config.dnsConfig?.servers).toEqual(['192.0.2.53']);
  });

  it('maps host ports, also of sidecars, and none that a pod on the node’s network has anyway', () => {
    const ports = [
      { containerPort: 80, hostPort: 8080, hostIP: '127.0.0.1' },
      { containerPort: 53, hostPort: 53, protocol: 'UDP' } as const,
      { containerPort: 9 },
    ];
    const sidecar = aSpecContainer({
      name: 's',
      restartPolicy: 'Always',
      ports: [{ containerPort: 1, hostPort: 1 }],
    });
    const init = aSpecContainer({ name: 'i', ports: [{ containerPort: 2, hostPort: 2 }] });
    const spec = { containers: [aSpecContainer({ ports })], initContainers: [init, sidecar] };
    const config = buildSandboxConfig(aSpecPod(spec), sandboxFacts);
    expect(config.portMappings).toEqual([
      { protocol: cri.Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '127.0.0.1' },
      { protocol: cri.Protocol.UDP, containerPort: 53, hostPort: 53, hostIp: '' },
      { protocol: cri.Protocol.TCP, containerPort: 1, hostPort: 1, hostIp: '' },
    ]);
    const onNode = buildSandboxConfig(aSpecPod({ ...spec, hostNetwork: true }), sandboxFacts);
    expect(onNode).toMatchObject({ portMappings: [], hostname: '' });
  });
});

describe('the configuration of a container', () => {
  it('bears all that is needed to end it when its manifest is gone', () => {
    const preStop = { exec: { command: ['bye'] } };
    const ports = [{ name: 'http', containerPort: 80, protocol: 'TCP' } as const];
    const container = aSpecContainer({ lifecycle: { preStop }, ports });
    const pod = aSpecPod(
      { containers: [container] },
      { deletionGracePeriodSeconds: 5, labels: { app: 'web' } },
    );
    const config = buildContainerConfig(pod, container, containerFacts);
    expect(config.labels).toEqual({
      [LABELS.podName]: 'web',
      [LABELS.podNamespace]: 'default',
      [LABELS.podUid]: 'u1',
      [LABELS.nodeInstance]: 'me',
      [LABELS.containerName]: 'app',
    });
    expect(config.annotations).toEqual({
      [ANNOTATIONS.hash]: 'beef',
      [ANNOTATIONS.type]: 'container',
      [ANNOTATIONS.restartCount]: '3',
      [ANNOTATIONS.terminationMessagePath]: '/dev/termination-log',
      [ANNOTATIONS.terminationMessagePolicy]: 'File',
      [ANNOTATIONS.podDeletionGracePeriod]: '5',
      [ANNOTATIONS.podTerminationGracePeriod]: '30',
      [ANNOTATIONS.preStopHandler]: JSON.stringify(preStop),
      [ANNOTATIONS.ports]: JSON.stringify(ports),
    });
    expect(config).toMatchObject({
      metadata: { name: 'app', attempt: 3 },
      image: { image: 'sha256:1234', userSpecifiedImage: 'registry.example/app:1' },
      logPath: 'app/3.log',
    });
  });

  it('expands variables in values, command and arguments', () => {
    const container = aSpecContainer({
      command: ['sh', '-c', 'echo $(WHO) $$(WHO) $(NOBODY)'],
      args: ['$(GREETING)'],
    });
    const environment = new ContainerEnvironment();
    environment.setExpanded('WHO', 'wörld');
    environment.setExpanded('GREETING', 'hello $(WHO)');
    const facts = { ...containerFacts, environment };
    const config = buildContainerConfig(aSpecPod({ containers: [container] }), container, facts);
    expect(config.command).toEqual(['sh', '-c', 'echo wörld $(WHO) $(NOBODY)']);
    expect(config.args).toEqual(['hello wörld']);
    expect(config.envs.map(({ key, value }) => `${key}=${value.toString()}`)).toEqual([
      'WHO=wörld',
      'GREETING=hello wörld',
    ]);
  });

  it('has its mounts as they are given', () => {
    const container = aSpecContainer();
    const config = buildContainerConfig(aSpecPod(), container, {
      ...containerFacts,
      mounts: [
        { containerPath: '/data', hostPath: '/host', readOnly: true, propagation: 'bidirectional' },
        { containerPath: '/b', hostPath: '/c', readOnly: false },
      ],
    });
    expect(config.mounts).toMatchObject([
      {
        ...{ containerPath: '/data', hostPath: '/host', readonly: true },
        propagation: cri.MountPropagation.PROPAGATION_BIDIRECTIONAL,
      },
      { containerPath: '/b', readonly: false, propagation: cri.MountPropagation.PROPAGATION_PRIVATE },
    ]);
  });

  it('mounts images as the runtime resolved them, with the path in them', () => {
    const config = buildContainerConfig(aSpecPod(), aSpecContainer(), {
      ...containerFacts,
      volumeImages: new Map([['data:1', 'sha256:5678']]),
      mounts: [
        {
          ...{ containerPath: '/data', hostPath: '', readOnly: true },
          image: { reference: 'data:1', subPath: 'a/b' },
        },
      ],
    });
    expect(config.mounts).toMatchObject([
      {
        ...{ containerPath: '/data', hostPath: '', readonly: true, imageSubPath: 'a/b' },
        image: { image: 'sha256:5678', userSpecifiedImage: 'data:1' },
      },
    ]);
  });

  it('has its users in the range of the pod, and files with the owners that they have on the node', () => {
    const idRange = { hostId: 131_072, length: 65_536 };
    const mappings = [{ hostId: 131_072, containerId: 0, length: 65_536 }];
    const usersOf = (context: { namespaceOptions?: cri.NamespaceOption | undefined } | undefined) =>
      context?.namespaceOptions?.usernsOptions;
    const pod = aSpecPod({ hostUsers: false });
    const users = { mode: cri.NamespaceMode.POD, uids: mappings, gids: mappings };
    const sandbox = buildSandboxConfig(pod, { ...sandboxFacts, idRange });
    expect(usersOf(sandbox.linux?.securityContext)).toEqual(users);
    const mounts = [
      { containerPath: '/data', hostPath: '/host', readOnly: true },
      { containerPath: '/i', hostPath: '', image: { reference: 'data:1', subPath: '' }, readOnly: true },
    ];
    const config = buildContainerConfig(pod, aSpecContainer(), {
      ...{ ...containerFacts, idRange, mounts, kind: 'ephemeral', targetId: 'c1' },
    });
    expect(usersOf(config.linux?.securityContext)).toEqual(users);
    expect(config.linux?.securityContext?.namespaceOptions?.targetId).toBe('c1');
    for (const mount of config.mounts) {
      expect(mount).toMatchObject({ uidMappings: mappings, gidMappings: mappings });
    }
    // Those of the node need no words.
    const plain = buildContainerConfig(aSpecPod(), aSpecContainer(), { ...containerFacts, mounts });
    expect(usersOf(plain.linux?.securityContext)).toBeUndefined();
    expect(plain.mounts[0]?.uidMappings).toEqual([]);
  });

  it.each(STOP_SIGNALS)('may ask to be ended by %s', (stopSignal) => {
    const container = aSpecContainer({ lifecycle: { stopSignal } });
    const config = buildContainerConfig(aSpecPod({ containers: [container] }), container, containerFacts);
    const name = Object.entries(cri.Signal).find(([, value]) => value === config.stopSignal)?.[0];
    expect(name?.replace('PLUS', '+').replace('MINUS', '-')).toBe(stopSignal);
  });
});
