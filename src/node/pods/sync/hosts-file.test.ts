import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { formatHostsFile, formatNodeHostsFile, readNodeHosts, writeHostsFile } from './hosts-file.js';

const LOCAL = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;
const aliases = [{ ip: '192.0.2.7', hostnames: ['db', 'cache'] }, { ip: '192.0.2.8' }];
const ALIASES = '\n# Entries added by HostAliases.\n192.0.2.7\tdb\tcache\n192.0.2.8\n';

it('names the pod by its name at each of its addresses', () => {
  const names = { short: 'web', domain: '' };
  expect(formatHostsFile({ ips: ['10.88.0.2', 'fd00::2'], names, aliases: [] })).toBe(
    `# Kubernetes-managed hosts file.\n${LOCAL}10.88.0.2\tweb\nfd00::2\tweb\n`,
  );
});

it('names the pod by its full name first, and adds its aliases', () => {
  const names = { short: 'web', domain: 'shop.default.svc' };
  expect(formatHostsFile({ ips: ['10.88.0.2'], names, aliases })).toBe(
    `# Kubernetes-managed hosts file.\n${LOCAL}10.88.0.2\tweb.shop.default.svc\tweb\n${ALIASES}`,
  );
});

it('adds aliases to what the node says, for a pod on its network', () => {
  const head = '# Kubernetes-managed hosts file (host network).\n';
  expect(formatNodeHostsFile('127.0.0.1 node\n', [])).toBe(`${head}127.0.0.1 node\n`);
  expect(formatNodeHostsFile('127.0.0.1 node', aliases)).toBe(`${head}127.0.0.1 node\n${ALIASES}`);
  expect(formatNodeHostsFile('', [])).toBe(head);
});

it('writes into the same file each time, as containers have it mounted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-hosts-'));
  try {
    const paths = new PodPaths({ rootDir: folder, podLogsDir: join(folder, 'logs') });
    await mkdir(paths.podDir('u1'), { recursive: true });
    const file = await writeHostsFile(paths, 'u1', 'one');
    const { ino } = await stat(file);
    expect(await writeHostsFile(paths, 'u1', 'two')).toBe(file);
    expect(await readNodeHosts(file)).toBe('two');
    expect(await stat(file)).toMatchObject({ ino, mode: 0o100644 });
    expect(await readFile(file, 'utf8')).toBe('two');
    expect(await readNodeHosts(join(folder, 'none'))).toBe('');
  } finally {
    await rm(folder, { recursive: true });
  }
});
