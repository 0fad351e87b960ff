/**
 * Limits as a container of the runtime in the box sees them: its cgroup namespace shows its own group, so that programs which size
 * themselves by it (a JVM, Go, Node) take the container's limits for the machine's.
 *
 * @module
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shell, untilPrints } from './node-shell.js';
import { MANIFESTS, removeUnits, startUnits } from './unit-under-test.js';

const MIB = 1024 * 1024;
/** Name, CPU limit in thousandths, memory limit in MiB. */
const PODS = [
  ['small', 500, 96],
  ['large', 1_500, 300],
] as const;

const manifest = ([name, cpu, memory]: (typeof PODS)[number]): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: podloop.local/host
      command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 1; done']
      resources: { limits: { cpu: ${cpu}m, memory: ${memory}Mi } }
`;

describe('a container of the runtime in the box', () => {
  beforeAll(async () => {
    await startUnits('agent');
    for (const pod of PODS) await writeFile(join(MANIFESTS, `${pod[0]}.yaml`), manifest(pod));
    for (const [name] of PODS)
      await untilPrints('podloop get pods --no-headers 2>&1', new RegExp(`^${name}-\\S+\\s+1/1`, 'm'));
  });
  afterAll(removeUnits);

  const inside = async (name: string, script: string): Promise<string> => {
    const pod = (await shell('podloop get pods -o name'))
      .split('\n')
      .find((line) => line.startsWith(`pod/${name}-`));
    return shell(`podloop exec ${pod?.slice('pod/'.length)} -- sh -c '${script}'`);
  };

  it.each(PODS)('has its own group for its tree: %s', async (name, cpu, memory) => {
    const text = await inside(
      name,
      'cat /proc/self/cgroup /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max; ls -d /sys/fs/cgroup/kubepods /sys/fs/cgroup/podloop 2>/dev/null || echo alone',
    );
    expect(text.split('\n')).toEqual(['0::/', String(memory * MIB), `${cpu * 100} 100000`, 'alone']);
  });

  it.each(PODS)('shows Node the memory that it may have: %s', async (name, _cpu, memory) => {
    expect(await inside(name, 'node -p "process.constrainedMemory()"')).toBe(String(memory * MIB));
  });
});
