/**
 * The size of a claim's volume, which the kernel enforces by project quotas: on file systems of this node's kernel that have them, in
 * a file each.
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { shell, shellOutput, untilPrints } from './node-shell.js';

const MIB = 1024 * 1024;
/** The pod writes until the disk is full, says how much there is, and tries that again once it has removed it. */
const SCRIPT = `cd /data; for round in 1 2; do dd if=/dev/zero of=big bs=65536 2>&1 | grep -o "No space.*\\|Disk quota.*"
echo "wrote $(stat -c %s big) of $(stat -f -c "%b %S" . | { read blocks size; echo $((blocks * size)); })"; rm big; done; echo done; sleep 100000`;

const manifest = (size: string): string => `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: ${size} } } }
---
apiVersion: v1
kind: Pod
metadata: { name: writer }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
  containers:
    - name: main
      image: podloop.local/host
      command: [sh, -c, ${JSON.stringify(SCRIPT)}]
      volumeMounts: [{ name: data, mountPath: /data }]
`;

const FILE_SYSTEMS = {
  ext4: 'mkfs.ext4 -q -O quota,project -E quotatype=prjquota',
  xfs: 'mkfs.xfs -q',
  'ext4 without quotas': 'mkfs.ext4 -q',
} as const;

/** Prints what a command of podloop prints, as soon as that is what is wanted; rejects when the agent has ended before. */
type Waiting = (command: string, wanted: RegExp) => Promise<string>;

/** An agent whose root folder is on a new file system; the first is mounted as people mount those with quotas. */
async function startAgent(
  make: string,
  options: string,
  size: string,
): Promise<{ readonly podloop: string; readonly until: Waiting }> {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-volume-sizes-'));
  const [disk, mount, pods] = ['disk', 'mount', 'pods'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await shell(
    `mkdir ${mount} ${pods}; truncate -s 512M ${disk}; ${make} ${disk}; mount -o ${options} ${disk} ${mount}`,
  );
  await writeFile(join(pods, 'writer.yaml'), manifest(size));
  const rootDir = join(mount, 'root');
  // Whatever runtime the machine has besides.
  const own = ['--root-dir', rootDir, '--runtime-endpoint', 'embedded'];
  const log = openSync(join(folder, 'log'), 'a');
  const agent = spawn('podloop', ['run', pods, ...own], { stdio: ['ignore', log, log] });
  const ended = once(agent, 'exit');
  onTestFinished(async () => {
    await shellOutput(`podloop down ${pods} ${own.join(' ')} --yes`);
    agent.kill('SIGINT');
    await ended;
    // The runtime ends a little after its agent.
    await shell(`for second in $(seq 60); do umount ${mount} && exit; sleep 1; done; exit 1`);
    await rm(folder, { recursive: true });
  });
  const podloop = `PODLOOP_SOCKET=${rootDir}/podloop.sock podloop`;
  const failed = ended.then(async ([code]): Promise<never> => {
    throw new Error(`the agent ended with ${code}: ${await readFile(join(folder, 'log'), 'utf8')}`);
  });
  failed.catch(() => undefined);
  return { podloop, until: async (command, wanted) => Promise.race([untilPrints(command, wanted), failed]) };
}

describe('the volume of a claim', () => {
  it.each(['ext4', 'xfs'] as const)(
    'on %s takes what was asked for, shows that inside, and no more',
    async (name) => {
      const { podloop, until } = await startAgent(FILE_SYSTEMS[name], 'loop,prjquota', '16Mi');
      const text = await until(`${podloop} logs writer-$(hostname) 2>&1`, /^done$/m);
      const rounds = [...text.matchAll(/^(?:No space|Disk quota).*\nwrote (\d+) of (\d+)$/gm)];
      expect(rounds, text).toHaveLength(2);
      for (const [, wrote, of] of rounds) {
        expect(Number(wrote) / MIB).toBeGreaterThan(15);
        expect(Number(wrote) / MIB).toBeLessThanOrEqual(16);
        expect(Number(of)).toBe(16 * MIB);
      }
      expect(await shell(`${podloop} volumes`)).toMatch(/^data +\S+ +16Mi +yes /m);
    },
  );

  it('says where its size is not enforced', async () => {
    const { podloop, until } = await startAgent(FILE_SYSTEMS['ext4 without quotas'], 'loop', '400Mi');
    const words = await until(`${podloop} volumes 2>&1`, /^data +\S+ +400Mi +no /m);
    expect(words).toContain('not mounted with prjquota');
  });
});
