import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type NodeFacts } from '../../runtime/config/node-facts.js';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntimeChanges } from '#support/fakes/fake-runtime-changes.js';
import { aSpecPod, someNodeFacts } from '#support/builders/node-pods.js';
import { PodloopError } from '#base/errors/errors.js';
import { makePodFolders } from './pod-file-setup.js';
import { SandboxStarter, type SandboxOutcome } from './start-sandbox.js';
import { type PodCgroupParents, type PodUsers } from './sync-pod-ports.js';

const NEVER = new AbortController().signal;
const onNode = aSpecPod({ hostNetwork: true });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-sandbox-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function makeStarter(
  cgroups?: PodCgroupParents,
  pod: NodePod = onNode,
  node: NodeFacts = someNodeFacts(),
  users?: PodUsers,
): {
  runtime: FakeRuntimeChanges;
  events: string[];
  start: (sandboxId?: string) => Promise<SandboxOutcome>;
} {
  const runtime = new FakeRuntimeChanges({ clock: new FakeClock() });
  const events: string[] = [];
  const paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
  const starter = new SandboxStarter({
    clock: new FakeClock(),
    ...{ changes: runtime, paths, node: () => node, cgroups, users },
    events: {
      record: (_pod, { type, reason, message }) => void events.push(`${type} ${reason}: ${message}`),
    },
    nodeHostsFile: join(folder, 'hosts'),
  });
  const start = async (sandboxId?: string): Promise<SandboxOutcome> => {
    await makePodFolders(paths, pod);
    const observed = runtime.observe(pod.metadata.uid);
    const actions = { sandboxAttempt: 0, sandboxId };
    return starter.start({ pod, observed, actions, startTime: undefined }, NEVER);
  };
  return { runtime, events, start };
}

const parentIn = (outcome: SandboxOutcome): string | undefined =>
  'sandbox' in outcome ? outcome.sandbox.config.linux?.cgroupParent : outcome.failure.message;

describe('the cgroup parent of a sandbox', () => {
  it('is prepared for a new one, and written on it', async () => {
    const { runtime, start } = makeStarter({
      prepare: ({ metadata }) => Promise.resolve(`/pods/${metadata.uid}`),
      learn: () => Promise.resolve(false),
      findParent: () => Promise.reject(new Error('not asked')),
    });
    expect(parentIn(await start())).toBe('/pods/u1');
    const { annotations, linux } = runtime.sandboxConfigOf('web-sandbox-0');
    expect(linux?.cgroupParent).toBe('/pods/u1');
    expect(annotations).toMatchObject({ 'podloop.dev/cgroup-parent': '/pods/u1' });
  });

  it('stays what it was made with, for containers that are started in it later', async () => {
    let layout = '/old';
    const { runtime, start } = makeStarter({
      prepare: () => Promise.resolve(layout),
      learn: () => Promise.resolve(false),
      findParent: (_pod, sandbox) =>
        Promise.resolve(sandbox.annotations['podloop.dev/cgroup-parent'] ?? 'not told'),
    });
    await start();
    layout = '/new';
    expect(parentIn(await start('web-sandbox-0'))).toBe('/old');
    expect(runtime.calls.filter((call) => call.startsWith('runPodSandbox'))).toHaveLength(1);
  });

  it('is waited for where only the runtime can report it', async () => {
    const { start } = makeStarter({
      prepare: () => Promise.resolve(''),
      learn: () => Promise.resolve(false),
      findParent: () => Promise.reject(new Error('the runtime is away')),
    });
    await start();
    const outcome = await start('web-sandbox-0');
    expect(outcome).toMatchObject({ failure: { reason: 'ConfigPodSandboxError' } });
    expect(parentIn(outcome)).toContain('the runtime is away');
  });

  it('is the runtime’s own choice where nobody has another', async () => {
    const { start } = makeStarter();
    expect(parentIn(await start())).toBe('');
  });
});

describe('a sandbox that the runtime refuses for the form of its cgroup', () => {
  const refused = new PodloopError('CRI_UNKNOWN', 'expected cgroupsPath to be of format "slice:prefix:name"');

  /** Each attempt's answer: an error, or none for a sandbox. */
  function makeRefused(answers: readonly (Error | undefined)[], pod = onNode) {
    const state = { learned: 0, parent: '/pods/u1' };
    const made = makeStarter(
      {
        prepare: () => Promise.resolve(state.parent),
        findParent: () => Promise.reject(new Error('not asked')),
        learn: (error) => {
          if (error !== refused || state.parent === '/pods.slice') return Promise.resolve(false);
          state.learned++;
          state.parent = '/pods.slice';
          return Promise.resolve(true);
        },
      },
      pod,
    );
    const parents: (string | undefined)[] = [];
    const run = made.runtime.runPodSandbox.bind(made.runtime);
    made.runtime.runPodSandbox = (config, options) => {
      const answer = answers[parents.length];
      parents.push(config.linux?.cgroupParent);
      return answer === undefined ? run(config, options) : Promise.reject(answer);
    };
    return { ...made, state, parents };
  }

  it('is asked for once more in the other form, and the pod has no event of it', async () => {
    const { start, parents, events } = makeRefused([refused]);
    expect(parentIn(await start())).toBe('/pods.slice');
    expect(parents).toEqual(['/pods/u1', '/pods.slice']);
    expect(events).toEqual([]);
  });

  it('is asked for twice at most', async () => {
    const { start, parents, events, state } = makeRefused([refused, refused]);
    expect(parentIn(await start())).toContain('slice:prefix:name');
    expect(parents).toHaveLength(2);
    expect(state.learned).toBe(1);
    expect(events).toEqual([
      'Warning FailedCreatePodSandBox: Failed to create pod sandbox: expected cgroupsPath to be of format "slice:prefix:name"',
    ]);
  });

  it('is asked for once where the error is about something else', async () => {
    const { start, parents } = makeRefused([new Error('no network')]);
    expect(parentIn(await start())).toContain('no network');
    expect(parents).toHaveLength(1);
  });

  it('says nothing of the node where it is one of another handler', async () => {
    const pod = aSpecPod({ hostNetwork: true, runtimeClassName: 'kata' });
    const { start, parents, state } = makeRefused([refused], pod);
    expect(await start()).toHaveProperty('failure');
    expect([parents.length, state.learned]).toEqual([1, 0]);
  });

  it('is not asked for while options and runtime contradict each other, and the pod has an event that says why', async () => {
    const { start, runtime, events } = makeStarter({
      prepare: () => Promise.reject(new PodloopError('CGROUP_DRIVER_CONFLICT', 'it has systemd')),
      findParent: () => Promise.reject(new Error('not asked')),
      learn: () => Promise.resolve(false),
    });
    expect(await start()).toMatchObject({ failure: { reason: 'CreatePodSandboxError' } });
    expect(events).toEqual(['Warning FailedCreatePodSandBox: Failed to create pod sandbox: it has systemd']);
    expect(runtime.calls.filter((call) => call.startsWith('runPodSandbox'))).toEqual([]);
  });
});

describe('the names that a pod finds', () => {
  const hostsOf = async (outcome: SandboxOutcome): Promise<string> =>
    readFile(('sandbox' in outcome && outcome.sandbox.hostsFile) || 'none', 'utf8');

  it('are in a file of its own, with the addresses of its sandbox', async () => {
    const pod = aSpecPod({ hostname: 'h', subdomain: 's', hostAliases: [{ ip: '192.0.2.7' }] });
    const { start } = makeStarter(undefined, pod);
    expect(await hostsOf(await start())).toMatch(/\th\.s\.default\.svc\th\n[^]*192\.0\.2\.7\n$/);
  });

  it('are those of the node on its network', async () => {
    await writeFile(join(folder, 'hosts'), '192.0.2.1 node-1\n');
    const { start } = makeStarter();
    expect(await hostsOf(await start())).toBe(
      '# Kubernetes-managed hosts file (host network).\n192.0.2.1 node-1\n',
    );
  });

  it('are the runtime’s own where it cannot mount', async () => {
    const outcome = await makeStarter(undefined, onNode, someNodeFacts({ canMount: false })).start();
    expect(outcome).toMatchObject({ sandbox: { hostsFile: undefined } });
  });
});

describe('a pod that wants the cluster’s name servers where there are none', () => {
  it('is reported in the kubelet’s words, once for each sandbox', async () => {
    const node = someNodeFacts({ isInCluster: true });
    const { events, start } = makeStarter(undefined, aSpecPod({ dnsPolicy: 'ClusterFirst' }), node);
    await start();
    await start('web-sandbox-0');
    expect(events).toEqual([
      'Warning MissingClusterDNS: pod: "web_default(u1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
    ]);
  });

  it.each(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', undefined] as const)(
    'is not on a node without a cluster, with dnsPolicy %s',
    async (dnsPolicy) => {
      const pod = aSpecPod(dnsPolicy === undefined ? {} : { dnsPolicy });
      const { events, start } = makeStarter(undefined, pod, someNodeFacts({ isInCluster: false }));
      await start();
      expect(events).toEqual([]);
    },
  );

  it('is not where there are some', async () => {
    const node = someNodeFacts({ isInCluster: true, clusterDns: ['10.96.0.10'] });
    const { events, start, runtime } = makeStarter(undefined, aSpecPod({ dnsPolicy: 'ClusterFirst' }), node);
    await start();
    expect(events).toEqual([]);
    expect(runtime.sandboxConfigOf('web-sandbox-0').dnsConfig?.servers).toEqual(['10.96.0.10']);
  });
});

it('too many name servers are reported for a pod', async () => {
  const nameservers = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
  const { events, start } = makeStarter(undefined, aSpecPod({ dnsConfig: { nameservers } }));
  await start();
  expect(events).toEqual([
    'Warning DNSConfigForming: Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.53 192.0.2.1 192.0.2.2',
  ]);
});

describe('a sandbox that cannot be as it is wanted', () => {
  it('is not made under a name that is too long', async () => {
    const pod = aSpecPod({ hostname: 'h'.repeat(60), subdomain: 'sub', setHostnameAsFQDN: true });
    const { events, start, runtime } = makeStarter(undefined, pod);
    expect(await start()).toMatchObject({
      failure: { action: 'CreatePodSandbox', reason: 'CreatePodSandboxError' },
    });
    expect(events).toEqual([
      expect.stringMatching(
        /^Warning FailedCreatePodSandBox: Failed to create pod sandbox: failed to construct FQDN/,
      ),
    ]);
    expect(runtime.calls.filter((call) => call.startsWith('runPodSandbox'))).toEqual([]);
  });

  it('is not made with fewer rules for groups than it asks for', async () => {
    const pod = aSpecPod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    const { start } = makeStarter(undefined, pod, someNodeFacts({ strictGroups: false }));
    expect(await start()).toMatchObject({ failure: { message: expect.stringContaining(message) as string } });
    const able = makeStarter(undefined, pod, someNodeFacts({ strictGroups: true }));
    expect(await able.start()).toHaveProperty('sandbox');
  });
});

describe('a sandbox of a pod with users of its own', () => {
  const idRange = { hostId: 131_072, length: 65_536 };
  const own = aSpecPod({ hostUsers: false, runtimeClassName: 'runc' });

  function makeUsers(problem?: string, failure?: Error): { users: PodUsers; asked: string[] } {
    const asked: string[] = [];
    const users: PodUsers = {
      findProblem: (handler) => {
        asked.push(`handler ${handler}`);
        return problem;
      },
      take: async (uid, present) => {
        asked.push(`take ${uid}${present === 'unknown' ? ' of an unknown sandbox' : ''}`);
        if (failure !== undefined) throw failure;
        return Promise.resolve(present === 'unknown' ? idRange : (present ?? idRange));
      },
    };
    return { users, asked };
  }

  it('is made with its ids, which its containers have, too', async () => {
    const { users, asked } = makeUsers();
    const { runtime, start } = makeStarter(undefined, own, someNodeFacts(), users);
    expect(await start()).toMatchObject({ sandbox: { idRange } });
    const options = runtime.sandboxConfigOf('web-sandbox-0').linux?.securityContext?.namespaceOptions;
    expect(options?.usernsOptions?.uids).toEqual([{ hostId: 131_072, containerId: 0, length: 65_536 }]);
    expect(asked).toEqual(['handler runc', 'take u1']);
  });

  it('is taken up with them whatever the runtime says of new ones', async () => {
    const { users, asked } = makeUsers();
    const { start } = makeStarter(undefined, own, someNodeFacts(), users);
    await start();
    asked.length = 0;
    expect(await start('web-sandbox-0')).toMatchObject({ sandbox: { idRange } });
    // The fake runtime does not report them.
    expect(asked).toEqual(['take u1 of an unknown sandbox']);
  });

  it.each([
    ['the runtime cannot', makeUsers('runtime does not support user namespaces')],
    ['there are no ids left', makeUsers(undefined, new Error('could not find an empty slot'))],
  ])('is not made where %s, and the pod has an event', async (_why, { users }) => {
    const { runtime, events, start } = makeStarter(undefined, own, someNodeFacts(), users);
    expect(await start()).toMatchObject({ failure: { reason: 'CreatePodSandboxError' } });
    expect(events).toEqual([
      expect.stringMatching(/^Warning FailedCreatePodSandBox: Failed to create pod sandbox: (runtime|could)/),
    ]);
    expect(runtime.calls).toEqual([]);
  });

  it('is never made without', async () => {
    const { runtime, start } = makeStarter(undefined, own);
    expect(parentIn(await start())).toContain('does not support user namespaces');
    expect(runtime.calls).toEqual([]);
  });

  it('has nothing to do with those of others', async () => {
    const { users, asked } = makeUsers();
    const { start } = makeStarter(undefined, onNode, someNodeFacts(), users);
    await writeFile(join(folder, 'hosts'), '');
    expect(await start()).toHaveProperty('sandbox');
    expect(asked).toEqual([]);
  });
});
