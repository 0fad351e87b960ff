import { describe, expect, it } from 'vitest';
import { cri } from '../../../watch/cri/index.js';
import { type SecurityContext } from '#kube/container/container.js';
import { type PodSecurityContext } from '#kube/pod/pod.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import {
  computeContainerSecurity,
  computeNamespaces,
  computeSandboxSecurity,
  type ContainerSecurityFacts,
  findRootUser,
  type ImageUser,
} from './security-context.js';

const { POD, CONTAINER, NODE } = cri.NamespaceMode;
const { RuntimeDefault, Unconfined } = cri.SecurityProfile_ProfileType;
const FACTS: ContainerSecurityFacts = {
  seccompDir: '/profiles',
  seccompDefault: false,
  maskedPaths: ['/sys/hot'],
};

it('shares with the node only what a pod asks for', () => {
  expect(computeNamespaces(aSpecPod().spec)).toMatchObject({ network: POD, ipc: POD, pid: CONTAINER });
  const onNode = aSpecPod({ hostNetwork: true, hostPID: true, hostIPC: true });
  expect(computeNamespaces(onNode.spec)).toMatchObject({ network: NODE, ipc: NODE, pid: NODE });
  expect(computeNamespaces(aSpecPod({ shareProcessNamespace: true }).spec).pid).toBe(POD);
});

describe('a container’s security context', () => {
  const securityOf = (
    own?: SecurityContext,
    pod?: PodSecurityContext,
    facts?: Partial<ContainerSecurityFacts>,
  ) => {
    const container = aSpecContainer(own === undefined ? {} : { securityContext: own });
    const spec = { containers: [container], ...(pod === undefined ? {} : { securityContext: pod }) };
    return computeContainerSecurity(aSpecPod(spec), container, { ...FACTS, ...facts });
  };

  it('asks for nothing when nobody does', () => {
    const security = securityOf();
    expect(security).toMatchObject({
      ...{ capabilities: undefined, privileged: false, readonlyRootfs: false, noNewPrivs: false },
      ...{ runAsUser: undefined, runAsGroup: undefined, supplementalGroups: [], selinuxOptions: undefined },
    });
    expect(security.maskedPaths).toContain('/proc/kcore');
    expect(security.maskedPaths).toContain('/sys/hot');
    expect(security.readonlyPaths).toContain('/proc/sys');
    expect(security.seccomp?.profileType).toBe(cri.SecurityProfile_ProfileType.Unconfined);
  });

  it('is its own before it is the pod’s', () => {
    const pod: PodSecurityContext = {
      ...{ runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000, supplementalGroups: [3000] },
      seccompProfile: { type: 'RuntimeDefault' },
    };
    const security = securityOf({ runAsUser: 1, allowPrivilegeEscalation: false }, pod);
    expect(security).toMatchObject({
      ...{ runAsUser: { value: 1n }, runAsGroup: { value: 1000n }, noNewPrivs: true },
      supplementalGroups: [2000n, 3000n],
    });
    expect(security.seccomp?.profileType).toBe(cri.SecurityProfile_ProfileType.RuntimeDefault);
  });

  it('names capabilities and profiles', () => {
    const security = securityOf({
      capabilities: { add: ['CAP_NET_ADMIN', 'KILL'], drop: ['ALL'] },
      seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' },
      appArmorProfile: { type: 'Localhost', localhostProfile: 'mine' },
    });
    expect(security.capabilities).toMatchObject({
      addCapabilities: ['NET_ADMIN', 'KILL'],
      dropCapabilities: ['ALL'],
    });
    expect(security.seccomp?.localhostRef).toBe('/profiles/a/b.json');
    expect(security.apparmor?.localhostRef).toBe('mine');
  });

  it('has the runtime’s default profile where the node says so and nobody else says anything', () => {
    const profileOf = (own?: SecurityContext) =>
      securityOf(own, undefined, { seccompDefault: true }).seccomp?.profileType;
    expect(profileOf()).toBe(RuntimeDefault);
    expect(profileOf({ seccompProfile: { type: 'Unconfined' } })).toBe(Unconfined);
  });

  it('holds the runtime to whom the image runs as, unless somebody says otherwise', () => {
    const named = { uid: undefined, username: 'www' };
    const nobody = { uid: undefined, username: '' };
    expect(securityOf({}, {}, { imageUser: { uid: 7n, username: '' } }).runAsUser).toEqual({ value: 7n });
    expect(securityOf({}, {}, { imageUser: named })).toMatchObject({
      ...{ runAsUser: undefined, runAsUsername: 'www' },
    });
    expect(securityOf({ runAsUser: 5 }, {}, { imageUser: named })).toMatchObject({
      ...{ runAsUser: { value: 5n }, runAsUsername: '' },
    });
    expect(securityOf({}, {}, { imageUser: nobody }).runAsUser).toBeUndefined();
    expect(securityOf({ runAsGroup: 9 }, {}, { imageUser: nobody })).toMatchObject({
      ...{ runAsUser: { value: 0n }, runAsGroup: { value: 9n } },
    });
  });

  it.each<SecurityContext>([{ privileged: true }, { procMount: 'Unmasked' }])(
    'masks nothing for %j',
    (own) => {
      expect(securityOf(own)).toMatchObject({ maskedPaths: [], readonlyPaths: [] });
    },
  );
});

it('makes the sandbox privileged when one of its containers is', () => {
  const privileged = aSpecContainer({ securityContext: { privileged: true } });
  expect(computeSandboxSecurity(aSpecPod()).privileged).toBe(false);
  expect(computeSandboxSecurity(aSpecPod({ initContainers: [privileged] })).privileged).toBe(true);
});

it('keeps the sandbox to the runtime’s own profile, whatever its containers may have', () => {
  const pod = aSpecPod({ securityContext: { seccompProfile: { type: 'Unconfined' } } });
  expect(computeSandboxSecurity(pod).seccomp?.profileType).toBe(RuntimeDefault);
});

describe('a container that must not run as root', () => {
  const root: ImageUser = { uid: undefined, username: '' };
  const check = (own: SecurityContext, image: ImageUser, pod: PodSecurityContext = {}) => {
    const container = aSpecContainer({ securityContext: own });
    return findRootUser(aSpecPod({ containers: [container], securityContext: pod }), container, image);
  };

  it.each<[string, SecurityContext, ImageUser, RegExp]>([
    ['asks for root', { runAsNonRoot: true, runAsUser: 0 }, root, /runAsUser breaks non-root policy/],
    ['has an image of root', { runAsNonRoot: true }, root, /image will run as root/],
    ['has an image of uid 0', { runAsNonRoot: true }, { uid: 0n, username: '' }, /image will run as root/],
    [
      'has an image of somebody with a name',
      { runAsNonRoot: true },
      { uid: undefined, username: 'www' },
      /non-numeric user \(www\)/,
    ],
  ])('is refused when it %s', (_why, own, image, message) => {
    expect(check(own, image)).toMatch(message);
  });

  it.each<[string, SecurityContext, ImageUser, PodSecurityContext]>([
    ['nobody asks for more', {}, root, {}],
    ['it asks for another user', { runAsNonRoot: true, runAsUser: 5 }, root, {}],
    ['its image has another user', { runAsNonRoot: true }, { uid: 5n, username: '' }, {}],
    ['its pod asks for another user', { runAsNonRoot: true }, root, { runAsUser: 5 }],
    ['it says other than its pod', { runAsNonRoot: false }, root, { runAsNonRoot: true }],
  ])('may run when %s', (_why, own, image, pod) => {
    expect(check(own, image, pod)).toBeUndefined();
  });
});
