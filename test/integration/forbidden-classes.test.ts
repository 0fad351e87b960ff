/**
 * Pods that try known ways out of a container on a node that forbids everything: none of them gets what it wants. Needs
 * root; skipped elsewhere. What each class is, and the tests that go deeper, stands in docs/reference/security.md.
 *
 * @module
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FORBIDDABLE } from '#kube/node/node-policy.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { startEmbedded } from './pod-stories/start-embedded.js';
import { type StoryRuntime } from './pod-stories/story-suite.js';

const IMAGE = 'podloop.test/programs:1';
const SECRET = 'precious-of-the-node';
const WAIT = { timeout: 180_000, interval: 200 };
const [MKNODAT, UNSHARE] = process.arch === 'arm64' ? [33, 97] : [259, 272];

type Spec = Record<string, unknown>;
const main = (more: Spec): Spec => ({ name: 'main', image: IMAGE, command: ['true'], ...more });

/** What a pod may not even ask for, and the reason with which it fails. */
const ASKS: readonly [string, Spec, RegExp][] = [
  ['is privileged', { containers: [main({ securityContext: { privileged: true } })] }, /PodForbidden/],
  [
    'has a privileged init container',
    {
      containers: [main({})],
      initContainers: [{ ...main({ securityContext: { privileged: true } }), name: 'init' }],
    },
    /PodForbidden/,
  ],
  [
    'mounts the root',
    { containers: [main({})], volumes: [{ name: 'v', hostPath: { path: '/' } }] },
    /PodForbidden/,
  ],
  ['has the host’s network', { hostNetwork: true, containers: [main({})] }, /PodForbidden/],
  ['has the host’s processes', { hostPID: true, containers: [main({})] }, /PodForbidden/],
  ['has the host’s IPC', { hostIPC: true, containers: [main({})] }, /PodForbidden/],
  [
    'has a host port',
    { containers: [main({ ports: [{ containerPort: 80, hostPort: 80 }] })] },
    /PodForbidden/,
  ],
  ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe): [string, Spec, RegExp] => [
    `has the node ask its own 127.0.0.1 in a ${probe}`,
    { containers: [main({ [probe]: { httpGet: { host: '127.0.0.1', port: 1 } } })] },
    /PodForbidden/,
  ]),
  [
    'has the node ask its own 127.0.0.1 in a hook',
    { containers: [main({ lifecycle: { postStart: { httpGet: { host: 'localhost', port: 1 } } } })] },
    /PodForbidden/,
  ],
  ...['SYS_ADMIN', 'MKNOD', 'NET_RAW', 'DAC_READ_SEARCH', 'SYS_PTRACE', 'ALL', 'CAP_SYS_MODULE'].map(
    (name): [string, Spec, RegExp] => [
      `adds ${name}`,
      { containers: [main({ securityContext: { capabilities: { add: [name] } } })] },
      /PodForbidden/,
    ],
  ),
  [
    'has the files of the node as its image',
    { containers: [main({ image: 'podloop.local/host' })] },
    /PodForbidden/,
  ],
  [
    'sets a sysctl of the node',
    { containers: [main({})], securityContext: { sysctls: [{ name: 'kernel.core_pattern', value: '|/x' }] } },
    /SysctlForbidden/,
  ],
];

/** What a program tries; it says ESCAPED where it gets what it wants. CANARY is a folder of the node. */
const TRIES: Readonly<Record<string, string>> = {
  'reads the node through links of /proc':
    'for p in 1 self $$; do for l in root cwd; do cat /proc/$p/$l/CANARY/precious && echo ESCAPED; done; done',
  'reads the node above its root': 'cd /; cat ../../../../../../CANARY/precious && echo ESCAPED',
  'leaves its root by changing it twice':
    'mkdir -p /tmp/j; perl -e \'chroot("/tmp/j"); chdir("..") for 1..64; chroot("."); open(F, "<", "CANARY/precious") && print "ESCAPED\\n"\'',
  'overwrites what the runtime calls':
    'for f in /proc/1/root/* /proc/1/exe /proc/self/exe; do case $f in *exe) [ $f = /proc/1/exe ] || continue ;; esac; (echo x >>$f) && echo ESCAPED $f; done',
  'writes settings of the kernel':
    'for f in sys/kernel/core_pattern sysrq-trigger sys/vm/panic_on_oom sys/kernel/modprobe irq/default_smp_affinity; do (echo 0 >/proc/$f) && echo ESCAPED $f; done',
  'writes to /sys':
    'for f in /sys/kernel/uevent_helper /sys/power/state /sys/kernel/mm/ksm/run; do [ -e $f ] || continue; (echo 0 >$f) && echo ESCAPED $f; done',
  'makes the node’s disk and opens it': `for n in 257 1793 64512; do perl -e 'syscall(${MKNODAT}, -100, "/tmp/d$ARGV[0]", 0060600, 0 + $ARGV[0]); open(F, "<", "/tmp/d$ARGV[0]") && print "ESCAPED\\n"' $n; done`,
  'mounts what it likes':
    'mkdir -p /tmp/m; mount -t tmpfs x /tmp/m && echo ESCAPED; mount -o remount,rw /proc/sys && echo ESCAPED; umount /proc/sys && echo ESCAPED',
  'has a program run by the kernel when a group is empty': `mkdir -p /tmp/c; perl -e 'syscall(${UNSHARE}, 0x10000000 | 0x20000 | 0x02000000) == 0 or exit 0; exec "sh", "-c", "mount -t cgroup -o rdma x /tmp/c || mount -t cgroup -o memory x /tmp/c || exit 0; (echo /x >/tmp/c/release_agent) && echo ESCAPED"'`,
  'has powers that no pod should have':
    "while read -r name value; do case $name in CapBnd:) perl -e 'exit((hex($ARGV[0]) & ~0xa80425fb) != 0)' $value || echo ESCAPED $value ;; esac; done </proc/self/status",
  'sees processes of the node': 'cat /proc/[0-9]*/comm | grep node && echo ESCAPED',
  'has descriptors of the runtime':
    'for f in /proc/self/fd/*; do case ${f##*/} in 0|1|2|3) ;; *) [ -d $f/. ] && echo ESCAPED $f ;; esac; done',
  'is led astray by its own variables': 'echo $LD_PRELOAD',
};

/** A pod whose first container plants what the second one’s mount, folder or last words lead through. */
const PLANTS: readonly [string, Spec][] = [
  [
    'a part of a volume',
    {
      volumeMounts: [{ name: 'v', mountPath: '/part', subPath: 'out' }],
      command: ['sh', '-c', 'cat /part/precious && echo ESCAPED'],
    },
  ],
  [
    'a part of a part of a volume',
    {
      volumeMounts: [{ name: 'v', mountPath: '/part', subPath: 'out/made' }],
      command: ['sh', '-c', 'echo ESCAPED'],
    },
  ],
  [
    'its folder',
    {
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      workingDir: '/v/kit',
      command: ['sh', '-c', 'echo ESCAPED'],
    },
  ],
  [
    'a folder that is to be made',
    {
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      workingDir: '/v/holder/made',
      command: ['sh', '-c', 'echo ESCAPED'],
    },
  ],
  ['a folder of /proc', { workingDir: '/proc/self/cwd', command: ['sh', '-c', 'echo ESCAPED'] }],
  [
    'its last words',
    {
      terminationMessagePath: '/v/out/words',
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      command: ['sh', '-c', 'cat /v/out/precious && echo ESCAPED'],
    },
  ],
];

describe.runIf(process.getuid?.() === 0)('on a node that forbids everything, a pod', () => {
  let folder: string;
  let runtime: StoryRuntime;
  let node: AgentNode;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-classes-'));
    await mkdir(join(folder, 'canary'));
    await writeFile(join(folder, 'canary/precious'), SECRET);
    runtime = await startEmbedded(folder, 'host');
    node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent: { forbid: [...FORBIDDABLE] } });
    const inCanary = (text: string) => text.replaceAll('CANARY', `${folder.slice(1)}/canary`);
    const put = (name: string, spec: Spec) =>
      writeFile(
        join(folder, 'manifests', `${name}.json`),
        JSON.stringify({
          ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
          spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1, ...spec },
        }),
      );
    for (const [at, [, spec]] of ASKS.entries()) await put(`asks-${at}`, spec);
    for (const [at, script] of Object.values(TRIES).entries()) {
      const command = ['sh', '-c', `(${inCanary(script)}) 2>/dev/null; echo done`];
      const env = [
        { name: 'LD_PRELOAD', value: '' },
        { name: 'LD_LIBRARY_PATH', value: '/tmp/evil' },
      ];
      await put(`tries-${at}`, { containers: [main({ command, env })] });
    }
    const plant = `ln -s ${folder}/canary /v/out; ln -s /proc/self/cwd /v/kit; ln -s /proc/1/root /v/holder`;
    for (const [at, [, more]] of PLANTS.entries()) {
      const init = {
        ...main({ command: ['sh', '-c', plant], volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
        name: 'init',
      };
      const volumes = [{ name: 'v', emptyDir: {} }];
      await put(`plants-${at}`, {
        initContainers: [init],
        containers: [main(more)],
        volumes,
        shareProcessNamespace: true,
      });
    }
  }, 120_000);
  afterAll(async () => {
    for (const name of await readdir(node.manifestFolder)) await rm(join(node.manifestFolder, name));
    await node.stop();
    // One more agent clears up, whatever became of the tests.
    const last = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent: { stopPods: true } });
    await last.stop();
    await runtime.end();
    await rm(folder, { recursive: true, force: true });
  }, 240_000);

  const statusOf = (name: string) =>
    node.agent.statuses().find(({ pod }) => pod.name === `${name}-test`)?.status;

  it.each(ASKS.map(([what, , reason], at): [string, number, RegExp] => [what, at, reason]))(
    'that %s is not started',
    async (_what, at, reason) => {
      await expect.poll(() => statusOf(`asks-${at}`)?.phase, WAIT).toBe('Failed');
      expect(statusOf(`asks-${at}`)?.reason).toMatch(reason);
      expect(await node.logOf(`asks-${at}`, 'main')).toEqual([]);
    },
    200_000,
  );

  it.each(Object.keys(TRIES).map((what, at): [string, number] => [what, at]))(
    'that %s gets nothing',
    async (_what, at) => {
      await expect.poll(() => statusOf(`tries-${at}`)?.phase, WAIT).toBe('Succeeded');
      const said = (await node.logOf(`tries-${at}`, 'main')).join('\n');
      expect(said).toContain('done');
      expect(said).not.toMatch(/ESCAPED|precious-of/);
    },
    200_000,
  );

  it.each(PLANTS.map(([what], at): [string, number] => [what, at]))(
    'that plants a link where %s is gets nothing',
    async (_what, at) => {
      const isOver = () => {
        const state = statusOf(`plants-${at}`)?.containerStatuses[0]?.state;
        const waits = state?.waiting?.reason ?? '';
        return state?.terminated !== undefined || /Error/.test(waits);
      };
      await expect.poll(isOver, WAIT).toBe(true);
      expect((await node.logOf(`plants-${at}`, 'main')).join('\n')).not.toMatch(/ESCAPED|precious-of/);
      expect(JSON.stringify(statusOf(`plants-${at}`))).not.toContain(SECRET);
      expect(await readdir(join(folder, 'canary'))).toEqual(['precious']);
      expect(await readFile(join(folder, 'canary/precious'), 'utf8')).toBe(SECRET);
    },
    200_000,
  );
});
