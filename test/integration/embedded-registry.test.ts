/** Pulls of the embedded runtime from a real registry, Debian's docker-registry, held against what skopeo copies. */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { EmbeddedRuntime } from '../../src/box/index.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { OciLayout } from '#support/fakes/oci-layout.js';

const run = promisify(execFile);
const has = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
const MISSING = ['docker-registry', 'skopeo'].filter((program) => !has(program));

describe.skipIf(MISSING.length > 0)(
  `a pull from a real registry${MISSING.length > 0 ? ` (skipped: no ${MISSING.join(', no ')} here; Debian has both)` : ''}`,
  () => {
    let folder: string;
    let host: string;
    let registry: ChildProcess;
    let runtime: EmbeddedRuntime;
    let client: CriClient;
    let id: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'podloop-real-registry-'));
      host = `127.0.0.1:${await findFreePort()}`;
      const config = join(folder, 'config.yml');
      const storage = `storage: { filesystem: { rootdirectory: ${join(folder, 'storage')} } }`;
      await writeFile(config, `version: 0.1\n${storage}\nhttp: { addr: "${host}" }\n`);
      registry = spawn('docker-registry', ['serve', config], { stdio: 'ignore' });
      // Bounded by the limit of this preparation.
      while ((await fetch(`http://${host}/v2/`).catch(() => undefined))?.ok !== true) await sleepFor(50);
      const layout = new OciLayout();
      const layers = [
        [{ name: 'etc/' }, { name: 'etc/motd', content: 'hello'.repeat(100_000) }],
        [{ name: 'etc/.wh.motd' }, { name: 'etc/issue', content: 'podloop' }],
      ];
      ({ id } = layout.addImage({
        names: ['example.test/app:1'],
        layers,
        compression: 'gzip',
        config: { User: '7' },
      }));
      for (const [path, content] of layout.toFiles()) {
        const file = join(folder, 'made', path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
      }
      const insecure = ['--insecure-policy', 'copy', '--dest-tls-verify=false'];
      await run('skopeo', [...insecure, `oci:${folder}/made`, `docker://${host}/team/app:1`]);
      const listen = `unix://${folder}/cri.sock`;
      const options = { configFolders: [], environment: { HOME: folder } };
      runtime = await EmbeddedRuntime.start({ listen, rootDir: join(folder, 'root'), registry: options });
      client = new CriClient({ endpoint: listen });
    }, 240_000);

    afterAll(async () => {
      client.close();
      await runtime.close();
      registry.kill();
      await once(registry, 'exit');
      await rm(folder, { recursive: true, force: true });
    });

    it('gets the bytes that skopeo copies', async () => {
      const { imageRef } = await client.pullImage({ image: { image: `${host}/team/app:1` } });
      expect(imageRef).toBe(id);
      const insecure = ['--insecure-policy', 'copy', '--src-tls-verify=false'];
      await run('skopeo', [...insecure, `docker://${host}/team/app:1`, `dir:${folder}/copied`]);
      const copied = (await readdir(join(folder, 'copied'))).filter((name) => /^[0-9a-f]{64}$/.test(name));
      for (const name of copied) {
        const ours = await readFile(join(folder, 'root/images/blobs', `sha256-${name}`));
        expect(ours.equals(await readFile(join(folder, 'copied', name)))).toBe(true);
      }
      const manifest = await readFile(join(folder, 'copied/manifest.json'));
      const blobs = await readdir(join(folder, 'root/images/blobs'));
      expect(blobs).toHaveLength(copied.length + 1);
      const others = blobs.filter((name) => !copied.includes(name.slice('sha256-'.length)));
      const [own] = await Promise.all(
        others.map((name) => readFile(join(folder, 'root/images/blobs', name))),
      );
      expect(own!.equals(manifest)).toBe(true);
    });

    it('says of what is not there that it is not', async () => {
      const pull = client.pullImage({ image: { image: `${host}/team/app:9` } });
      await expect(pull).rejects.toThrow(/has no such image \(404 Not Found/);
      const image = await client.imageStatus({ image: { image: `${host}/team/app:1` } });
      expect(image.image).toMatchObject({ id, uid: { value: 7n } });
    });
  },
);
