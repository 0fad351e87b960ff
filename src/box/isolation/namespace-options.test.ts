import { describe, expect, it } from 'vitest';
import {
  ContainerConfig,
  NamespaceMode,
  PodSandboxConfig,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { containerPidScope, sandboxNamespaces } from './namespace-options.js';

const { POD, CONTAINER, NODE, TARGET } = NamespaceMode;
const OWN = { network: true, ipc: true, pid: true };

function container(pid: NamespaceMode, targetId = '') {
  return ContainerConfig.fromPartial({ linux: { securityContext: { namespaceOptions: { pid, targetId } } } });
}

describe('sandboxNamespaces', () => {
  it('are its own unless it asks for the host’s', () => {
    expect(sandboxNamespaces(PodSandboxConfig.fromPartial({}))).toEqual(OWN);
    const config = PodSandboxConfig.fromPartial({
      linux: { securityContext: { namespaceOptions: { network: NODE, ipc: POD, pid: CONTAINER } } },
    });
    expect(sandboxNamespaces(config)).toEqual({ network: false, ipc: true, pid: true });
  });
});

describe('containerPidScope', () => {
  it('is the pod’s unless told', () => {
    expect(containerPidScope(ContainerConfig.fromPartial({}), OWN)).toEqual({ kind: 'pod' });
    expect(containerPidScope(container(POD), OWN)).toEqual({ kind: 'pod' });
    expect(containerPidScope(container(CONTAINER), OWN)).toEqual({ kind: 'container' });
    expect(containerPidScope(container(NODE), OWN)).toEqual({ kind: 'host' });
    expect(containerPidScope(container(TARGET, 'x'), OWN)).toEqual({ kind: 'target', containerId: 'x' });
  });

  it('is the host’s in a pod of the host’s, unless it is the container’s own', () => {
    const shared = { ...OWN, pid: false };
    expect(containerPidScope(container(POD), shared)).toEqual({ kind: 'host' });
    expect(containerPidScope(container(CONTAINER), shared)).toEqual({ kind: 'container' });
  });
});
