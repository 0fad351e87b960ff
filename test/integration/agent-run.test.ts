import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { SystemClock } from '#base/time/clock.js';
import { lockFolder, RUNTIME_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';

let folder: string;
let manifests: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-run-test-'));
  manifests = join(folder, 'manifests');
  await mkdir(manifests);
});

afterEach(async () => {
  // The runtime of an agent that left its pods goes on with them.
  await withRuntime(async (client) => {
    const { items } = await client.listPodSandbox({});
    await Promise.all(items.map(({ id }) => client.removePodSandbox({ podSandboxId: id })));
  }).catch(() => undefined);
  await expect.poll(() => processesNaming(folder), { timeout: 30_000 }).toEqual([]);
  await rm(folder, { recursive: true });
});

/** Processes whose command line or environment names a word. */
async function processesNaming(word: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const files = ['cmdline', 'environ'].map((file) =>
      readFile(join('/proc', pid, file), 'utf8').catch(() => ''),
    );
    const texts = await Promise.all(files);
    if (texts.some((text) => text.includes(word))) found.push(`${pid} ${texts[0]!.replaceAll('\0', ' ')}`);
  }
  return found;
}

async function withRuntime<T>(use: (client: CriClient) => Promise<T>): Promise<T> {
  const client = new CriClient({ endpoint: `unix://${join(folder, 'node/runtime/cri.sock')}` });
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** Of every container that there is: name, attempt and id. */
async function containers(): Promise<string[]> {
  const { containers: all } = await withRuntime((client) => client.listContainers({}));
  return all.map(({ id, metadata }) => `${metadata?.name ?? ''} ${metadata?.attempt ?? ''} ${id}`).sort();
}

function manifest(name: string, script: string, policy = 'Always'): string {
  const container = { name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script] };
  const spec = { restartPolicy: policy, terminationGracePeriodSeconds: 1, containers: [container] };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
}

const STAY = 'trap "exit 0" TERM; while :; do sleep 0.2; done';

function args(...more: readonly string[]): string[] {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const links = ['--container-log-links-dir', join(folder, 'links')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  return ['run', ...more, ...place, ...links, ...runtime, '--node-name', 'test'];
}

function start(...more: readonly string[]): PodloopProcess {
  return new PodloopProcess(args(...more));
}

/** Resolves once a container of that pod runs. */
async function runs(pod: string): Promise<void> {
  const isThere = async () => {
    const { containers: all } = await withRuntime((client) => client.listContainers({}));
    return all.some(({ labels, state }) => labels['io.kubernetes.pod.name'] === pod && state === 1);
  };
  await expect.poll(() => isThere().catch(() => false), { timeout: 45_000 }).toBe(true);
}

describe('podloop run', () => {
  it('leaves pods as they are at SIGTERM, and the next agent takes them up without a restart, one at a time', async () => {
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    let before: string[];
    {
      await using first = start(manifests);
      await runs('web-test');
      before = await containers();
      const second = await runPodloop(args(manifests));
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(/^error: another node agent works in .*node \(pid \d+\)/m);
      // Whoever asks what is wrong need not say on which runtime the agent works.
      const quick = ['--for', '10ms', '--no-disk-write', '--kubelet-url', '', '--healthz-url', ''];
      const socket = join(folder, 'node/podloop.sock');
      const doctor = await runPodloop(['doctor', '-o', 'json', '--socket', socket, ...quick]);
      expect(JSON.parse(doctor.stdout), doctor.stderr).toMatchObject({
        facts: {
          runtime: { endpoint: `unix://${join(folder, 'node/runtime/cri.sock')}`, name: 'podloop-embedded' },
        },
      });
      expect(await first.end('SIGTERM'), first.stderr.join('\n')).toEqual({ code: 0, signal: null });
      expect(first.stderr.at(-1)).toContain('"Ended" pods="left as they are"');
    }
    expect(await containers()).toEqual(before);
    await using next = start(manifests, '--stop-pods', '--image-dir', join(folder, 'images'));
    await next.line('stderr', /"Embedded runtime taken up"/);
    const goesOn =
      /"Embedded runtime keeps the options that it was started with" differs="--image-dir is none, not .*\/images" /;
    expect(await next.line('stderr', goesOn)).toMatch(/ toChange="kill \d+: /);
    await writeFile(join(manifests, 'job.json'), manifest('job', 'sleep 1000', 'Never'));
    // By then it has seen the first one, too.
    await runs('job-test');
    expect(await containers()).toEqual(expect.arrayContaining(before));
    const links = async (): Promise<string[]> =>
      (await readdir(join(folder, 'links'))).map((link) => link.split('_')[0]!).sort();
    // The runtime shows a container as running before the agent has its answer, and links to its log.
    await expect.poll(links, { timeout: 45_000 }).toEqual(['job-test', 'web-test']);
    expect(await next.end('SIGINT'), next.stderr.join('\n')).toEqual({ code: 0, signal: null });
    expect(next.stderr.at(-1)).toContain('"Ended" pods="stopped"');
    for (const place of ['node/pods', 'logs', 'links'])
      expect(await readdir(join(folder, place))).toEqual([]);
    await expect.poll(() => processesNaming(folder), { timeout: 30_000 }).toEqual([]);
  });

  it('keeps its runtime as long as any agent works in the folder, whichever of them was killed', async () => {
    const runtimes = async () =>
      (await processesNaming(folder)).filter((line) => line.includes(' runtime --listen '));
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    {
      await using first = start(manifests);
      await runs('web-test');
      await first.end('SIGKILL');
    }
    const [runtime] = await runtimes();
    await using next = start(manifests);
    await next.line('stderr', /"Embedded runtime taken up"/);
    await rm(join(manifests, 'web.json'));
    await expect.poll(containers, { timeout: 45_000 }).toEqual([]);
    // Longer than a runtime without pods needs to see that nobody is there.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await runtimes()).toEqual([runtime]);
    process.kill(Number.parseInt(runtime!, 10), 'SIGKILL');
    await next.line('stderr', /"Embedded runtime is back"/);
    await next.end('SIGKILL');
    await expect.poll(() => processesNaming(folder), { timeout: 30_000 }).toEqual([]);
  });

  it('takes up a runtime that somebody else is just starting in its folder', async () => {
    const place = join(folder, 'node/runtime');
    const lock = await lockFolder(join(place, 'root'), RUNTIME_ROOT_LOCK, { clock: new SystemClock() });
    await using agent = start(manifests);
    const log = () => readFile(join(place, 'runtime.log'), 'utf8').catch(() => '');
    await expect.poll(log, { timeout: 45_000 }).toContain('another embedded runtime works in');
    await lock.release();
    await agent.line('stderr', /"Started node agent"/);
    expect(await agent.end('SIGTERM'), agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
  });

  it.each([
    [0, 'every pod has succeeded', 'exit 0'],
    [1, 'one has failed', 'exit 3'],
  ])('ends with %d with --exit-when-done when %s', async (code, _when, script) => {
    const file = join(manifests, 'jobs.yaml');
    const jobs = [manifest('good', 'exit 0', 'Never'), manifest('other', script, 'Never')];
    await writeFile(file, jobs.join('\n---\n'));
    // One file, and not its folder.
    await writeFile(join(manifests, 'stays.json'), manifest('stays', STAY));
    await using agent = start(file, '--exit-when-done', '--stop-pods');
    expect(await agent.ended, agent.stderr.join('\n')).toEqual({ code, signal: null });
    if (code === 0) return;
    expect(agent.stderr.at(-1)).toBe(
      'error: not every pod has succeeded: pod default/other-test failed: container main ended with 3 (Error)',
    );
  });

  it.each([
    [
      'a manifest that no pod can be made of',
      async () => {
        await writeFile(join(manifests, 'good.json'), manifest('good', 'exit 0', 'Never'));
        await writeFile(join(manifests, 'bad.yaml'), 'kind: Pod\n');
        return manifests;
      },
      /^error: .* succeeded: .*bad\.yaml:1:1: /m,
    ],
    [
      'a folder that is not there',
      () => join(folder, 'none'),
      /^error: .*none does not exist: make that folder/m,
    ],
    ['no pod at all', () => manifests, /^error: .* succeeded: there was no pod to run$/m],
    ['an empty standard input', () => '-', /^error: .* succeeded: <stdin>: there is no pod in it/m],
  ])('does not call %s a success with --exit-when-done', async (_what, prepare, why) => {
    const path = await prepare();
    const { code, stderr } = await runPodloop(args(path, '--exit-when-done', '--stop-pods'), { stdin: '' });
    expect(stderr).toMatch(why);
    expect(code).toBe(1);
  });

  it('warns of a pod for which --exit-when-done waits for ever, and stops it when it is ended', async () => {
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    await using agent = start(manifests, '--exit-when-done', '--stop-pods');
    await agent.line('stderr', /^W.*--exit-when-done waits for it" pod="default\/web-test"/);
    expect(await agent.end('SIGTERM'), agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
    expect(agent.stderr.at(-1)).toContain('"Ended" pods="stopped"');
  });

  it('stops all of its pods with --stop-pods, also those of before and while a source is out of reach', async () => {
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    {
      await using first = start(manifests);
      await runs('web-test');
      await first.end('SIGTERM');
    }
    await rm(join(manifests, 'web.json'));
    await using agent = start(manifests, '--manifest-url', 'http://127.0.0.1:1/pods', '--stop-pods');
    // Before anything was read, of the runtime or of the manifests.
    await agent.line('stderr', /"Started node agent"/);
    expect(await containers()).toHaveLength(1);
    expect(await agent.end('SIGTERM'), agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
    expect(agent.stderr.at(-1)).toContain('"Ended" pods="stopped"');
    await expect.poll(() => processesNaming(folder), { timeout: 30_000 }).toEqual([]);
  });

  it('takes pods from standard input', async () => {
    await using agent = new PodloopProcess(args('-', '--exit-when-done', '--stop-pods'), {
      stdin: manifest('piped', 'exit 0', 'Never'),
    });
    expect(await agent.ended, agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
  });

  it('takes pods from a URL, and sends the headers that it is told', async () => {
    const seen: unknown[] = [];
    const server = createServer(({ headers }, response) => {
      seen.push(headers['x-key']);
      response.end(manifest('fetched', 'exit 0', 'Never'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
    try {
      const flags = ['--manifest-url', url, '--manifest-url-header', 'X-Key: secret'];
      await using agent = start(...flags, '--exit-when-done', '--stop-pods');
      expect(await agent.ended, agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
      expect(seen).toContain('secret');
    } finally {
      server.close();
    }
  });

  it('takes options from a KubeletConfiguration, and names what it does not do', async () => {
    await writeFile(join(manifests, 'job.json'), manifest('job', 'exit 0', 'Never'));
    const config = join(folder, 'config.yaml');
    const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
    await writeFile(config, `${head}staticPodPath: manifests\ntopologyManagerPolicy: best-effort\n`);
    await using agent = start('--config', config, '--exit-when-done', '--stop-pods');
    expect(await agent.ended, agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
    expect(
      agent.stderr.filter((line) => line.startsWith('W') && line.includes('topologyManagerPolicy')),
    ).toHaveLength(1);
    await writeFile(config, `${head}staticPodPth: manifests\n`);
    const wrong = await runPodloop(args('--config', config));
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(
      /^error: .*config\.yaml:3:1: staticPodPth: unknown field, did you mean staticPodPath\?$/,
    );
  });

  it('starts nothing without a runtime where it was told one is, and says so', async () => {
    const endpoint = `unix://${join(folder, 'none.sock')}`;
    const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
    const { code, stderr } = await runPodloop(['run', manifests, '--runtime-endpoint', endpoint, ...place]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: .*none\.sock/m);
  });

  it('says what to do when there is nothing to run', async () => {
    const { code, stderr } = await runPodloop(args());
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: there is nothing to run: name a folder of manifests/);
  });

  it('tells systemd when it is ready, that it lives, and when it ends', async () => {
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    const told = join(folder, 'told');
    const bin = join(folder, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $1" >> ${told}\n`);
    await chmod(join(bin, 'systemd-notify'), 0o755);
    const lines = async () => (await readFile(told, 'utf8').catch(() => '')).split('\n').slice(0, -1);
    await using agent = new PodloopProcess(args(manifests, '--stop-pods'), {
      env: {
        PATH: `${bin}:${process.env['PATH'] ?? ''}`,
        ...{ NOTIFY_SOCKET: '@podloop-test', WATCHDOG_USEC: '400000' },
      },
    });
    await expect.poll(lines, { timeout: 45_000 }).toContain('@podloop-test WATCHDOG=1');
    await runs('web-test');
    const runtime = (await processesNaming(folder)).find((line) => line.includes(' runtime --listen '));
    const given = await readFile(`/proc/${Number.parseInt(runtime!, 10)}/environ`, 'latin1');
    expect(given).not.toMatch(/NOTIFY_SOCKET|WATCHDOG/);
    expect(await agent.end('SIGTERM'), agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
    const all = await lines();
    expect(all[0]).toBe('@podloop-test READY=1');
    expect(all.filter((line) => line === '@podloop-test STOPPING=1')).toHaveLength(1);
  });

  it.each([
    ['/proc/x', 'ENOENT: no such file or directory'],
    ['file', 'EEXIST: file already exists'],
  ])('names the root folder %s, in which it cannot work, and ends', async (name, why) => {
    await writeFile(join(folder, 'file'), '');
    const rootDir = resolve(folder, name);
    const { code, stderr } = await runPodloop(['run', manifests, '--root-dir', rootDir]);
    expect(code).toBe(1);
    expect(stderr).toContain(`error: --root-dir ${rootDir} cannot be used: ${why}`);
  });

  it('prints at SIGUSR1 the status of each pod and what is wrong with manifests', async () => {
    await writeFile(join(manifests, 'web.json'), manifest('web', STAY));
    await writeFile(join(manifests, 'bad.yaml'), 'a: [');
    await using agent = start(manifests, '--stop-pods');
    await agent.line('stderr', /bad\.yaml/);
    await runs('web-test');
    agent.child.kill('SIGUSR1');
    const problem = await agent.line('stdout', /^\{"problem"/);
    expect(problem).toContain('bad.yaml');
    const pods = agent.stdout.map((line) => JSON.parse(line) as object).filter((each) => 'status' in each);
    expect(pods).toMatchObject([
      { kind: 'Pod', metadata: { name: 'web-test' }, status: { containerStatuses: [{ name: 'main' }] } },
    ]);
    await agent.end('SIGTERM');
  });

  it('names a URL that is none', async () => {
    const { code, stderr } = await runPodloop(args('--manifest-url', 'web'));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: --manifest-url: "web" is no http:\/\/ or https:\/\/ URL$/m);
  });
});
