/**
 * The program as users get it, a few large files made of many: nothing that it loads or starts later is missing, it names the
 * places of the code that it was made of, and the licences of what is in it are beside it.
 *
 * @module
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { PodloopProcess } from './integration/podloop-process.js';
import { InstalledPackage, readPackageJson } from './installed-package.js';
import { importsOf, listFiles, REPOSITORY } from './source-tree.js';

const { bin } = readPackageJson();
const MANIFEST = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  containers: [{ name: web, image: missing.test/web:1, imagePullPolicy: Never }]
`;
const LOADER = `export async function load(url, context, next) {
  const loaded = await next(url, context);
  const name = url.split('/').at(-1);
  if (loaded.format !== 'module') return loaded;
  return { ...loaded, source: String(loaded.source) + '\\n;process._rawDebug("ran ' + name + '");' };
}`;
/** Each module's file name on standard error, once it and all that it imports have run. */
const TELL_WHAT_HAS_RUN = toDataUrl(
  `import { register } from 'node:module'; register(${JSON.stringify(toDataUrl(LOADER))});`,
);
/** A thread of another version, which answers in its own way. */
const ANOTHER_THREAD = `import { parentPort } from 'node:worker_threads';
parentPort.on('message', () => parentPort.postMessage({ pods: [], objects: [], problems: [], isLast: true }));
parentPort.postMessage('ready');
`;
let installed: InstalledPackage;
let own: string;
let program: string;

beforeAll(async () => {
  installed = await InstalledPackage.create();
  own = path.join(installed.folder, 'node_modules/podloop');
  program = path.join(own, bin['podloop']!);
}, 240_000);

afterAll(async () => {
  await installed[Symbol.asyncDispose]();
});

it('runs pods on its own runtime from where it was installed, and names in its log the lines that wrote it', async () => {
  const manifests = path.join(installed.folder, 'manifests');
  await mkdir(manifests);
  await writeFile(path.join(manifests, 'web.yaml'), MANIFEST);
  const folders = ['--root-dir', path.join(installed.folder, 'root')];
  folders.push('--pod-logs-dir', path.join(installed.folder, 'logs'));
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  const others = ['--node-name', 'lab', '--read-only-port', '0', '--stop-pods'];
  const args = ['run', manifests, ...folders, ...runtime, ...others];
  await using podloop = new PodloopProcess(args, { main: program, cwd: installed.folder });
  await podloop.line('stderr', /"Started node agent"/);
  // The manifest was read by a thread.
  await podloop.line('stderr', /"SyncLoop ADD".*default\/web-lab/);
  await podloop.line('stderr', /missing\.test\/web:1.*(ErrImageNeverPull|not present)/);
  expect(await podloop.end('SIGTERM')).toEqual({ code: 0, signal: null });
  const compiled = await readdir(path.join(REPOSITORY, 'dist'), { recursive: true });
  const lost: string[] = [];
  for (const line of podloop.stderr) {
    const [, file, at] = /^[IWE]\d{4} [\d:.]+ +\d+ ([^:]+):(\d+)]/.exec(line) ?? [];
    const candidates = compiled.filter(
      (each) => path.basename(each) === file && !/^(program|lib)\b/.test(each),
    );
    const texts = await Promise.all(
      candidates.map(async (each) => readFile(path.join(REPOSITORY, 'dist', each), 'utf8')),
    );
    // A call may begin on the line before.
    const near = texts.map((text) =>
      text
        .split('\n')
        .slice(Number(at) - 2, Number(at))
        .join('\n'),
    );
    if (!near.some((text) => /\.(info|warn|error)\(|logger/i.test(text))) lost.push(line);
  }
  expect(lost).toEqual([]);
}, 120_000);

it('names the lines of the code that it was made of when it breaks down', async () => {
  const fault = 'Object.defineProperty(process, "argv", { get() { throw new Error("tried"); } })';
  const nodeFlags = ['--import', `data:text/javascript,${fault}`];
  await using podloop = new PodloopProcess([], { main: program, nodeFlags });
  expect((await podloop.ended).code).toBe(1);
  const [, line] = /\/dist\/cli\/main\.js:(\d+)$/m.exec(podloop.stderr.join('\n')) ?? [];
  const main = await readFile(path.join(REPOSITORY, 'dist/cli/main.js'), 'utf8');
  expect(main.split('\n')[Number(line) - 1]).toContain('process.argv');
});

it('has every file beside it that it looks for by its own place, and the code of threads under names that change with it', async () => {
  const folder = path.dirname(program);
  const wanted: string[] = [];
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.js')) continue;
    const code = await readFile(path.join(folder, file), 'utf8');
    for (const [, each] of code.matchAll(/new URL\(["']([^"']+)["'], import\.meta\.url\)/g))
      wanted.push(each!);
  }
  for (const file of wanted) await stat(path.resolve(folder, file));
  const threads = wanted.filter((file) => file.endsWith('.js'));
  expect(threads.sort()).toEqual(
    ['manifest', 'unpack'].map(
      (name) => expect.stringMatching(new RegExp(`^${name}-worker-[\\w-]{8}\\.js$`)) as unknown,
    ),
  );
});

it('is in a character set of one byte, which takes half of the memory', async () => {
  const folder = path.dirname(program);
  for (const file of await readdir(folder)) {
    if (file.endsWith('.js'))
      expect(await readFile(path.join(folder, file), 'latin1'), file).not.toMatch(/[\x80-\xff]/);
  }
});

it('has the licence of every library that is in it beside it, and of no tool', async () => {
  const text = await readFile(path.join(path.dirname(program), 'LICENSES.txt'), 'utf8');
  const named = [...text.matchAll(/^(@?[a-z][\w./-]*) \d+\.\d+\.\d+: .+$/gm)].map((match) => match[1]!);
  const imported = listFiles('src', '.ts')
    .filter((file) => !/\.test\.ts$|^testing\//.test(file))
    .flatMap((file) => importsOf(file))
    .filter(({ isPackage, typeOnly, to }) => isPackage && !typeOnly && !to.startsWith('node:'))
    .map(({ to }) => /^(?:@[^/]+\/)?[^/]+/.exec(to)![0]);
  const inside = [...new Set(imported)].filter((name) => name !== 'classic-level');
  expect(inside.length).toBeGreaterThan(5);
  expect(inside.filter((name) => !named.includes(name))).toEqual([]);
  expect(
    named.filter((name) => name === 'rolldown' || name === 'typescript' || name === 'classic-level'),
  ).toEqual([]);
});

it('renews its certificate when its files are gone since it has started, as after an upgrade', async () => {
  const root = path.join(installed.folder, 'renewing');
  const port = String(await findFreePort());
  const folders = ['--root-dir', root, '--pod-logs-dir', path.join(root, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  const ports = ['--port', port, '--address', '127.0.0.1', '--read-only-port', '0', '--stop-pods'];
  const empty = path.join(installed.folder, 'empty');
  await mkdir(empty);
  const args = ['run', empty, ...folders, ...runtime, ...ports];
  const options = { main: program, cwd: installed.folder };
  {
    await using first = new PodloopProcess(args, options);
    await first.line('stderr', /"Self-signed certificate made"/);
    await first.line('stderr', /"Started node agent"/);
    await first.end('SIGTERM');
  }
  // Now there is one, so that its start does not make another.
  await using podloop = new PodloopProcess(args, {
    ...options,
    nodeFlags: ['--import', TELL_WHAT_HAS_RUN],
  });
  const maker = (await readdir(path.dirname(program))).find((file) => /^make-certificate-.*\.js$/.test(file));
  await podloop.line('stderr', (line) => line === `ran ${maker!}`);
  const [folder, aside] = [path.dirname(program), `${path.dirname(program)}-before`];
  await rename(folder, aside);
  try {
    await rm(path.join(root, 'pki'), { recursive: true });
    await podloop.line('stderr', /"Self-signed certificate made"/);
    await podloop.end('SIGTERM');
  } finally {
    await rename(aside, folder);
  }
}, 120_000);

it('reads manifests of any size, and asks to be restarted, when its files are replaced since it has started', async () => {
  const root = path.join(installed.folder, 'replaced');
  const manifests = path.join(installed.folder, 'manifests-later');
  await mkdir(manifests);
  const folders = ['--root-dir', root, '--pod-logs-dir', path.join(root, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  const others = ['--node-name', 'lab', '--read-only-port', '0', '--stop-pods'];
  const args = ['run', manifests, ...folders, ...runtime, ...others];
  await using podloop = new PodloopProcess(args, { main: program, cwd: installed.folder });
  await podloop.line('stderr', /"Started node agent"/);
  const [folder, aside] = [path.dirname(program), `${path.dirname(program)}-before`];
  await rename(folder, aside);
  try {
    await mkdir(folder);
    for (const name of ['manifest-worker.js', 'manifest-worker-AnOther1.js'])
      await writeFile(path.join(folder, name), ANOTHER_THREAD);
    for (const name of ['first', 'second']) {
      const manifest = `${MANIFEST.replace('name: web', `name: ${name}`)}# ${'x'.repeat(4_096)}\n`;
      await writeFile(path.join(manifests, `${name}.yaml`), manifest);
      await podloop.line('stderr', new RegExp(`"SyncLoop ADD".*default/${name}-lab`));
    }
    await podloop.end('SIGTERM');
    expect(podloop.stderr.filter((line) => /replaced, restart the agent/.test(line))).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true });
    await rename(aside, folder);
  }
}, 120_000);

function toDataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}
