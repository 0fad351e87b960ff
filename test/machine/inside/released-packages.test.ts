/**
 * What users install, on a stock node: the Debian package from its installation over an upgrade to its removal, with a pod that lives
 * through all of it, and the single executable on a machine without Node.
 *
 * @module
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RELEASE_IN_MACHINE } from '../payload.js';
import { shell, shellOutput, untilPrints } from './node-shell.js';
import { INSTALL_PACKAGE } from './package-under-test.js';
import { changeUnit, findLife, MANIFESTS, putSleeper, removeUnits, untilAlive } from './unit-under-test.js';

const MAIN_PID = 'systemctl show podloop -p MainPID --value';

it('the checksums are those of the files', async () => {
  const checked = await shell(`cd ${RELEASE_IN_MACHINE} && sha256sum -c SHA256SUMS`);
  expect(checked.split('\n').every((line) => line.endsWith(': OK'))).toBe(true);
  expect(checked).toMatch(/^podloop_\S+_amd64\.deb: OK$/m);
  expect(checked).toMatch(/^podloop-\S+-linux-x64\.tar\.gz: OK$/m);
});

describe('the Debian package', () => {
  let life: string;

  beforeAll(async () => {
    await shell(INSTALL_PACKAGE);
    // What the machine's own installation of the tests is called: the package has to stand for itself.
    await shell('mv /usr/local/bin/podloop /usr/local/bin/podloop-of-tests');
  });

  afterAll(async () => {
    await removeUnits();
    await shellOutput('systemctl stop podloop-observe; rm -rf /etc/systemd/system/podloop-observe.service.d');
    await shellOutput('dpkg --purge podloop');
    await shell('mv /usr/local/bin/podloop-of-tests /usr/local/bin/podloop; systemctl daemon-reload');
  });

  it('brings the program, its manual pages and completions, all as they were packed', async () => {
    expect(await shell('/usr/bin/podloop --version')).toMatch(/^podloop \d+\.\d+\.\d+$/);
    expect(await shellOutput('dpkg --verify podloop')).toBe('');
    expect(await shell('zcat /usr/share/man/man1/podloop-run.1.gz')).toContain('.TH PODLOOP-RUN 1');
    const completes = '. /usr/share/bash-completion/completions/podloop && complete -p podloop';
    expect(await shell(`bash -c '${completes}'`)).toMatch(/^complete .* podloop$/);
  });

  it('has an observer that answers what pods containerd has', async () => {
    await changeUnit('podloop-observe', []);
    await shell('systemctl enable --now podloop-observe');
    expect(await shell('systemctl is-active podloop-observe')).toBe('active');
    const socket = '--socket /var/lib/podloop-observe/podloop.sock';
    await untilPrints(`podloop get pods -A ${socket} 2>&1`, /^(?:NAMESPACE|No resources found)/);
  });

  it('has a service that runs the manifests of /etc/podloop/manifests', async () => {
    await mkdir(MANIFESTS, { recursive: true });
    const run = `/usr/bin/podloop run ${MANIFESTS} --root-dir /var/lib/podloop --runtime-endpoint embedded`;
    await changeUnit('podloop', ['ExecStart=', `ExecStart=${run}`]);
    await shell('systemctl enable --now podloop');
    await putSleeper('stays');
    life = await untilAlive('stays');
  });

  it('restarts what runs when it is upgraded, and no container', async () => {
    const before = await shell(MAIN_PID);
    await shell(INSTALL_PACKAGE);
    await untilPrints('systemctl is-active podloop', /^active$/);
    expect(await shell(MAIN_PID)).not.toBe(before);
    expect(await shell('systemctl is-active podloop-observe')).toBe('active');
    await untilPrints('podloop get pods --no-headers 2>&1', /^stays-\S+\s+1\/1\s+Running\s+0\b/m);
    expect(await findLife('stays')).toBe(life);
  });

  it('leaves the pods when it is removed, and says so', async () => {
    const said = await shell('dpkg --remove podloop 2>&1');
    expect(said).toContain('podloop: podloop.service ends, and its pods go on.');
    expect(said).not.toContain('podloop-observe.service ends');
    expect(await shellOutput('systemctl is-active podloop podloop-observe')).toBe('inactive\ninactive');
    expect(await shellOutput('command -v podloop; ls /usr/lib/podloop 2>/dev/null')).toBe('');
    expect(await findLife('stays')).toBe(life);
  });

  it('takes the pods up when it is installed again', async () => {
    await shell(INSTALL_PACKAGE);
    await shell('systemctl start podloop');
    await untilPrints('podloop get pods --no-headers 2>&1', /^stays-\S+\s+1\/1\s+Running\s+0\b/m);
    expect(await findLife('stays')).toBe(life);
  });

  it('leaves nothing of itself when it is purged but what pods have stored, which it names', async () => {
    await shell(`rm ${MANIFESTS}/*`);
    await untilPrints('podloop get pods -A -o name 2>&1', /^(?:No resources.*)?$/);
    const said = await shell('dpkg --purge podloop 2>&1');
    expect(said).toContain('podloop: /var/lib/podloop stays');
    expect(
      await shellOutput('dpkg-query -L podloop 2>/dev/null; ls -d /var/lib/podloop-observe 2>/dev/null'),
    ).toBe('');
    expect(await findLife('stays')).toBe('');
  });
});

describe('the single executable', () => {
  let folder: string;
  let podloop: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-single-'));
    await shell(
      `tar -xzf ${RELEASE_IN_MACHINE}/podloop-*-linux-x64.tar.gz -C ${folder} --strip-components=1`,
    );
    podloop = join(folder, 'podloop');
    await mkdir(join(folder, 'pods'));
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one' },
      spec: {
        hostNetwork: true,
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            ...{ name: 'main', image: 'podloop.local/host' },
            command: ['sh', '-c', 'trap "exit 0" TERM; echo hello; while :; do sleep 1; done'],
          },
        ],
      },
    };
    await writeFile(join(folder, 'pods/one.yaml'), JSON.stringify(pod));
  });

  afterAll(async () => {
    await shellOutput(`${podloop} down ${folder}/pods --root-dir ${folder}/root --yes`);
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs the executable where Node is a program that only fails, for itself and all that it starts. */
  const withoutNode = async (words: string): Promise<string> => {
    const script = `mount --bind /bin/false "$(readlink -f /usr/bin/node)" && cd ${folder} && ./podloop ${words}`;
    return shell(`unshare --mount bash -c '${script}' 2>&1`);
  };

  it('runs a folder of pods, whose logs and processes are reached, and ends them', async () => {
    const own = `--root-dir ${folder}/root`;
    const said = await withoutNode(`up ./pods --wait ${own} --runtime-endpoint embedded`);
    expect(said).toContain('1/1 pods are ready');
    const socket = `--socket ${folder}/root/podloop.sock`;
    expect(await withoutNode(`get pods --no-headers ${socket}`)).toMatch(/^one-\S+\s+1\/1\s+Running\s+0\b/);
    expect(await withoutNode(`logs one ${socket}`)).toBe('hello');
    expect(await withoutNode(`exec one ${socket} -- sh -c "echo \\$((6 * 7))"`)).toBe('42');
    await withoutNode(`down ./pods ${own} --yes`);
    await untilPrints(`pgrep -af '${folder}/[r]oot|${folder}/[p]ods'`, /^$/);
    const cgroups = 'find /sys/fs/cgroup/podloop -mindepth 1 -type d 2>/dev/null';
    expect(await shellOutput(`grep ${folder} /proc/mounts; ${cgroups}`)).toBe('');
  });
});
