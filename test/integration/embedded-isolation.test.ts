/**
 * What a container in namespaces sees, may do and leaves behind. Needs root; skipped elsewhere.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cri } from '../../src/watch/cri/index.js';
import { type ContainerParts, EmbeddedNode, HOST_IMAGE, logLines, until } from './embedded-node.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
type SecurityContext = NonNullable<NonNullable<ContainerParts['linux']>['securityContext']>;

/** Full of links and files that would lead a careless runtime astray. */
const HOSTILE_IMAGE = 'podloop.test/hostile:1';
const VOLUME_IMAGE = 'podloop.test/volume:1';
const POD = 0;
const CONTAINER = 1;
const NODE = 2;
const TARGET = 3;
const {
  PROPAGATION_PRIVATE: PRIVATE,
  PROPAGATION_HOST_TO_CONTAINER: HOST_TO_CONTAINER,
  PROPAGATION_BIDIRECTIONAL: BIDIRECTIONAL,
} = cri.MountPropagation;

describe.skipIf(!isRoot)('a container in namespaces (needs root)', () => {
  let node: EmbeddedNode;
  let images = '';
  let pod = '';
  let mountsBefore: ReadonlySet<string> = new Set();
  let count = 0;

  beforeAll(async () => {
    mountsBefore = new Set(await readMountTable());
    images = await mkdtemp(join(tmpdir(), 'podloop-images-'));
    await writeProgramImage(images);
    await writeProgramImage(images, {
      name: HOSTILE_IMAGE,
      members: [
        // Where the host has something, and the container must not get at it.
        ...['data', 'etc/resolv.conf', 'etc/hosts', 'etc/hostname', 'place'].map((name) => ({
          name,
          linkTo: join(images, 'of-the-host', name),
        })),
        { name: 'climb', linkTo: `../../../../../../..${join(images, 'of-the-host')}` },
        { name: 'var/' },
        { name: 'var/hole', linkTo: `..${join(images, 'of-the-host')}` },
        { name: 'var/run', linkTo: '../run' },
        { name: 'proc/', mode: 0o755 },
        // So that it looks as if everything were mounted already.
        { name: 'proc/self/' },
        {
          name: 'proc/self/mountinfo',
          content: ['/', '/proc', '/sys', '/dev', '/secret']
            .map((path, at) => `${at + 2} 1 0:${at + 9} / ${path} rw - tmpfs podloop rw\n`)
            .join(''),
        },
        { name: 'sbin/' },
        { name: 'sbin/mount.overlay', content: '#!/bin/sh\ntouch /pwned\n' },
        { name: 'etc/ld.so.preload', content: '/bin/evil.so\n' },
        { name: 'etc/nsswitch.conf', content: 'passwd: evil\ngroup: evil\n' },
      ],
    });
    await writeProgramImage(images, {
      name: VOLUME_IMAGE,
      members: [
        { name: 'sub/' },
        { name: 'sub/file', content: 'inside\n' },
        { name: 'link', linkTo: '/sub' },
      ],
    });
    await mkdir(join(images, 'of-the-host', 'data'), { recursive: true });
    node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none', imageDirs: [images] });
    for (const image of [PROGRAM_IMAGE, HOSTILE_IMAGE, VOLUME_IMAGE])
      await node.client.pullImage({ image: { image } });
    pod = await node.runPod('pod', { hostname: 'inside' });
  }, 60_000);
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(images, { recursive: true, force: true });
  });

  /** Runs a script to its end and says what it wrote. */
  async function say(script: string, parts: ContainerParts = {}, sandbox = pod): Promise<string[]> {
    const name = `c${count++}`;
    const more = { image: { image: PROGRAM_IMAGE }, ...parts };
    const id = await node.run(sandbox, name, script, more);
    await node.exited(id);
    await node.client.removeContainer({ containerId: id });
    return logLines(await node.log(name)).map((line) => line.replace(/^std(out|err) [FP] /, ''));
  }

  function secured(securityContext: SecurityContext): ContainerParts {
    return { linux: { securityContext } };
  }

  it('is the first process of its own when it asks for that, and sees no other', async () => {
    const parts = secured({ namespaceOptions: { pid: CONTAINER } });
    expect(await say('echo $$; ls -d /proc/[0-9]*', parts)).toEqual(['1', '/proc/1']);
  });

  it('shares its processes with the pod unless it asks for something else', async () => {
    const first = await node.run(pod, 'sharing', 'exec sleep 1000', { image: { image: PROGRAM_IMAGE } });
    const seen = await say('cat /proc/[0-9]*/cmdline; echo');
    expect(seen.join('').replaceAll('\0', ' ')).toContain('sleep 1000');
    const targeted = await say(
      'cat /proc/[0-9]*/cmdline',
      secured({ namespaceOptions: { pid: TARGET, targetId: first } }),
    );
    expect(targeted.join('').replaceAll('\0', ' ')).toContain('sleep 1000');
    await node.client.removeContainer({ containerId: first });
  });

  it('leaves no dead process behind in its pod: the first one there reaps', async () => {
    const script = `sh -c 'sleep 0.05 & exit'; sleep 0.4; cat /proc/[0-9]*/stat`;
    const states = (await say(script)).map(
      (line) => / ([A-Z]) /.exec(line.slice(line.lastIndexOf(')')))?.[1],
    );
    expect(states.length).toBeGreaterThan(1);
    expect(states).not.toContain('Z');
  });

  it('sees the host’s processes in a pod of the host’s', async () => {
    const config = { securityContext: { namespaceOptions: { pid: NODE } } };
    const host = await node.runPod('host-pid', { linux: config as never });
    const said = await say(
      `cat /proc/${process.pid}/comm`,
      secured({ namespaceOptions: { pid: NODE } }),
      host,
    );
    expect(said).toEqual([(await readFile('/proc/self/comm', 'utf8')).trim()]);
  });

  it('has the image’s files, and what it writes is its own', async () => {
    expect(await say('ls /; echo mine >/file; cat /file')).toEqual(
      expect.arrayContaining(['bin', 'dev', 'etc', 'proc', 'sys', 'tmp', 'mine']),
    );
    expect(await say('test -e /file || echo none')).toEqual(['none']);
    await expect(stat('/file')).rejects.toThrow('ENOENT');
  });

  it('has the host’s files as its root with the built-in image', async () => {
    const file = join(node.folder, 'of-the-host');
    expect(
      await say(`echo written >${file}; cat /proc/1/comm`, { image: { image: HOST_IMAGE } }),
    ).toHaveLength(1);
    expect(await readFile(file, 'utf8')).toBe('written\n');
  });

  it('has the pod’s host name, network and IPC, or the host’s when the pod asks for those', async () => {
    expect(await say('hostname; cat /etc/hostname; ls /sys/class/net')).toEqual(['inside', 'inside', 'lo']);
    const options = { network: NODE, ipc: NODE, pid: POD };
    const host = await node.runPod('host-net', {
      hostname: 'ignored',
      linux: { securityContext: { namespaceOptions: options } } as never,
    });
    const { status } = await node.client.podSandboxStatus({ podSandboxId: host });
    expect(status?.linux?.namespaces?.options).toMatchObject(options);
    const said = await say('hostname; ls /sys/class/net', {}, host);
    expect(said).toEqual([hostname(), ...(await readdir('/sys/class/net')).sort()]);
  });

  it('has the DNS configuration of its pod', async () => {
    const dnsConfig = {
      servers: ['10.1.2.3', '10.1.2.4'],
      searches: ['a.test', 'b.test'],
      options: ['ndots:5'],
    };
    const own = await node.runPod('dns', { dnsConfig });
    expect(await say('cat /etc/resolv.conf', {}, own)).toEqual([
      'search a.test b.test',
      'nameserver 10.1.2.3',
      'nameserver 10.1.2.4',
      'options ndots:5',
    ]);
  });

  it('has the devices that every program counts on, and no others', async () => {
    const said = await say('ls /dev; echo x >/dev/null && echo written; cat /dev/full | true; echo $?');
    expect(said).toEqual([
      ...['fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty'],
      ...['urandom', 'zero', 'written', '0'],
    ]);
  });

  it('gets the devices that it asks for', async () => {
    const devices = [{ hostPath: '/dev/kmsg', containerPath: '/dev/sub/log', permissions: 'rwm' }];
    const [line] = await say('ls -l /dev/sub/log', { devices });
    expect(line).toMatch(/^c.* 1, +11 /);
  });

  it('shares /dev/shm with its pod alone', async () => {
    await say('echo here >/dev/shm/x');
    expect(await say('cat /dev/shm/x')).toEqual(['here']);
    await expect(stat('/dev/shm/x')).rejects.toThrow('ENOENT');
    const other = await node.runPod('other-shm');
    expect(await say('ls /dev/shm', {}, other)).toEqual([]);
  });

  it('has a /dev/shm that no other user of the host and no pod with the host’s has a path to', async () => {
    const before = await readdir('/dev/shm');
    const secret = await node.runPod('secret-shm');
    await say('echo secret >/dev/shm/key', {}, secret);
    expect(await readdir('/dev/shm')).toEqual(before);
    const way = join(node.root, 'shm', secret);
    expect((await stat(dirname(way))).mode & 0o077).toBe(0);
    expect((await stat(way)).dev).not.toBe((await stat(node.root)).dev);
    await node.client.stopPodSandbox({ podSandboxId: secret });
    await node.client.removePodSandbox({ podSandboxId: secret });
    await expect(stat(way)).rejects.toThrow('ENOENT');
  });

  describe('with mounts', () => {
    let folder = '';
    beforeAll(async () => {
      folder = join(node.folder, 'a volume');
      await mkdir(join(folder, 'sub'), { recursive: true });
      await writeFile(join(folder, 'file'), 'of the host\n');
      await symlink(folder, join(node.folder, 'link'));
    });

    it('sees folders and files of the host where it wants them, made if they are not there', async () => {
      const mounts = [
        { hostPath: folder, containerPath: '/deep/er/place' },
        { hostPath: join(folder, 'file'), containerPath: '/etc/some/file' },
        { hostPath: join(node.folder, 'link'), containerPath: '/linked/' },
        { hostPath: join(node.folder, 'new', 'folder'), containerPath: '/new' },
        { hostPath: join(folder, 'file'), containerPath: '/dev/termination-log' },
        { hostPath: join(folder, 'file'), containerPath: '/deep/er/place/nested' },
      ];
      const script =
        'cat /deep/er/place/file /etc/some/file /linked/file /dev/termination-log /deep/er/place/nested; echo new >/new/x';
      expect(await say(script, { mounts })).toEqual(Array(5).fill('of the host'));
      expect(await readFile(join(node.folder, 'new', 'folder', 'x'), 'utf8')).toBe('new\n');
    });

    it('cannot write what is read-only, and below it only what is mounted there', async () => {
      const mounts = [{ hostPath: folder, containerPath: '/v', readonly: true }];
      expect((await say('echo x >/v/file', { mounts })).join()).toContain('Read-only file system');
      expect(await readFile(join(folder, 'file'), 'utf8')).toBe('of the host\n');
    });

    it('is kept from writing below it, too, when it is recursively read-only', async () => {
      await run('mount', ['-t', 'tmpfs', 'podloop-test', join(folder, 'sub')]);
      try {
        const mount = { hostPath: folder, containerPath: '/v', readonly: true };
        const script = 'echo x >/v/sub/y && echo written';
        expect(await say(script, { mounts: [mount] })).toEqual(['written']);
        const said = await say(script, { mounts: [{ ...mount, recursiveReadOnly: true }] });
        expect(said.join()).toContain('Read-only file system');
      } finally {
        await run('umount', [join(folder, 'sub')]);
      }
    });

    it('gets and hands on later mounts as the propagation says', async () => {
      const shared = join(node.folder, 'shared');
      await mkdir(join(shared, 'later'), { recursive: true });
      await run('mount', ['--bind', shared, shared]);
      // Apart from what its own mount may share with others, as systemd has it.
      await run('mount', ['--make-private', shared]);
      await run('mount', ['--make-shared', shared]);
      try {
        const wait = (name: string) => `while ! [ -e /v/${name} ]; do sleep 0.02; done; ls /v/later`;
        const start = (
          name: string,
          propagation: cri.MountPropagation,
          script: string,
          more: ContainerParts = {},
        ) =>
          node.run(pod, name, script, {
            image: { image: PROGRAM_IMAGE },
            mounts: [{ hostPath: shared, containerPath: '/v', propagation }],
            ...more,
          });
        const ids = [
          await start('private', PRIVATE, wait('go')),
          await start('slave', HOST_TO_CONTAINER, wait('go')),
        ];
        await run('mount', ['-t', 'tmpfs', 'podloop-test', join(shared, 'later')]);
        await writeFile(join(shared, 'later', 'seen'), '');
        await writeFile(join(shared, 'go'), '');
        for (const id of ids) await node.exited(id);
        expect(logLines(await node.log('private'))).toEqual([]);
        expect(logLines(await node.log('slave'))).toEqual(['stdout F seen']);
        await run('umount', [join(shared, 'later')]);

        const both = await start('both', BIDIRECTIONAL, 'sleep 1000', {
          image: { image: HOST_IMAGE },
          ...secured({ privileged: true }),
        });
        const mount = ['mount', '-t', 'tmpfs', 'podloop-test', '/v/later'];
        const answer = await node.client.execSync({ containerId: both, cmd: mount, timeout: 10n });
        expect(Buffer.from(answer.stderr).toString()).toBe('');
        const table = await readMountTable();
        expect(table.filter((line) => line.includes(join(shared, 'later')))).toHaveLength(1);
        await run('umount', [join(shared, 'later')]);
        await node.client.removeContainer({ containerId: both });
      } finally {
        await run('umount', [shared]);
        await rm('/v', { recursive: true, force: true });
      }
    });

    it('sees the files of an image that it mounts, read-only, also after the image was removed', async () => {
      const volume = (more: object) => ({
        mounts: [{ containerPath: '/volume', readonly: true, image: { image: VOLUME_IMAGE }, ...more }],
      });
      const id = await node.create(pod, 'image-volume', 'cat /volume/sub/file; echo x >/volume/new', {
        image: { image: PROGRAM_IMAGE },
        ...volume({}),
      });
      const { image } = await node.client.imageStatus({ image: { image: VOLUME_IMAGE } });
      expect((await node.status(id)).mounts[0]?.image?.imageRef).toBe(image?.id);
      await node.client.removeImage({ image: { image: VOLUME_IMAGE } });
      await node.client.startContainer({ containerId: id });
      await node.exited(id);
      // The order of lines is kept within a stream, not between the two.
      expect(await node.log('image-volume')).toMatch(/ stdout F inside\n/);
      expect(await node.log('image-volume')).toMatch(/ stderr F .*Read-only file system\n/);
      await node.client.removeContainer({ containerId: id });
      await expect(say('true', volume({}))).rejects.toThrow('is not here');

      await node.client.pullImage({ image: { image: VOLUME_IMAGE } });
      expect(await say('cat /volume/file', volume({ imageSubPath: 'sub' }))).toEqual(['inside']);
      expect(await say('cat /volume', volume({ imageSubPath: 'link/file' }))).toEqual(['inside']);
      await expect(say('true', volume({ imageSubPath: 'none' }))).rejects.toThrow('has no "none"');
      await expect(say('true', volume({ imageSubPath: '../x' }))).rejects.toThrow('not a path below');
      await expect(say('true', volume({ readonly: false }))).rejects.toThrow('must be readonly');
    });

    it('refuses propagation that the host’s mount does not allow', async () => {
      const apart = join(node.folder, 'apart');
      await mkdir(apart);
      await run('mount', ['-t', 'tmpfs', 'podloop-test', apart]);
      await run('mount', ['--make-private', apart]);
      try {
        const mounts = [{ hostPath: apart, containerPath: '/v', propagation: BIDIRECTIONAL }];
        await expect(say('true', { mounts })).rejects.toThrow('not a shared mount');
      } finally {
        await run('umount', [apart]);
      }
      expect(await findOurMounts(node.folder, mountsBefore)).toEqual([]);
    });
  });

  describe('as another user', () => {
    const WHO = 'id -u; id -g; id -G';

    it('has the ids and groups that were asked for', async () => {
      const context = {
        runAsUser: { value: 1234n },
        runAsGroup: { value: 2345n },
        supplementalGroups: [7n, 8n],
      };
      expect(await say(WHO, secured(context))).toEqual(['1234', '2345', '2345 7 8']);
      expect(await say(WHO, secured({ runAsUsername: 'nobody' }))).toEqual(['65534', '65534', '65534']);
      expect(await say('echo $HOME', secured({ runAsUsername: 'nobody' }))).toEqual(['/home']);
    });

    it('is shown with them in its status, and commands in it have them too', async () => {
      const context = { runAsUser: { value: 1234n }, runAsGroup: { value: 2345n }, supplementalGroups: [7n] };
      const id = await node.run(pod, `c${count++}`, 'exec sleep 1000', {
        image: { image: PROGRAM_IMAGE },
        ...secured({ ...context, capabilities: { dropCapabilities: ['ALL'] }, noNewPrivs: true }),
      });
      expect((await node.status(id)).user?.linux).toEqual({
        uid: 1234n,
        gid: 2345n,
        supplementalGroups: [2345n, 7n],
      });
      const cmd = ['sh', '-c', `${WHO}; cat /proc/self/status`];
      const { stdout } = await node.client.execSync({ containerId: id, cmd, timeout: 10n });
      const said = Buffer.from(stdout).toString();
      expect(said).toMatch(/^1234\n2345\n2345 7\n/);
      expect(said).toMatch(/CapBnd:\t0+\n/);
      expect(said).toMatch(/NoNewPrivs:\t1\n/);
      await node.client.removeContainer({ containerId: id });
    });

    it('is refused when the image does not know it, or a group stands alone', async () => {
      await expect(say(WHO, secured({ runAsUsername: 'stranger' }))).rejects.toThrow('stranger');
      await expect(say(WHO, secured({ runAsGroup: { value: 7n } }))).rejects.toThrow('without run_as_user');
    });
  });

  describe('with capabilities', () => {
    const SETS = 'cat /proc/self/status';
    const CHOWN = 1n << 0n;
    const NET_RAW = 1n << 13n;
    const NET_ADMIN = 1n << 12n;

    async function sets(context: SecurityContext): Promise<Record<string, bigint>> {
      const lines = await say(SETS, secured(context));
      const found = lines.flatMap((line) => {
        const match = /^(Cap\w+|NoNewPrivs):\s*([0-9a-f]+)$/.exec(line);
        return match === null ? [] : [[match[1]!, BigInt(`0x${match[2]!}`)] as const];
      });
      return Object.fromEntries(found);
    }

    it('has few unless told, none inherited, and those that were added or dropped', async () => {
      const plain = await sets({});
      expect(plain['CapEff']! & CHOWN).toBe(CHOWN);
      expect(plain['CapEff']! & NET_ADMIN).toBe(0n);
      expect(plain).toMatchObject({ CapInh: 0n, CapAmb: 0n, NoNewPrivs: 0n });
      const changed = await sets({
        capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['CAP_CHOWN'] },
      });
      expect(changed['CapBnd']).toBe((plain['CapBnd']! | NET_ADMIN) & ~CHOWN);
      expect(await sets({ capabilities: { dropCapabilities: ['ALL'] } })).toMatchObject({
        CapBnd: 0n,
        CapEff: 0n,
      });
    });

    it('keeps ambient ones as another user', async () => {
      const found = await sets({
        runAsUser: { value: 1000n },
        capabilities: { dropCapabilities: ['ALL'], addAmbientCapabilities: ['NET_RAW'] },
        noNewPrivs: true,
      });
      expect(found).toMatchObject({ CapEff: NET_RAW, CapAmb: NET_RAW, CapBnd: NET_RAW, NoNewPrivs: 1n });
    });

    it('has all that the runtime has when it is privileged, and may write to /sys', async () => {
      const { CapEff } = await sets({ privileged: true });
      const own = /CapPrm:\s*([0-9a-f]+)/.exec(await readFile('/proc/self/status', 'utf8'))![1]!;
      expect(CapEff).toBe(BigInt(`0x${own}`));
      const table = await say('cat /proc/self/mountinfo', secured({ privileged: true }));
      expect(table.find((line) => line.includes(' /sys '))).toMatch(/ \/sys rw/);
    });

    it('is refused what does not exist', async () => {
      const capabilities = { addCapabilities: ['FLY'] };
      await expect(sets({ capabilities })).rejects.toThrow('unknown capability "FLY"');
    });
  });

  it('cannot write to a read-only root, but to its volumes and to /dev/shm', async () => {
    const mounts = [{ hostPath: join(node.folder, 'rw'), containerPath: '/rw' }];
    const script = 'exec 2>&1; echo x >/x; echo x >/rw/x && echo x >/dev/shm/ro && echo volumes';
    const said = await say(script, { mounts, ...secured({ readonlyRootfs: true }) });
    expect(said.join('\n')).toMatch(/Read-only file system\nvolumes$/);
  });

  it('finds nothing in masked paths and cannot write to read-only ones', async () => {
    const context = {
      maskedPaths: ['/proc/version', '/sys/firmware', '/proc/acpi', '/etc/group', '/no/such'],
      readonlyPaths: ['/proc/sys', '/tmp', '/no/such'],
    };
    const script =
      'cat /proc/version; for d in /sys/firmware /proc/acpi; do [ ! -d $d ] || ls $d; done; cat /etc/group; echo 1 >/proc/sys/vm/swappiness; echo 1 >/tmp/x';
    const said = await say(script, secured(context));
    const refusals = said.map((line) => line.replace(/^.*: /, ''));
    expect(refusals, said.join()).toEqual(['Read-only file system', 'Read-only file system']);
  });

  it('has the sysctls of its pod, and no pod has those of the host', async () => {
    const sysctls = { 'kernel.shm_rmid_forced': '1', 'net.ipv4.ip_unprivileged_port_start': '80' };
    const own = await node.runPod('sysctls', { linux: { sysctls } as never });
    const script = 'cat /proc/sys/kernel/shm_rmid_forced /proc/sys/net/ipv4/ip_unprivileged_port_start';
    expect(await say(script, {}, own)).toEqual(['1', '80']);
    const asked = node.runPod('bad', { linux: { sysctls: { 'vm.swappiness': '1' } } as never });
    await expect(asked).rejects.toThrow('not in a separate kernel namespace');
  });

  it('is exited with what is wrong when its program cannot be executed', async () => {
    for (const [command, fault] of [
      [['no-such-program'], 'executable file not found in $PATH'],
      [['/no/such'], 'no such file or directory'],
      [['/etc'], 'is a directory'],
      [['/etc/passwd'], 'permission denied'],
    ] as const) {
      const id = await node.create(pod, `c${count++}`, '', {
        image: { image: PROGRAM_IMAGE },
        command: [...command],
      });
      await expect(node.client.startContainer({ containerId: id })).rejects.toThrow(fault);
      expect(await node.status(id)).toMatchObject({ exitCode: 128, reason: 'StartError' });
      await node.client.removeContainer({ containerId: id });
    }
  });

  it('has the usual mask for its files, while those that the runtime keeps of it are for the runtime alone', async () => {
    const name = `c${count++}`;
    const environment = { envs: [{ key: 'PASSWORD', value: Buffer.from('swordfish') }] };
    const id = await node.run(pod, name, 'umask', { image: { image: PROGRAM_IMAGE }, ...environment });
    await node.exited(id);
    expect(await node.log(name)).toContain(' stdout F 0022\n');
    const own = join(node.root, 'containers', id);
    const { stdout } = await run('find', [own, '-maxdepth', '1', '-type', 'f', '-printf', '%m %f\n']);
    const files = stdout.trim().split('\n');
    expect(files).toContain('600 command');
    expect(files.filter((line) => !line.startsWith('600 '))).toEqual([]);
    await node.client.removeContainer({ containerId: id });
  });

  it('runs commands beside its program, which end with their time', async () => {
    const id = await node.run(pod, `c${count++}`, 'exec sleep 1000', {
      image: { image: PROGRAM_IMAGE },
      ...secured({ namespaceOptions: { pid: CONTAINER } }),
      workingDir: '/tmp',
      envs: [{ key: 'dotted.name', value: Buffer.from('kept') }],
    });
    const exec = async (...cmd: string[]) => {
      const answer = await node.client.execSync({ containerId: id, cmd, timeout: 5n });
      return [Buffer.from(answer.stdout).toString(), Buffer.from(answer.stderr).toString(), answer.exitCode];
    };
    expect(await exec('sh', '-c', 'pwd; hostname; echo oops >&2; exit 7')).toEqual([
      '/tmp\ninside\n',
      'oops\n',
      7,
    ]);
    expect((await exec('env'))[0]).toContain('dotted.name=kept');
    expect(await exec('sh', '-c', 'kill -9 $$')).toEqual(['', '', 137]);
    expect((await exec('ls', '-l', '/proc/self/fd'))[0]).not.toMatch(/ 3 -> (?!\/proc)/);
    await expect(exec('/no/such')).rejects.toThrow('no such file or directory');
    const late = node.client.execSync({
      containerId: id,
      cmd: ['sh', '-c', 'sleep 55 & sleep 66'],
      timeout: 1n,
    });
    await expect(late).rejects.toThrow('timeout');
    await until(
      async () => (await exec('ps', '-o', 'args'))[0] as string,
      (text) => !/sleep (55|66)/.test(text),
    );
    await node.client.removeContainer({ containerId: id });
  });

  it('is reported OOMKilled when the kernel killed it for want of memory', async () => {
    const id = await node.run(pod, `c${count++}`, 'exec cat /dev/zero | { read -r x; }', {
      image: { image: PROGRAM_IMAGE },
      command: ['sh', '-c', 'x=; while :; do x=$x$x.; done'],
      linux: { resources: { memoryLimitInBytes: 16n * 1024n * 1024n } },
    });
    expect(await node.exited(id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    await node.client.removeContainer({ containerId: id });
  });

  it('ends with all that it has started, in its pod’s processes too', async () => {
    const mark = `6666${process.pid}`;
    const script = `sh -c 'exec sleep ${mark}1' & sleep ${mark}2 & echo up; trap '' TERM; while :; do sleep 0.02; done`;
    const id = await node.run(pod, `c${count++}`, script, { image: { image: PROGRAM_IMAGE } });
    await until(
      () => processesWith(mark),
      (pids) => pids.length >= 2,
    );
    await node.client.stopContainer({ containerId: id, timeout: 0n });
    await until(
      () => processesWith(mark),
      (pids) => pids.length === 0,
    );
    await node.client.removeContainer({ containerId: id });
  });

  it('cannot lead the runtime out of its root, whatever its image holds', async () => {
    const image = { image: { image: HOSTILE_IMAGE }, workingDir: '/place/below' };
    const secret = join(node.folder, 'secret');
    await mkdir(secret, { recursive: true });
    await writeFile(join(secret, 'x'), 'seen');
    const mounts = [
      { hostPath: secret, containerPath: '/data/volume' },
      { hostPath: secret, containerPath: '/climb/volume' },
      { hostPath: join(secret, 'x'), containerPath: '/data/file' },
      { hostPath: secret, containerPath: '/secret', readonly: true },
    ];
    const context = { runAsUser: { value: 4321n }, maskedPaths: ['/data/file'], readonlyPaths: ['/data'] };
    const id = await node.create(pod, `c${count++}`, 'cat /data/volume/x; exec sleep 1000', {
      ...image,
      mounts,
      ...secured(context),
    });
    await node.client.startContainer({ containerId: id }).catch(() => undefined);
    await node.client.execSync({ containerId: id, cmd: ['id'], timeout: 10n }).catch(() => undefined);
    await node.client.removeContainer({ containerId: id });
    expect(await readdir(join(images, 'of-the-host'), { recursive: true })).toEqual(['data']);
    expect(await readdir(secret)).toEqual(['x']);
    await expect(stat('/pwned')).rejects.toThrow('ENOENT');
    expect(await findOurMounts(node.folder, mountsBefore)).toEqual([]);
  });

  it('has its mounts where the image’s links lead to in its own files, also above its root and to what is not there', async () => {
    const secret = join(node.folder, 'secret-below-links');
    await mkdir(secret, { recursive: true });
    await writeFile(join(secret, 'x'), 'seen\n');
    const mounts = [
      { hostPath: secret, containerPath: '/var/run/secrets/token' },
      { hostPath: secret, containerPath: '/var/hole/folder' },
      { hostPath: join(secret, 'x'), containerPath: '/var/hole/file' },
      { hostPath: join(secret, 'x'), containerPath: '/data/file' },
    ];
    const script =
      'cat /var/run/secrets/token/x /run/secrets/token/x /var/hole/folder/x /var/hole/file /data/file; echo $PWD; cat /etc/hostname';
    const lines = await say(script, {
      image: { image: HOSTILE_IMAGE },
      workingDir: '/var/hole/made',
      mounts,
      ...secured({ maskedPaths: ['/var/hole/none'], readonlyPaths: ['/var/hole/made'] }),
    });
    // The image has an /etc/ld.so.preload, which its own loader speaks of.
    expect(lines.filter((line) => !line.startsWith('ERROR: ld.so'))).toEqual([
      ...Array.from({ length: 5 }, () => 'seen'),
      join(images, 'of-the-host', 'made'),
      'inside',
    ]);
    expect(await readdir(join(images, 'of-the-host'), { recursive: true })).toEqual(['data']);
    await expect(stat('/run/secrets/token')).rejects.toThrow('ENOENT');
  });

  it('does not start when somebody put a link into a volume below which another is to be mounted', async () => {
    const shared = join(node.folder, 'shared');
    await mkdir(join(shared, 'inner'), { recursive: true });
    await symlink(`../../..${join(images, 'of-the-host')}`, join(shared, 'link'));
    const mounts = [
      { hostPath: shared, containerPath: '/shared' },
      { hostPath: join(shared, 'inner'), containerPath: '/shared/link/x' },
    ];
    const id = await node.create(pod, `c${count++}`, 'true', { image: { image: PROGRAM_IMAGE }, mounts });
    await expect(node.client.startContainer({ containerId: id })).rejects.toThrow('/shared/link is a link');
    expect(await readdir(join(images, 'of-the-host'), { recursive: true })).toEqual(['data']);
    await node.client.removeContainer({ containerId: id });
  });

  it('leaves no mount on the host but the memory that each pod shares', async () => {
    expect(await findOurMounts(node.folder, mountsBefore)).toEqual([]);
    const { items } = await node.client.listPodSandbox({});
    const table = await readFile('/proc/self/mountinfo', 'utf8');
    const ofPods = table.split('\n').filter((line) => line.includes(`${node.root}/shm/`));
    expect(ofPods.length).toBeGreaterThan(0);
    for (const line of ofPods) expect(items.filter(({ id }) => line.includes(`/shm/${id} `))).toHaveLength(1);
  });

  it('is not ready any more when the process that held its namespaces is dead', async () => {
    const doomed = await node.runPod('doomed');
    const { info } = await node.client.podSandboxStatus({ podSandboxId: doomed, verbose: true });
    const { pid } = JSON.parse(info['info']!) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await until(
      async () => (await node.client.podSandboxStatus({ podSandboxId: doomed })).status?.state,
      (state) => state === 1,
    );
    await expect(node.create(doomed, 'late', 'exit 0')).rejects.toThrow('does not exist');
  });
});

/** The lines of the table of the host's mounts. */
async function readMountTable(): Promise<string[]> {
  return (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
}

/**
 * Mounts of the host that have come since `before` and bear our mark or are below a folder of ours, but for the memory that a
 * pod's containers share.
 */
async function findOurMounts(folder: string, before: ReadonlySet<string>): Promise<string[]> {
  const come = (await readMountTable()).filter((line) => !before.has(line));
  const ours = come.filter((line) => line.includes(folder) || / - \S+ podloop /.test(line));
  return ours.filter((line) => !(line.includes(`${folder}/root/shm/`) && line.includes(' - tmpfs shm ')));
}

/** Processes whose command line holds this text. */
async function processesWith(text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids.filter((_, at) => lines[at]!.includes(text)).map(Number);
}
