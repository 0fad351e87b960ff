import { describe, expect, it } from 'vitest';
import { AGENT_OPTIONS } from './agent-options.js';
import { KUBELET_CONFIG_TABLES } from './kubelet-config/kubelet-config-fields.js';
import { resolveAgentOptions } from './resolve-agent-options.js';

describe('the options of the agent', () => {
  it('have the defaults of the table', () => {
    expect(resolveAgentOptions({})).toMatchObject({
      maxPods: 110,
      mode: 'auto',
      rootDir: '/var/lib/podloop',
    });
  });

  it('come from flags before the file, and from the file before the machine', () => {
    const config = { maxPods: 20, podsPerCore: 3 };
    const options = resolveAgentOptions({ maxPods: 10 }, config, { podsPerCore: 4, rootDir: '/home/me' });
    expect(options).toMatchObject({ maxPods: 10, podsPerCore: 3, rootDir: '/home/me' });
  });

  it('pull one image at a time where the file says so', () => {
    expect(resolveAgentOptions({}, { serializeImagePulls: true }).maxParallelImagePulls).toBe(1);
    expect(resolveAgentOptions({}, { serializeImagePulls: false }).maxParallelImagePulls).toBe(5);
  });

  it('put links to logs where a kubelet does, if the logs are in the default folder', () => {
    const elsewhere = { podLogsDir: '/home/me/logs' };
    expect(resolveAgentOptions({}).containerLogLinksDir).toBe('/var/log/containers');
    expect(resolveAgentOptions(elsewhere).containerLogLinksDir).toBe('');
    const told = { ...elsewhere, containerLogLinksDir: '/home/me/links' };
    expect(resolveAgentOptions(told).containerLogLinksDir).toBe('/home/me/links');
  });

  it.each([
    [{ containerLogLinksDir: 'here' }, '--container-log-links-dir: "here" is not an absolute path'],
    [{ rootDir: 'here' }, '--root-dir: "here" is not an absolute path'],
    [{ cgroupRoot: '/a b' }, '--cgroup-root: "/a b" must be the path of a cgroup'],
    [{ cgroupDriver: 'sytemd' as 'systemd' }, '--cgroup-driver: "sytemd" is not one of cgroupfs, systemd'],
    [{ imageMinimumGcAgeMs: -5_000 }, '--minimum-image-ttl-duration: -5s is not a duration of 0s or more'],
    [{ httpCheckFrequencyMs: 0 }, '--http-check-frequency: 0s is not longer than no time at all'],
    [{ cpuCfsQuotaPeriodMs: 2_000 }, '--cpu-cfs-quota-period: 2s is not from 1ms to 1s'],
    [{ containerLogMaxFiles: 1 }, '--container-log-max-files: 1 is not at least 2'],
    [{ journalMaxSizeBytes: 2 ** 20 }, '--journal-max-size: 1Mi is not at least 4Mi'],
    [{ journalMaxAgeMs: 0 }, '--journal-max-age: 0s is not longer than no time at all'],
    [
      { imagePullCredentialsVerificationPolicy: 'Sometimes' as 'AlwaysVerify' },
      'imagePullCredentialsVerificationPolicy: "Sometimes" is not one of NeverVerify, ',
    ],
    [
      { preloadedImagesVerificationAllowlist: ['a'] },
      'preloadedImagesVerificationAllowlist: imagePullCredentialsVerificationPolicy has to be',
    ],
    [
      {
        imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages' as const,
        preloadedImagesVerificationAllowlist: ['a', 'b:1'],
      },
      'preloadedImagesVerificationAllowlist: "b:1": neither tag nor digest is accepted',
    ],
    [{ maxParallelImagePulls: 0 }, '--max-parallel-image-pulls: 0 is not at least 1'],
    [{ forbid: ['hostPath', 'root'] }, /^--forbid: "root" is none of privileged, hostPath, /],
    [{ allowedHostPaths: ['var'] }, '--allowed-host-paths: "var" is not an absolute path, such as /var/log'],
    [
      { allowedHostPaths: ['/d', '/d/confined:ro'] },
      '--allowed-host-paths: /d/confined:ro cannot be kept read-only, as pods may write to all of /d; append :ro to that, or leave /d/confined:ro out',
    ],
    [{ allowedHostPaths: ['/d:ro', '/e', '/d'] }, '--allowed-host-paths: /d is there with and without :ro'],
    [{ nodeIp: '1.2' }, '--node-ip: "1.2" is not an address, such as 192.0.2.7 or 2001:db8::7'],
    [{ nodeIp: '192.0.2.7,x' }, '--node-ip: "x" is not an address, such as 192.0.2.7 or 2001:db8::7'],
    [{ nodeIp: ',' }, '--node-ip: "," is not an address, such as 192.0.2.7 or 2001:db8::7'],
    [
      { nodeIp: '192.0.2.7,192.0.2.8' },
      '--node-ip: "192.0.2.7,192.0.2.8" is neither one address nor one of IPv4 and one of IPv6',
    ],
    [{ manifestUrl: 'ftp://x' }, '--manifest-url: "ftp://x" is no http:// or https:// URL'],
    [{ manifestUrlHeader: { 'a b': ['c'] } }, '--manifest-url-header: "a b" is no name of a header'],
    [
      { manifestUrlHeader: { key: ['secret\n'], other: ['se\0cret'] } },
      '--manifest-url-header: "other" has a value that no header can have',
    ],
    [{ maxPods: -1 }, '--max-pods: -1 is not a whole number'],
    [{ imageGcHighThreshold: 101 }, '--image-gc-high-threshold: 101 is not from 0 to 100'],
    [
      { imageGcLowThreshold: 90 },
      '--image-gc-low-threshold: 90 is not less than --image-gc-high-threshold, 85',
    ],
  ])('are refused when they are wrong: %j', (given, message) => {
    expect(() => resolveAgentOptions(given)).toThrow(message);
  });
});

describe('the table of options', () => {
  const rows = Object.values(AGENT_OPTIONS);

  it('names each flag once', () => {
    const flags = rows.flatMap(({ flag, aliases = [] }) => [flag, ...aliases]).filter((flag) => flag !== '');
    expect(new Set(flags).size).toBe(flags.length);
  });

  it('reads every field of a KubeletConfiguration that is documented as supported', () => {
    const fields = Object.entries(KUBELET_CONFIG_TABLES.KubeletConfiguration)
      .filter(([, facts]) => facts.support === 'supported')
      .map(([field]) => field)
      .filter((field) => !['apiVersion', 'kind'].includes(field));
    const taken = rows.map(({ field }) => field?.split('.')[0]);
    // The first two are part of other options, and the last is for whoever makes the agent's logger.
    const elsewhere = ['serializeImagePulls', 'mergeDefaultEvictionSettings', 'logging'];
    expect(fields.filter((field) => !taken.includes(field))).toEqual(elsewhere);
  });
});
