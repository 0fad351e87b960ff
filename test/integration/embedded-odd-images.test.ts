/**
 * What is said of containers that cannot be: of images with odd files, of limits in which nothing starts. Needs root;
 * skipped elsewhere.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TarMember } from '#support/builders/pack-tar.js';
import { CONTAINER_EXITED, type ContainerParts, EmbeddedNode, until } from './embedded-node.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';

const NO_PLACE = 'has no place in the image';
const NO_FOLDER = 'must be mounted on an ordinary directory';
/** What an image has, and what is said when it is started. */
const FAULTS: readonly [string, TarMember, string][] = [
  ['an etc that is a file', { name: 'etc', content: 'x' }, `${NO_PLACE}, where /etc is no folder`],
  [
    'an etc that leads to a file',
    { name: 'etc', linkTo: '/bin/sh' },
    `${NO_PLACE}, where /bin/sh is no folder`,
  ],
  [
    'an etc that leads into /proc',
    { name: 'etc', linkTo: '/proc/x' },
    `${NO_PLACE}, whose links lead to /proc/x`,
  ],
  [
    'an etc that leads into /dev',
    { name: 'etc', linkTo: '/dev/x' },
    `${NO_PLACE}, whose links lead to /dev/x`,
  ],
  ['an etc that leads to itself', { name: 'etc', linkTo: 'etc' }, 'too many links of the image'],
  ...['dev', 'sys', 'proc'].flatMap((name): [string, TarMember, string][] => [
    [`a ${name} that climbs above the root`, { name, linkTo: `../../../../../..${tmpdir()}` }, NO_FOLDER],
    [`a ${name} that is a link to a folder of its own`, { name, linkTo: '/home' }, NO_FOLDER],
    [`a ${name} that is a link to nothing`, { name, linkTo: 'nowhere' }, NO_FOLDER],
    [`a ${name} that is a link to itself`, { name, linkTo: name }, NO_FOLDER],
    [`a ${name} that is a file`, { name, content: 'x' }, NO_FOLDER],
    [`a ${name} that is a pipe`, { name, fifo: true }, NO_FOLDER],
  ]),
  ['a folder for hosts', { name: 'etc/hosts/' }, `${NO_PLACE}, where /etc/hosts is a folder`],
];
/** What an etc/passwd is in which a user cannot be looked up, and what is said of it. */
const USERS: readonly [string, TarMember, string][] = [
  ['a pipe', { name: 'etc/passwd', fifo: true }, 'which is no regular file'],
  [
    'a device',
    { name: 'etc/passwd', device: { kind: 'character', major: 1, minor: 5 } },
    'which is no regular file',
  ],
  ['endless', { name: 'etc/passwd', content: 'x'.repeat(5_000_000) }, 'which is too large'],
];
const ODD: readonly TarMember[] = [...FAULTS, ...USERS].map(([, member]) => member);

describe.skipIf(process.getuid?.() !== 0)('what cannot be started in namespaces (needs root)', () => {
  let node: EmbeddedNode;
  let images = '';
  let pod = '';
  let count = 0;

  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'podloop-images-'));
    await writeProgramImage(images);
    for (const [at, member] of ODD.entries())
      await writeProgramImage(images, { name: `podloop.test/odd:${at}`, members: [member] });
    node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none', imageDirs: [images] });
    await node.client.pullImage({ image: { image: PROGRAM_IMAGE } });
    pod = await node.runPod('pod');
  }, 120_000);
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(images, { recursive: true, force: true });
  });

  /** What the start of a container of the image says; empty when it starts. */
  async function start(member: TarMember, parts: ContainerParts = {}): Promise<string> {
    const image = { image: `podloop.test/odd:${ODD.indexOf(member)}` };
    await node.client.pullImage({ image });
    return node.run(pod, `c${count++}`, 'true', { image, ...parts }).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
  }

  it.each(FAULTS)(
    'is an image with %s, which is said without the host’s paths',
    async (_what, member, said) => {
      const message = await start(member);
      expect(message).toContain(said);
      expect(message).not.toContain(node.folder);
      expect(message).not.toContain('loader');
    },
  );

  it.each(USERS)('is a user of an image whose etc/passwd is %s', async (_what, member, said) => {
    const asWeb = { linux: { securityContext: { runAsUsername: 'web' } } };
    expect(await start(member, asWeb)).toContain(`user "web" is not in the image's etc/passwd, ${said}`);
    expect(await start(member)).toBe('');
  });

  it('is a container with a memory limit in which not even its set-up has room', async () => {
    const id = await node.create(pod, `c${count++}`, 'true', {
      image: { image: PROGRAM_IMAGE },
      linux: { resources: { memoryLimitInBytes: 1n } },
    });
    await expect(node.client.startContainer({ containerId: id })).rejects.toThrow(
      'its memory limit is too small to start in',
    );
    const status = await until(
      () => node.status(id),
      ({ state }) => state === CONTAINER_EXITED,
    );
    expect(status).toMatchObject({ exitCode: 128, reason: 'StartError' });
    expect(status.message).toContain('memory limit');
  });
});
