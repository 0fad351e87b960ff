/**
 * Makes a machine a node with two agents, one on containerd and one on the runtime in the box, both as units of systemd that come
 * with every boot. Runs as root in a machine of `npm run test:machine`, before its power is cut; see test/machine/power.
 *
 * A disk at /dev/vdc, where there is one, gets everything that the agents write.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { cniConfig, containerdConfig, type InstanceNames } from '../../containerd/harness/config.js';
import { packImages } from '../../containerd/harness/image.js';
import { LocalApiClient } from '../../integration/local-api-client.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { RELEASE } from './node-containerd.js';

const run = promisify(execFile);
const HOME = '/var/lib/cut';
const AGENTS = ['containerd', 'box'] as const;
const DISK = '/dev/vdc';
/** An emulated machine on a busy host. */
const READY_LIMIT_MS = 10 * 60_000;

const CONTAINERD: InstanceNames = {
  ...{ id: 'cut00000', folder: `${HOME}/containerd/runtime`, socket: '/run/cut-containerd.sock' },
  ...{
    state: '/run/cut-containerd',
    cniConfigFolder: `${HOME}/containerd/cni`,
    cniBinFolder: '/usr/lib/cni',
  },
  ...{ bridge: 'cut0', network: 'cut', subnet: '10.213.7', cgroupParent: '/cut' },
};

/** Ends with code 3 again and again, so that there are warnings. */
const CRASHING = (image: string): string => `apiVersion: v1
kind: Pod
metadata: { name: crash }
spec:
  hostNetwork: true
  containers: [{ name: main, image: '${image}', command: [sh, -c, 'sleep 1; exit 3'] }]
`;

it('the disk of its own is mounted with every boot', async () => {
  await mkdir(HOME, { recursive: true });
  if (!existsSync(DISK)) return;
  await run('mkfs.ext4', ['-q', '-F', DISK]);
  await writeFile('/etc/fstab', `${await readFile('/etc/fstab', 'utf8')}${DISK} ${HOME} ext4 rw 0 2\n`);
  await run('systemctl', ['daemon-reload']);
  await run('mount', [HOME]);
});

it('containerd and both agents are units that come with every boot', async () => {
  const { folder, socket, cniConfigFolder } = CONTAINERD;
  for (const name of [folder, cniConfigFolder, `${HOME}/runs`, `${HOME}/images`])
    await mkdir(name, { recursive: true });
  const config = containerdConfig(RELEASE, CONTAINERD, { cgroupDriver: 'systemd' });
  await writeFile(path.join(folder, 'config.toml'), config);
  await writeFile(path.join(cniConfigFolder, '10-cut.conflist'), cniConfig(CONTAINERD));
  await writeUnit('cut-containerd', [
    `ExecStart=/usr/bin/containerd --config ${folder}/config.toml`,
    'Type=notify',
  ]);
  const example = await readFile('examples/systemd/podloop.service', 'utf8');
  const endpoints = { containerd: `unix://${socket}`, box: 'embedded' };
  for (const agent of AGENTS) {
    const manifests = `${HOME}/${agent}/manifests`;
    await mkdir(manifests, { recursive: true });
    const image = agent === 'box' ? 'podloop.local/host' : 'podloop.test/busybox:1';
    await writeFile(path.join(manifests, 'crash.yaml'), CRASHING(image));
    const words = [
      ...['podloop', 'run', manifests, '--root-dir', `${HOME}/${agent}/agent`],
      ...['--runtime-endpoint', endpoints[agent], '--read-only-port', '0', '--image-dir', `${HOME}/images`],
      ...['--pod-logs-dir', `${HOME}/${agent}/logs`],
      ...(agent === 'containerd' ? ['--cgroup-driver', 'systemd'] : []),
    ];
    const unit = example
      .replace(/^ExecStart=.*$/m, `ExecStart=/usr/bin/env ${words.join(' ')}`)
      .replace(/^After=.*$/m, 'After=cut-containerd.service')
      .replace(/^TimeoutStartSec=.*$/m, 'TimeoutStartSec=1800')
      .replace(/^WatchdogSec=.*$/m, 'WatchdogSec=1800')
      .replace('[Unit]', `[Unit]\nRequiresMountsFor=${HOME}`);
    await writeFile(`/etc/systemd/system/cut-${agent}-agent.service`, unit);
  }
  await run('systemctl', ['daemon-reload']);
  await run('systemctl', ['enable', '--now', 'cut-containerd']);
});

it('the images are there', async () => {
  const busybox = await readFile('/usr/bin/busybox');
  const layout = new OciLayout();
  const links = ['sh', 'sleep', 'sync'].map((name) => ({ name: `bin/${name}`, linkTo: 'busybox' }));
  const layers = [
    [{ name: 'bin/' }, { name: 'bin/busybox', content: busybox }, ...links],
    [{ name: 'own/' }],
  ];
  layout.addImage({ names: ['cut.test/own:1'], layers, config: { Env: ['PATH=/bin'] } });
  await writeFile(`${HOME}/images/own.tar`, layout.toTar());
  const archive = `${HOME}/images.tar`;
  await writeFile(archive, await packImages('/usr/bin/busybox'));
  await run('ctr', ['-a', CONTAINERD.socket, '-n', 'k8s.io', 'images', 'import', archive]);
});

it('both agents get ready', async () => {
  for (const agent of AGENTS) await run('systemctl', ['enable', '--now', `cut-${agent}-agent`]);
  const giveUpAt = performance.now() + READY_LIMIT_MS;
  for (const agent of AGENTS) {
    const client = new LocalApiClient(`${HOME}/${agent}/agent/podloop.sock`);
    const isReady = async (): Promise<boolean> => (await client.ask('/readyz')).code === 200;
    while (!(await isReady().catch(() => false))) {
      if (performance.now() > giveUpAt) expect.fail(`waited in vain for the agent on ${agent}`);
      await sleep(500);
    }
  }
  await run('sync');
});

async function writeUnit(name: string, service: readonly string[]): Promise<void> {
  const unit = [
    '[Unit]',
    `RequiresMountsFor=${HOME}`,
    'Before=podloop.service',
    '[Service]',
    ...service,
    ...['KillMode=process', 'Delegate=yes', 'Restart=always', 'TasksMax=infinity', 'TimeoutStartSec=1800'],
    '[Install]',
    'WantedBy=multi-user.target',
  ];
  await writeFile(`/etc/systemd/system/${name}.service`, `${unit.join('\n')}\n`);
}
