/**
 * What the layers of an image bring that the container must not have from them: device nodes, and programs with
 * capabilities of their own. Needs root; skipped elsewhere.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContainerParts } from './embedded-node.js';
import { IsolatedPod, secured } from './isolated-pod.js';

const run = promisify(execFile);
const IMAGE = 'podloop.test/layers:1';
const SECRET = 'BLOCK-OF-THE-HOST';
/** Where the layer has the node of the host's disk, and others. */
const NODES = [
  'disk',
  'data/disk',
  'data/deep/er/disk',
  'tmp/disk',
  'dev/disk',
  'etc/disk',
  'data/mem',
  'data/kmsg',
];

/** Numbers of capabilities, see capability.h of Linux; the bytes of all have to be ASCII in an archive's text. */
const POWERS = { net_raw: [13], sys_admin: [21], mknod: [27], chown: [0], several: [0, 2, 13, 21, 28] };
/** What every container may have at most, by the same numbers. */
const USUAL = [0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31];
const maskOf = (numbers: readonly number[]) =>
  numbers.reduce((mask, each) => mask | (1n << BigInt(each)), 0n);

/** The extended attribute of a file, revision 2, as the kernel stores it. */
function attributeOf(numbers: readonly number[], isEffective: boolean): string {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32LE(0x0200_0000 + (isEffective ? 1 : 0), 0);
  bytes.writeUInt32LE(Number(maskOf(numbers) & 0xffff_ffffn), 4);
  bytes.writeUInt32LE(Number(maskOf(numbers) & 0xffff_ffffn), 8);
  return bytes.toString('latin1');
}

const PROGRAMS = Object.entries(POWERS).flatMap(([name, numbers]) =>
  [true, false].map((isEffective) => ({ name: `${name}-${isEffective}`, numbers, isEffective })),
);

describe.skipIf(process.getuid?.() !== 0)('the layers of an image (needs root)', () => {
  let pod: IsolatedPod;
  let folder = '';
  let disk = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-layers-'));
    await writeFile(join(folder, 'disk.img'), SECRET.padEnd(1 << 20, '.'));
    disk = (await run('losetup', ['--find', '--show', join(folder, 'disk.img')])).stdout.trim();
    const { rdev } = await stat(disk);
    const content = await readFile('/bin/cat');
    const deviceOf = (name: string) => {
      if (name.endsWith('disk')) return { kind: 'block', major: rdev >> 8, minor: rdev & 0xff } as const;
      return { kind: 'character', major: 1, minor: name.endsWith('mem') ? 1 : 11 } as const;
    };
    pod = await IsolatedPod.start([
      {
        name: IMAGE,
        members: [
          ...['data/', 'data/deep/', 'data/deep/er/'].map((name) => ({ name, mode: 0o777 })),
          ...NODES.map((name) => ({ name, mode: 0o666, device: deviceOf(name) })),
          ...PROGRAMS.map(({ name, numbers, isEffective }) => {
            const pax = { 'SCHILY.xattr.security.capability': attributeOf(numbers, isEffective) };
            return { name: `bin/${name}`, content, mode: 0o755, pax };
          }),
        ],
      },
    ]);
  }, 120_000);
  afterAll(async () => {
    await pod[Symbol.asyncDispose]();
    await run('losetup', ['--detach', disk]);
    await rm(folder, { recursive: true, force: true });
  });

  const image = { image: { image: IMAGE } };

  const all = { capabilities: { addCapabilities: ['ALL'] } };
  it.each<[string, ContainerParts]>([
    ['usual capabilities', {}],
    ['all capabilities', secured(all)],
    ['another user', secured({ runAsUser: { value: 1234n } })],
    ['a root that is read-only', secured({ readonlyRootfs: true })],
    ['their folder read-only', secured({ ...all, readonlyPaths: ['/data', '/data/deep', '/disk', '/etc'] })],
    ['them in a volume', { mounts: [{ containerPath: '/data', readonly: true, image: { image: IMAGE } }] }],
  ])('bring device nodes that open nothing, for a container with %s', async (_what, parts) => {
    const nodes = [...NODES, 'data/data/disk', 'data/disk'].map((name) => `/${name}`).join(' ');
    const script = `for each in ${nodes}; do [ -b $each ] || [ -c $each ] || continue; echo "node $each"; head -c 17 $each && echo OPENED; (echo x >>$each) && echo OPENED; done`;
    const said = await pod.run(script, { ...image, ...parts });
    const container = await pod.start('exec sleep 1000', { ...image, ...parts });
    said.push(...(await pod.exec(container, script)));
    await pod.remove(container);
    expect(said.filter((line) => line.startsWith('node ')).length).toBeGreaterThan(6);
    expect(said.join('\n')).not.toMatch(new RegExp(`OPENED|${SECRET}`));
    expect((await readFile(join(folder, 'disk.img'), 'latin1')).slice(0, 18)).toBe(`${SECRET}.`);
  });

  const user = { runAsUser: { value: 1234n } };
  const drop = { capabilities: { dropCapabilities: ['ALL'] } };
  it.each([
    ['as another user with usual capabilities', secured(user), maskOf(USUAL)],
    ['as another user without any', secured({ ...user, ...drop }), 0n],
    ['as another user without new privileges', secured({ ...user, noNewPrivs: true }), 0n],
    ['as root without any', secured(drop), 0n],
    ['as root with usual capabilities', {}, maskOf(USUAL)],
  ])('bring programs that have no more than their container, %s', async (_what, parts, bound) => {
    // It reads its own state; the kernel does not execute one that would miss what its file says it has.
    const script = PROGRAMS.map(({ name }) => `echo "program ${name}"; /bin/${name} /proc/self/status`).join(
      '\n',
    );
    const said = await pod.run(script, { ...image, ...parts });
    const container = await pod.start('exec sleep 1000', { ...image, ...parts });
    said.push(...(await pod.exec(container, script)));
    await pod.remove(container);
    const masks = said.flatMap((line) => /^Cap(?:Prm|Eff|Inh|Amb):\s*(\w+)$/.exec(line)?.[1] ?? []);
    expect(said.filter((line) => line.startsWith('program '))).toHaveLength(2 * PROGRAMS.length);
    for (const mask of masks) expect(BigInt(`0x${mask}`) & ~bound).toBe(0n);
    // They are executed at all, and the attribute is there to be tried.
    expect(masks.length).toBeGreaterThan(0);
  });

  it('keep the capabilities of files, so that these are tried at all', async () => {
    const said = await pod.run('/bin/chown-true /proc/self/status', { ...image, ...secured(user) });
    expect(said.join('\n')).toMatch(/CapEff:\s*0*1$/m);
  });
});
