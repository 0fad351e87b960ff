/**
 * The files of a pod that all of its containers share: hosts, hostname and resolv.conf. Needs root; skipped elsewhere.
 *
 * @module
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContainerParts, EmbeddedNode, logLines } from './embedded-node.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';

const FILES = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];
/** What a program can do to a file that it may write to. */
const CHANGES: Readonly<Record<string, string>> = {
  'be written to': 'echo lie >>FILE',
  'be emptied': 'truncate -s 0 FILE',
  'get another mode': 'chmod 777 FILE || perl -e "chmod(0777, q(FILE)) or exit 1"',
  'get another owner': 'perl -e "chown(7, 7, q(FILE)) or exit 1"',
  'get another time': 'perl -e "utime(1, 1, q(FILE)) or exit 1"',
  'be replaced': 'mv -f /dev/shm/new FILE',
  'be removed': 'rm -f FILE',
  'be written to through its descriptor': 'exec 5<FILE; echo lie >/proc/self/fd/5',
};

describe.skipIf(process.getuid?.() !== 0)('the files of a pod (needs root)', () => {
  let node: EmbeddedNode;
  let images = '';
  let pod = '';
  let count = 0;

  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'podloop-images-'));
    await writeProgramImage(images);
    node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none', imageDirs: [images] });
    await node.client.pullImage({ image: { image: PROGRAM_IMAGE } });
    pod = await node.runPod('pod', { hostname: 'inside', dnsConfig: { servers: ['10.1.2.3'] } as never });
  }, 60_000);
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(images, { recursive: true, force: true });
  });

  async function say(script: string, parts: ContainerParts = {}): Promise<string[]> {
    const name = `c${count++}`;
    const id = await node.run(pod, name, script, { image: { image: PROGRAM_IMAGE }, ...parts });
    await node.exited(id);
    await node.client.removeContainer({ containerId: id });
    return logLines(await node.log(name)).map((line) => line.replace(/^std(out|err) [FP] /, ''));
  }

  const READ_ONLY: ContainerParts = { linux: { securityContext: { readonlyRootfs: true } } };

  it('cannot be changed by a container whose root is read-only, in any way', async () => {
    const before = await say(`cat ${FILES.join(' ')}; stat -c "%a %u %Y" ${FILES.join(' ')}`);
    const tries = FILES.flatMap((file) =>
      Object.entries(CHANGES).map(
        ([what, script]) =>
          `echo new >/dev/shm/new; if (${script.replaceAll('FILE', file)}) 2>/dev/null; then echo "${file} can ${what}"; fi`,
      ),
    );
    expect(await say(`${tries.join('\n')}\necho done`, READ_ONLY)).toEqual(['done']);
    expect(await say(`cat ${FILES.join(' ')}; stat -c "%a %u %Y" ${FILES.join(' ')}`)).toEqual(before);
  });

  it('can be written to by every other container, as a client can mount a file of its own over one', async () => {
    expect(await say('echo "10.9.9.9 added" >>/etc/hosts && echo written')).toEqual(['written']);
    expect((await say('cat /etc/hosts', READ_ONLY)).join()).toContain('10.9.9.9 added');
    const own = join(node.folder, 'hosts-of-the-client');
    await writeFile(own, '');
    const mounts = [{ hostPath: own, containerPath: '/etc/hosts' }];
    expect(await say('echo mine >/etc/hosts && cat /etc/hosts', { mounts, ...READ_ONLY })).toEqual(['mine']);
  });
});
