/**
 * The guide "Install podloop on your nodes", as a new user goes through it: the Debian package's observer as a service beside a real
 * kubelet and the machine's containerd, an incident, an upgrade and the removal.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signalProcess } from '../../containerd/harness/processes.js';
import { IncidentNode, type RunningPod } from '../../incidents/harness/incident-node.js';
import { RELEASE } from './node-containerd.js';
import { shell, shellOutput, untilPrints } from './node-shell.js';
import { INSTALL_PACKAGE } from './package-under-test.js';
import { changeUnit } from './unit-under-test.js';

const KUBELET = path.join(process.env['KUBEBUILDER_ASSETS'] ?? '', 'kubelet');
const ROOT = '/var/lib/podloop-observe';

describe('an observer that was installed as a package beside a kubelet', () => {
  let node: IncidentNode;
  let web: RunningPod;
  let folder: string;

  /** As somebody types it who has named the socket once, as the guide says. */
  const podloop = (words: string): string =>
    `export PODLOOP_SOCKET=${ROOT}/podloop.sock; /usr/bin/podloop ${words} 2>&1`;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'podloop-observed-'));
    node = await IncidentNode.start(RELEASE, KUBELET, folder, 'systemd');
    web = await node.run({ name: 'web' });
    const { url, healthzUrl } = node.kubeletUrls;
    const options = `--runtime-endpoint=${node.containerd.endpoint} --kubelet-url=${url} --healthz-url=${healthzUrl}`;
    await mkdir('/etc/podloop', { recursive: true });
    await writeFile('/etc/podloop/observe.env', `PODLOOP_OBSERVE_ARGS=${options}\n`);
    await shell(INSTALL_PACKAGE);
    await changeUnit('podloop-observe', []);
    await shell('systemctl enable --now podloop-observe');
  });

  afterAll(async () => {
    await shellOutput('systemctl stop podloop-observe; dpkg --purge podloop');
    await shell('rm -rf /etc/systemd/system/podloop-observe.service.d /etc/podloop; systemctl daemon-reload');
    await node[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('shows the pods of the kubelet, and serves metrics', async () => {
    await untilPrints(podloop('get pods -A'), /^default\s+web-incident\s+1\/1\s+Running\b/m);
    const page = async (name: string) => (await fetch(`http://127.0.0.1:10247/${name}`)).text();
    expect(await page('metrics')).toMatch(/^podloop_runtime_info\{name="containerd"/m);
    expect(await page('healthz')).toMatch(/^ok/);
  });

  it('has on record how a container ended', async () => {
    await node.want({ name: 'quits', script: 'sleep 2; exit 3', spec: { restartPolicy: 'Never' } });
    await untilPrints(podloop('events -A --since 1h'), /^.*ContainerDied.*quits-incident.*\b3\b/m);
  });

  it('keeps an incident that names the pod and the process, and exports it for somebody else', async () => {
    await signalProcess(web.shim, 'SIGSTOP');
    try {
      await untilPrints(podloop('incidents'), /ShimStopped/);
      const shown = await shell(podloop('incident show 1'));
      expect(shown).toContain(web.fullName);
      expect(shown).toContain(`(pid ${web.shim.pid})`);
    } finally {
      await signalProcess(web.shim, 'SIGCONT');
    }
    const file = path.join(folder, 'incident-1.plrec');
    await shell(podloop(`incident export 1 -f ${file}`));
    const socket = path.join(folder, 'replay/cri.sock');
    const replay = `/usr/bin/podloop replay ${file} --listen unix://${socket} & replay=$!`;
    const served = `until test -S ${socket}; do kill -0 $replay || exit 1; sleep 1; done`;
    await shell(
      `mkdir -p ${path.dirname(socket)}; ${replay}; ${served}; kill -INT $replay; wait $replay || true`,
    );
  });

  it('keeps history and incidents when it is upgraded', async () => {
    const main = 'systemctl show podloop-observe -p MainPID --value';
    const before = await shell(main);
    await shell(INSTALL_PACKAGE);
    expect(await shell(main)).not.toBe(before);
    await untilPrints(podloop('events -A --since 2h'), /^.*ContainerDied.*quits-incident/m);
    expect(await shell(podloop('incidents'))).toContain('ShimStopped');
  });

  it('leaves nothing when it is removed, and no container notices', async () => {
    await shell('dpkg --purge podloop 2>&1');
    await shell('rm -r /etc/systemd/system/podloop-observe.service.d');
    const left = `ls -d ${ROOT} /usr/lib/podloop 2>/dev/null; systemctl is-active podloop-observe; pgrep -f '[p]odloop observe'`;
    expect(await shellOutput(left)).toBe('inactive');
    const { pid, startTime } = web.processes[0]!;
    expect(await shell(`cut -d ' ' -f 22 /proc/${pid}/stat`)).toBe(startTime);
  });
});
