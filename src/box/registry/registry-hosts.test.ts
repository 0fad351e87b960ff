import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findRegistryHosts } from './registry-hosts.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-hosts-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function save(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

const pem = (what: string): string => `-----BEGIN ${what}-----`;

async function basesOf(registry: string): Promise<string[]> {
  return (await findRegistryHosts(registry, [folder])).map(({ base }) => base);
}

describe('the hosts of a registry', () => {
  it.each([
    ['docker.io', ['https://registry-1.docker.io/v2']],
    ['registry.lab:5000', ['https://registry.lab:5000/v2']],
    ['localhost:5000', ['https://localhost:5000/v2', 'http://localhost:5000/v2']],
    ['[::1]:5000', ['https://[::1]:5000/v2', 'http://[::1]:5000/v2']],
    ['127.0.0.1:443', ['https://127.0.0.1:443/v2']],
  ])('are without any file, for %s, %j', async (registry, bases) => {
    expect(await basesOf(registry)).toEqual(bases);
  });

  it('are mirrors in the order of the file, then the server', async () => {
    await save({
      'docker.io/hosts.toml': `
server = "https://hub.lab"
[host."https://mirror.lab:5000"]
  capabilities = ["pull", "resolve", "push"]
  skip_verify = true
  dial_timeout = "1.5s"
  [host."https://mirror.lab:5000".header]
    x-key = ["a", "b"]
[host."http://other.lab/proxy/v2"]
  capabilities = ["pull"]
[host."https://third.lab/a/b/"]
  override_path = true
[host."localhost:5001"]
`,
    });
    const hosts = await findRegistryHosts('docker.io', [join(folder, 'missing'), folder]);
    expect(hosts.map(({ base, isOrigin, capabilities }) => [base, isOrigin, capabilities.join()])).toEqual([
      ['https://mirror.lab:5000/v2', false, 'pull,resolve'],
      ['http://other.lab/proxy/v2', false, 'pull'],
      ['https://third.lab/a/b', false, 'pull,resolve'],
      ['http://localhost:5001/v2', false, 'pull,resolve'],
      ['https://hub.lab/v2', true, 'pull,resolve'],
    ]);
    expect(hosts[0]).toMatchObject({
      headers: { 'x-key': 'a, b' },
      tls: { skipVerify: true },
      dialTimeoutMs: 1_500,
    });
  });

  it('are where Docker Hub speaks the protocol, as many files give its name', async () => {
    await save({ 'docker.io/hosts.toml': 'server = "https://docker.io"\n[host."https://mirror.lab"]\n' });
    const hosts = await findRegistryHosts('docker.io', [folder]);
    expect(hosts.map(({ base, isOrigin }) => [base, isOrigin])).toEqual([
      ['https://mirror.lab/v2', false],
      ['https://registry-1.docker.io/v2', true],
    ]);
  });

  it('are those of the first folder that has the registry, by either name of its port, else of the default', async () => {
    await save({
      'registry.lab_5000_/hosts.toml': 'server = "http://a.lab"',
      '_default/hosts.toml': '[host."http://b.lab"]',
    });
    expect(await basesOf('registry.lab:5000')).toEqual(['http://a.lab/v2']);
    expect(await basesOf('other.lab')).toEqual(['http://b.lab/v2', 'https://other.lab/v2']);
  });

  it('have the certificates that the file names, beside it or anywhere', async () => {
    await save({
      'a.lab/hosts.toml': `
ca = "/${folder.slice(1)}/ca.pem"
client = [["client.cert", "client.key"], "both.pem"]
`,
      'ca.pem': pem('CA'),
      'a.lab/client.cert': pem('CERT'),
      'a.lab/client.key': pem('KEY'),
      'a.lab/both.pem': pem('BOTH'),
    });
    const [host] = await findRegistryHosts('a.lab', [folder]);
    expect(host!.tls).toEqual({
      authorities: [pem('CA')],
      clients: [
        { cert: pem('CERT'), key: pem('KEY') },
        { cert: pem('BOTH'), key: pem('BOTH') },
      ],
      skipVerify: false,
    });
  });

  it('are none where a file of certificates has none in it', async () => {
    await save({ 'a.lab/hosts.toml': 'ca = "ca.pem"', 'a.lab/ca.pem': 'nothing' });
    await expect(findRegistryHosts('a.lab', [folder])).rejects.toThrow(
      `${folder}/a.lab/hosts.toml is wrong: ${folder}/a.lab/ca.pem has no certificate or key as PEM`,
    );
  });

  it('have the certificates of a folder without a file, as Docker has them', async () => {
    await save({ 'a.lab/ca.crt': pem('CA'), 'a.lab/me.cert': pem('CERT'), 'a.lab/me.key': pem('KEY') });
    const [host] = await findRegistryHosts('a.lab', [folder]);
    expect(host!.tls).toEqual({
      authorities: [pem('CA')],
      clients: [{ cert: pem('CERT'), key: pem('KEY') }],
      skipVerify: false,
    });
  });

  it.each([
    ['1m30s', 90_000],
    ['.5s', 500],
    ['2h', 7_200_000],
    ['250000us', 250],
    ['100h', 24 * 3_600_000],
    ['0', undefined],
    ['0s', undefined],
  ])('are connected to within any duration of Go: %s', async (text, dialTimeoutMs) => {
    await save({ 'a.lab/hosts.toml': `[host."https://b.lab"]\ndial_timeout = "${text}"` });
    const [host] = await findRegistryHosts('a.lab', [folder]);
    expect(host?.dialTimeoutMs).toBe(dialTimeoutMs);
  });

  it.each([
    ['server = ', 'hosts.toml is wrong'],
    ['server = 7', '"server" is no text'],
    ['[host."https://"]', 'no address of a host'],
    ['[host."https://ann:secret@a.lab"]', 'has a login in it'],
    ['[host."https://b.lab"]\nca = 7', '"ca" is neither'],
    ['[host."https://b.lab"]\nca = "none.pem"', 'none.pem cannot be read'],
    ['[host."https://b.lab"]\ncapabilities = "pull"', '"capabilities" is no list'],
    ['[host."https://b.lab"]\ndial_timeout = "soon"', '"dial_timeout" is no duration'],
    ['[host."https://b.lab"]\ndial_timeout = "-1s"', '"dial_timeout" is no duration'],
    ['[host."https://b.lab"]\ndial_timeout = 10', '"dial_timeout" is no duration'],
    ['[host."https://b.lab".header]\n"a b" = "c"', '"header" has something'],
    ['host = 1', '"host" is no table'],
  ])('are none where the file is wrong: %j', async (text, words) => {
    await save({ 'a.lab/hosts.toml': text });
    await expect(basesOf('a.lab')).rejects.toThrow(words);
  });
});
