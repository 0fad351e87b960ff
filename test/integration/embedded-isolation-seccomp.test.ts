/**
 * What seccomp profiles of one's own do to containers in namespaces. Needs root, perl and a processor whose calls are
 * known.
 *
 * @module
 */
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cri } from '../../src/watch/cri/index.js';
import { findCallTable } from '../../src/box/isolation/seccomp/seccomp-calls.js';
import { IsolatedPod, secured } from './isolated-pod.js';
import { PROGRAM_IMAGE } from './program-image.js';

const canFilter = await access('/usr/bin/perl').then(
  () => process.getuid?.() === 0 && findCallTable(process.arch) !== undefined,
  () => false,
);

/** Calls of the container's set-up after its user is another one: a profile need not allow them. */
const SETUP = [
  'capset',
  'setuid',
  'setgid',
  'setgroups',
  'setresuid',
  'prctl',
  'seccomp',
  'chroot',
  'setsid',
];
const MKDIR = ['mkdir', 'mkdirat', ...SETUP];

describe.skipIf(!canFilter)('a seccomp profile of one’s own (needs root, perl)', () => {
  let pod: IsolatedPod;
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-seccomp-'));
    pod = await IsolatedPod.start();
  }, 60_000);
  afterAll(async () => {
    await pod[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const write = async (profile: unknown) => {
    const path = join(folder, 'profile.json');
    await writeFile(path, typeof profile === 'string' ? profile : JSON.stringify(profile));
    return { profileType: cri.SecurityProfile_ProfileType.Localhost, localhostRef: path };
  };
  const deny = (names: readonly string[]) => ({
    defaultAction: 'SCMP_ACT_ALLOW',
    syscalls: [{ names, action: 'SCMP_ACT_ERRNO', errnoRet: 28 }],
  });

  it('may be of a sandbox, whose containers it does not hold for, if it can be loaded', async () => {
    const seccomp = await write(deny(MKDIR));
    const config = { linux: { securityContext: { seccomp } } } as Partial<cri.PodSandboxConfig>;
    const sandbox = await pod.node.runPod('own', config);
    const parts = { image: { image: PROGRAM_IMAGE } };
    const id = await pod.node.run(sandbox, 'free', 'mkdir /tmp/x && exit 3', parts);
    expect((await pod.node.exited(id)).exitCode).toBe(3);
    await write('{');
    await expect(pod.node.runPod('bad', config)).rejects.toThrow(/cannot load seccomp profile/);
  });

  const USERS = [
    { name: 'root', parts: {} },
    { name: 'root without new privileges', parts: { noNewPrivs: true } },
    { name: 'another user', parts: { runAsUser: { value: 1234n } } },
    {
      name: 'another user without new privileges',
      parts: { runAsUser: { value: 1234n }, noNewPrivs: true },
    },
    {
      name: 'another user with a capability',
      parts: { runAsUser: { value: 1234n }, capabilities: { addAmbientCapabilities: ['NET_RAW'] } },
    },
    {
      name: 'another user that may administer the system',
      parts: { runAsUser: { value: 1234n }, capabilities: { addAmbientCapabilities: ['SYS_ADMIN'] } },
    },
    { name: 'root that may do so', parts: { capabilities: { addCapabilities: ['SYS_ADMIN'] } } },
  ];
  it.each(USERS)(
    'holds for the program and for commands beside it, and changes no right: $name',
    async ({ parts }) => {
      const rights = 'grep -E "^(Cap|NoNewPrivs|Uid|Gid|Groups)" /proc/self/status';
      const script = `${rights}; mkdir /tmp/made 2>&1 && echo made; grep ^Seccomp: /proc/self/status`;
      const before = await pod.run(rights, secured(parts));
      expect(before.length).toBeGreaterThan(7);
      const seccomp = await write(deny(MKDIR));
      const said = await pod.run(script, secured({ ...parts, seccomp }));
      expect(said.slice(0, before.length)).toEqual(before);
      expect(said.slice(before.length).join()).toMatch(/^mkdir: .*No space left on device,Seccomp:\t2$/);
      const container = await pod.start('exec sleep 1000', secured({ ...parts, seccomp }));
      expect(await pod.exec(container, script)).toEqual(said);
      await pod.remove(container);
    },
  );

  it('keeps root with SYS_ADMIN from naming the host, and is passed over for what is privileged', async () => {
    const seccomp = await write(deny(['sethostname']));
    const capabilities = { addCapabilities: ['SYS_ADMIN'] };
    const own = 'perl -e \'print syscall($ARGV[0], my $n = "other", 5) == 0 ? "named" : $!, "\\n"\'';
    const script = `${own} ${findCallTable(process.arch)!.numbers.get('sethostname')}`;
    expect(await pod.run(script, secured({ seccomp, capabilities }))).toEqual(['No space left on device']);
    expect(await pod.run(script, secured({ seccomp, privileged: true }))).toEqual(['named']);
  });

  it('may kill: a container that makes such a call ends with the signal', async () => {
    const seccomp = await write({
      defaultAction: 'SCMP_ACT_ALLOW',
      syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_KILL_PROCESS' }],
    });
    const said = await pod.run('mkdir /tmp/killed 2>/dev/null; echo $? 2>&1', secured({ seccomp }));
    expect(said).toContain('159');
  });

  it.each([
    ['no file', undefined, 'ENOENT'],
    ['no profile', '{"defaultAction":"SCMP_ACT_NOTIFY"}', 'defaultAction is "SCMP_ACT_NOTIFY": use one of'],
  ])('is refused when the container is made: %s', async (_what, text, fault) => {
    const seccomp = await write(text ?? '');
    if (text === undefined) await rm(seccomp.localhostRef);
    await expect(pod.run('true', secured({ seccomp }))).rejects.toThrow(
      `cannot load seccomp profile "${seccomp.localhostRef}": ${fault}`,
    );
  });
});
