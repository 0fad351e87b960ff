/**
 * That the machine is the node that the other suites take it for. Runs as root in a machine of `npm run test:machine`,
 * and nowhere else.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const read = (file: string): string => readFileSync(file, 'utf8').trim();
const said = async (program: string, ...args: string[]): Promise<string> =>
  (await run(program, args)).stdout.trim();

it('it is a Debian 13 with a kernel of its own', () => {
  expect(read('/etc/debian_version')).toMatch(/^13\b/);
  expect(read('/proc/version')).toContain('Debian');
});

it('systemd is process 1, and none of its units has failed', async () => {
  expect(read('/proc/1/comm')).toBe('systemd');
  expect(await said('systemctl', 'list-units', '--failed', '--plain', '--no-legend')).toBe('');
});

it('cgroup v2 is alone and has every controller that pods need', () => {
  const mounts = read('/proc/mounts').split('\n');
  const types = mounts.map((line) => line.split(' ')[2]).filter((type) => type?.startsWith('cgroup'));
  expect(types).toEqual(['cgroup2']);
  const controllers = read('/sys/fs/cgroup/cgroup.controllers').split(' ');
  expect(controllers).toEqual(expect.arrayContaining(['cpu', 'cpuset', 'memory', 'io', 'pids', 'hugetlb']));
});

it('AppArmor is switched on and has loaded profiles', () => {
  expect(read('/sys/module/apparmor/parameters/enabled')).toBe('Y');
  expect(read('/sys/kernel/security/apparmor/profiles')).not.toBe('');
});

it('seccomp, namespaces of users and pressure stall information are there', () => {
  expect(read('/proc/sys/kernel/seccomp/actions_avail')).toContain('errno');
  expect(existsSync('/proc/self/ns/user')).toBe(true);
  expect(existsSync('/proc/pressure/memory')).toBe(true);
});

it('systemd-resolved and systemd-oomd run', async () => {
  expect(await said('systemctl', 'is-active', 'systemd-resolved', 'systemd-oomd')).toBe('active\nactive');
  expect(read('/etc/resolv.conf')).toContain('127.0.0.53');
});

it('containerd runs as a unit of systemd', async () => {
  expect(await said('systemctl', 'is-active', 'containerd')).toBe('active');
  expect(await said('containerd', '--version')).toMatch(/containerd/);
});

it('podloop is installed as a package, and its version is that of the project', async () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(await said('podloop', '--version')).toContain(version);
});
