/**
 * Attacks of pods on their node, on a machine of their own: a fork bomb, memory bombs in twenty pods, a flood of log lines. The agent
 * has to answer meanwhile, what is reserved stays free, the culprits pay for it, and a pod that does no harm goes on without a restart.
 *
 * @module
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shell, shellOutput, untilPrints } from './node-shell.js';
import { findLife, MANIFESTS, putSleeper, removeUnits, startUnits, untilAlive } from './unit-under-test.js';

const DROP_IN = '/etc/systemd/system/podloop.service.d/60-guards.conf';
const RUN =
  '/usr/bin/env podloop run /etc/podloop/manifests --root-dir /var/lib/podloop --runtime-endpoint embedded';
const MAX_PIDS = 100;
const BOMBS = 20;
/** Of the system, which pods cannot have. */
const RESERVED_MIB = 1_024;
const LOG_MIB = 1;
const LOG_FILES = 3;
const FLAGS = [
  `--pod-max-pids ${MAX_PIDS} --system-reserved memory=${RESERVED_MIB}Mi,pid=1000 --oom-score-adj -999`,
  `--container-log-max-size ${LOG_MIB}Mi --container-log-max-files ${LOG_FILES}`,
].join(' ');

const culprit = (name: string, script: string, more: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: podloop.local/host
      command: [sh, -c, '${script}']
${more}`;

/** Guaranteed, so that the kernel kills it last. */
const GUARANTEED = '      resources: { limits: { cpu: 100m, memory: 64Mi } }\n';

describe('a node with pods that harm it', () => {
  let life: string;

  const put = async (name: string, script: string, more = ''): Promise<void> =>
    writeFile(join(MANIFESTS, `${name}.yaml`), culprit(name, script, more));
  const remove = async (...names: string[]): Promise<void> => {
    await shell(`rm -f ${names.map((name) => join(MANIFESTS, `${name}.yaml`)).join(' ')}`);
    await untilPrints(
      'podloop get pods -o name 2>&1',
      (text) => !names.some((name) => text.includes(`pod/${name}-`)),
    );
  };
  const groupFile = async (file: string, pattern: string): Promise<string> =>
    shell(`cat $(find /sys/fs/cgroup -path '*kubepods${pattern}' -name ${file} | head -1)`);
  const uidOf = async (name: string): Promise<string> =>
    (await shell('podloop get pods -o custom-columns=N:.metadata.name,U:.metadata.uid --no-headers'))
      .split('\n')
      .find((line) => line.startsWith(`${name}-`))!
      .split(/\s+/)[1]!;
  /** The agent answers, and the harmless pod is the one that was started first. */
  const expectWell = async (): Promise<void> => {
    expect(await shell('podloop get pods --no-headers')).toMatch(/^harmless-\S+\s+1\/1\s+Running\s+0 /m);
    expect(await shell('systemctl is-active podloop')).toBe('active');
    expect(await findLife('harmless')).toBe(life);
  };

  beforeAll(async () => {
    await startUnits('agent');
    await writeFile(DROP_IN, `[Service]\nExecStart=\nExecStart=${RUN} ${FLAGS}\n`);
    await shell('systemctl daemon-reload; systemctl restart podloop');
    await putSleeper('harmless', { more: GUARANTEED });
    life = await untilAlive('harmless');
    await untilPrints('podloop get pods --no-headers 2>&1', /^harmless-\S+\s+1\/1\s+Running/m);
  });
  afterAll(removeUnits);

  it('has a score that keeps the kernel from killing the agent first', async () => {
    const pid = await shell('systemctl show --value -p MainPID podloop');
    expect((await readFile(`/proc/${pid}/oom_score_adj`, 'utf8')).trim()).toBe('-999');
  });

  it('survives a fork bomb, which gets no more processes than a pod may have', async () => {
    await put('forks', 'f() { f | f & }; f; while :; do sleep 1; done');
    await untilPrints('podloop get pods -o name 2>&1', /pod\/forks-/);
    const uid = await uidOf('forks');
    await untilPrints(
      `cat $(find /sys/fs/cgroup -path '*pod${uid}' -prune -print | head -1)/pids.events`,
      /max [1-9]/,
    );
    expect(Number(await groupFile('pids.current', `*pod${uid}/*`))).toBeLessThanOrEqual(MAX_PIDS);
    await expectWell();
    await remove('forks');
  });

  it('survives twenty pods that take all memory, none of what is reserved', async () => {
    const total = Number(/MemTotal:\s+(\d+)/.exec(await readFile('/proc/meminfo', 'utf8'))![1]) * 1024;
    const names = Array.from({ length: BOMBS }, (_, at) => `memory-${at}`);
    for (const name of names) await put(name, 'sleep 5; tail /dev/zero');
    await untilPrints(
      'podloop get pods --no-headers 2>&1',
      (text) =>
        text.split('\n').filter((line) => /^memory-.*\b(OOMKilled|CrashLoopBackOff)\b/.test(line)).length >=
        5,
    );
    const all = '$(find /sys/fs/cgroup -maxdepth 4 -name kubepods | head -1)';
    const limit = Number(await shell(`cat ${all}/memory.max`));
    expect(limit).toBeGreaterThan(0);
    expect(limit).toBeLessThanOrEqual(total - RESERVED_MIB * 2 ** 20);
    expect(Number(await shell(`sed -n 's/^oom_kill //p' ${all}/memory.events`))).toBeGreaterThan(0);
    await expectWell();
    // The events name pods, and the harmless one is in none of them.
    const events = await shell('podloop events -A --types Warning 2>&1');
    expect(events).toMatch(/OOMKilling\s+pod\/memory-/i);
    expect(events).not.toMatch(/OOMKilling\s+pod\/harmless-/i);
    await remove(...names);
  });

  it('survives a flood of log lines, of which it keeps no more than the files that a container may have', async () => {
    await put('talks', 'while :; do seq 1 100000; done');
    const logs = '/var/log/pods/default_talks-*/main';
    await untilPrints(`ls ${logs} 2>/dev/null | wc -l`, (text) => Number(text) >= LOG_FILES);
    // A file is checked and rotated every ten seconds: it may have grown in between.
    const bytes = Number(await shellOutput(`du -sb ${logs} | cut -f 1`));
    expect(bytes).toBeGreaterThan(LOG_MIB * 2 ** 20);
    await expectWell();
    expect(Number(await shell(`ls ${logs} | wc -l`))).toBeLessThanOrEqual(LOG_FILES + 1);
    await remove('talks');
  });

  it('survives ten pods that spend all processes they can have, and stays below what all pods may have', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `spends-${at}`);
    for (const name of names)
      await put(
        name,
        'n=0; while [ $n -lt 90 ]; do sleep 1000 & n=$((n+1)); done; while :; do sleep 1; done',
      );
    const all = '$(find /sys/fs/cgroup -maxdepth 4 -name kubepods | head -1)';
    await untilPrints(`cat ${all}/pids.current`, (text) => Number(text) >= names.length * 90);
    const [limit, most] = [await shell(`cat ${all}/pids.max`), await shell('cat /proc/sys/kernel/pid_max')];
    expect(Number(limit)).toBeGreaterThan(0);
    expect(Number(limit)).toBeLessThanOrEqual(Number(most) - 1_000);
    await expectWell();
    await remove(...names);
  });

  it('survives a pod that writes more to the disk than it may, which goes alone', async () => {
    // The root of this image is the machine's own, of which a pod is asked no account.
    const limit = [
      '      resources: { limits: { ephemeral-storage: 50Mi } }',
      '      volumeMounts: [{ name: scratch, mountPath: /scratch }]',
      '  volumes: [{ name: scratch, emptyDir: {} }]\n',
    ].join('\n');
    await put('fills', 'head -c 300000000 /dev/zero > /scratch/fill; while :; do sleep 1; done', limit);
    await untilPrints('podloop get pods --no-headers 2>&1', /^fills-\S+ .*\bEvicted\b/m);
    await expectWell();
    await remove('fills');
  });

  it('ends all of a container that is at its own limit, and says so', async () => {
    const limit = '      resources: { limits: { memory: 64Mi } }\n';
    await put('whole', 'sleep 1000 & tail /dev/zero', limit);
    await untilPrints(
      'podloop events -A --types Warning 2>&1',
      // The pod has the limit of its one container, and its sandbox needs some of it.
      /OOMKilling\s+pod\/whole-\S+\s+.*The kernel killed all processes of the container.*: the pod was at its memory limit/i,
    );
    await expectWell();
    await remove('whole');
  });

  it('starts pods again after all of that', async () => {
    await putSleeper('after');
    await untilAlive('after');
    await expectWell();
  });
});
