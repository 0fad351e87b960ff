import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { ImageRegistry } from './image-registry.js';

it('serves images under the names of the registries that it stands in for', async () => {
  const layout = new OciLayout();
  const name = 'registry.example/team/app:1';
  const { id, manifest } = layout.addImage({ names: [name], layers: [[{ name: 'motd', content: 'hello' }]] });
  await using registry = await ImageRegistry.start(layout);
  const folder = await mkdtemp(path.join(tmpdir(), 'podloop-registry-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await registry.writeHosts(folder);
  const hosts = await readFile(path.join(folder, 'registry.example', 'hosts.toml'), 'utf8');
  const url = /server = "(?<url>[^"]+)"/.exec(hosts)?.groups?.['url'];
  const ask = async (rest: string): Promise<Response> => fetch(`${url}/v2/${rest}`);

  const tagged = await ask('team/app/manifests/1?ns=registry.example');
  expect(tagged.headers.get('docker-content-digest')).toBe(manifest.digest);
  expect(tagged.headers.get('content-type')).toBe(manifest.mediaType);
  expect(await tagged.json()).toMatchObject({ config: { digest: id } });
  expect((await ask(`team/app/manifests/${manifest.digest}`)).status).toBe(200);
  expect((await ask(`team/app/blobs/${id}`)).status).toBe(200);
  for (const rest of ['team/app/manifests/1?ns=other.example', 'team/app/manifests/2?ns=registry.example'])
    expect((await ask(rest)).status).toBe(404);
  expect((await ask('team/app/blobs/sha256:00')).status).toBe(404);
});
