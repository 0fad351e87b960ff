import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

import { packTar, type TarEntry } from './tar.js';

/** What the tests' containers run: every applet of busybox, a shell as the default command. */
export const BUSYBOX_IMAGE = 'podloop.test/busybox:1';
/** The sandboxes' image: sleeps. */
export const PAUSE_IMAGE = 'podloop.test/pause:1';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/**
 * A tar of an OCI image layout with {@link BUSYBOX_IMAGE} and {@link PAUSE_IMAGE} in it, made from the machine's
 * static busybox, as `ctr images import` takes it. No registry is asked.
 */
export async function packImages(busybox: string): Promise<Buffer> {
  const { stdout } = await promisify(execFile)(busybox, ['--list']);
  const layer = packTar(rootFolder(await readFile(busybox), stdout.trim().split('\n')));
  const blobs = new Map<string, Buffer>();
  const layerRef = addBlob(blobs, layer, 'application/vnd.oci.image.layer.v1.tar');
  const images: [name: string, config: object][] = [
    [BUSYBOX_IMAGE, { Env: ['PATH=/bin'], Cmd: ['/bin/sh'] }],
    [PAUSE_IMAGE, { Entrypoint: ['/bin/busybox', 'sleep', '1000000'] }],
  ];
  const manifests = images.map(([name, config]) => {
    const configRef = addJson(blobs, 'application/vnd.oci.image.config.v1+json', {
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: [layerRef.digest] },
    });
    const manifest = addJson(blobs, 'application/vnd.oci.image.manifest.v1+json', {
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: configRef,
      layers: [layerRef],
    });
    return { ...manifest, annotations: { 'io.containerd.image.name': name } };
  });
  return packTar([
    { name: 'oci-layout', mode: 0o644, content: json({ imageLayoutVersion: '1.0.0' }) },
    { name: 'index.json', mode: 0o644, content: json({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([digest, content]) => ({
      name: `blobs/${digest.replace(':', '/')}`,
      mode: 0o644,
      content,
    })),
  ]);
}

function rootFolder(busybox: Buffer, applets: readonly string[]): TarEntry[] {
  return [
    ...['bin/', 'dev/', 'etc/', 'proc/', 'sys/', 'root/'].map((name) => ({ name })),
    { name: 'tmp/', mode: 0o1777 },
    {
      name: 'etc/passwd',
      mode: 0o644,
      content: Buffer.from('root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n'),
    },
    { name: 'etc/group', mode: 0o644, content: Buffer.from('root:x:0:\nnogroup:x:65534:\n') },
    { name: 'bin/busybox', content: busybox },
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet) => ({ name: `bin/${applet}`, linkTo: 'busybox' })),
  ];
}

interface BlobRef {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function addBlob(blobs: Map<string, Buffer>, content: Buffer, mediaType: string): BlobRef {
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  blobs.set(digest, content);
  return { mediaType, digest, size: content.length };
}

function addJson(blobs: Map<string, Buffer>, mediaType: string, value: object): BlobRef {
  return addBlob(blobs, json(value), mediaType);
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
