/**
 * A program that puts folders, files and links in one place as fast as it can, as a container may where it writes to a
 * volume, its logs or its own root, while the agent or the runtime works there. What is behind the links is never
 * read, made or changed. Working directories have tests of their own in embedded-working-dir.test.ts, devices in
 * embedded-isolation-devices.test.ts.
 *
 * @module
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodeHeader, EntryKind, padding } from '#base/wire/tar/tar-writer.js';
import { readSentTar } from '../../src/cli/commands/cp/read-sent-tar.js';
import { TarUnpacker } from '../../src/cli/commands/cp/unpack-tar.js';
import { writeTar } from '../../src/cli/commands/cp/write-tar.js';
import { openLogFile } from '../../src/box/container/output/open-log-file.js';
import { openFileInRoot, resolveInRoot } from '../../src/box/images/path-in-root.js';
import { LogRotator } from '../../src/node/resources/gc/log-rotator.js';
import { PodPaths } from '../../src/watch/observed/pod-paths.js';
import { readTerminationMessage } from '../../src/watch/observed/termination-message.js';
import { LogFolder } from '../../src/node/api/logs/log-folder.js';
import { SystemClock } from '#base/time/clock.js';
import { openBelow } from '#base/fs/open-below.js';

const ROUNDS = 400;
const SECRET = 'what-nobody-may-read';
let folder: string;
let swapper: ChildProcess | undefined;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-swapped-')));
  await mkdir(join(folder, 'canary/container'), { recursive: true });
  for (const name of ['0.log', 'container/0.log', 'file', 'container/file'])
    await writeFile(join(folder, 'canary', name), `2026-01-01T00:00:00Z stdout F ${SECRET}\n`);
});
afterEach(async () => {
  if (swapper !== undefined) await endSwapper(swapper);
  swapper = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** Everything behind the links: names, sizes and times. */
async function canary(): Promise<string[]> {
  const names = await readdir(join(folder, 'canary'), { recursive: true });
  const facts = await Promise.all(
    ['', ...names.sort()].map(async (name) => {
      const { size, mode, mtimeMs, ctimeMs } = await stat(join(folder, 'canary', name));
      return `${name} ${size} ${mode} ${mtimeMs} ${ctimeMs}`;
    }),
  );
  return facts;
}

/** Waits for the end of its last command too, which outlives the shell and could write into the folder until then. */
async function endSwapper(shell: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => shell.once('close', resolve));
  shell.stdout!.resume();
  shell.kill('SIGKILL');
  await closed;
}

/** Puts what `make` makes in the place, and a link, and nothing, by turns. */
function swap(place: string, target: string, make: string): void {
  const script = `while :; do ${make}; rm -rf "$1"; ln -sT "$2" "$1"; rm -f "$1"; done 2>/dev/null`;
  swapper = spawn('sh', ['-c', script, 'sh', place, target], { stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Exchanges what `make` makes and a link as fast as the kernel can, so that one of them is there at every moment. */
function exchange(place: string, target: string, make: string): void {
  const number = process.arch === 'arm64' ? 276 : 316;
  const perl = `my ($p, $o) = @ARGV; syscall(${number}, -100, $p, -100, $o, 2) == 0 or die while 1`;
  const script = `${make}; ln -sT "$2" "$1.other"; exec perl -e '${perl}' "$1" "$1.other"`;
  swapper = spawn('sh', ['-c', script, 'sh', place, target], { stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Does it over and over; what it says is collected, what fails is refused. */
async function act(work: () => Promise<unknown>): Promise<{ said: string; done: number; refused: number }> {
  const outcome = { said: '', done: 0, refused: 0 };
  for (let round = 0; round < ROUNDS || (outcome.done === 0 && round < 100 * ROUNDS); round++) {
    try {
      const said = await work();
      if (said === undefined) outcome.refused++;
      else outcome.done++;
      outcome.said += String(said);
    } catch {
      outcome.refused++;
    }
  }
  return outcome;
}

const FOLDERS = 'mkdir -p "$1/container" && echo own >"$1/container/0.log" && echo own >"$1/container/file"';
const FOLDER = 'mkdir -p "$1" && echo own >"$1/0.log"';

it.each([
  ['the folder of a pod’s logs', 'logs/pod', 'container', FOLDERS],
  ['the folder of a container’s logs', 'logs/pod/container', 'container', FOLDER],
  ['a log', 'logs/pod/container/0.log', '0.log', 'echo own >"$1"'],
])('%s is written by the runtime without a link being followed', async (_what, place, target, make) => {
  await mkdir(join(folder, 'logs/pod/container'), { recursive: true });
  const before = await canary();
  swap(join(folder, place), join(folder, 'canary', target), make);
  const { done } = await act(async () => {
    await using file = await openLogFile(join(folder, 'logs/pod/container/0.log'));
    await file.write('2026-01-01T00:00:00Z stdout F of the container\n');
    return '';
  });
  expect(done).toBeGreaterThan(0);
  expect(await canary()).toEqual(before);
});

it.each([
  ['the folder of a pod’s logs', 'logs/pod', '', FOLDERS],
  ['the folder of a container’s logs', 'logs/pod/container', 'container', FOLDER],
  ['a log', 'logs/pod/container/0.log', '0.log', 'echo own >"$1"'],
])(
  '%s is read for the API and for last words without a link being followed',
  async (_what, place, target, make) => {
    await mkdir(join(folder, 'logs/pod/container'), { recursive: true });
    swap(join(folder, place), join(folder, 'canary', target), make);
    const paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
    const container = {
      ...{ state: 'exited', name: 'container', restartCount: 0, exitCode: 1 },
      annotations: {
        'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
        'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
      },
      logPath: join(folder, 'logs/pod/container/0.log'),
    };
    const { said } = await act(async () => {
      const words = await readTerminationMessage('uid', container as never, paths);
      await using logs = await LogFolder.open(join(folder, 'logs'), ['pod', 'container']);
      const listed =
        logs === undefined ? [] : await readFile(join(logs.path, '0.log'), 'utf8').catch(() => '');
      // A link in the place of the log itself is for its reader to refuse: what is listed here is its folder.
      return `${words ?? ''}${place.endsWith('.log') ? '' : String(listed)}`;
    });
    expect(said).not.toContain(SECRET);
  },
);

it('a file of last words is read without a link being followed', async () => {
  const paths = new PodPaths({ rootDir: join(folder, 'root'), podLogsDir: join(folder, 'logs') });
  const file = paths.terminationMessageFile('uid', 'container', 0);
  await mkdir(join(file, '..'), { recursive: true });
  swap(file, join(folder, 'canary/file'), 'echo own >"$1"');
  const container = {
    ...{ state: 'exited', name: 'container', restartCount: 0, exitCode: 0, logPath: '' },
    annotations: { 'io.kubernetes.container.terminationMessagePath': '/dev/termination-log' },
  };
  const { said } = await act(() => readTerminationMessage('uid', container as never, paths));
  expect(said).not.toContain(SECRET);
});

it('a part of a volume is found and made without a link out of it being followed', async () => {
  await mkdir(join(folder, 'volume'));
  const before = await canary();
  swap(join(folder, 'volume/part'), join(folder, 'canary'), FOLDERS);
  const { said, done } = await act(async () => {
    await using place = await openBelow(join(folder, 'volume'), 'part/container/made', 0o755);
    return (await readdir(`/proc/self/fd/${place.handle.fd}`)).join();
  });
  expect(done).toBeGreaterThan(0);
  expect(said).toBe('');
  expect(await canary()).toEqual(before);
});

it('a program or a list of users in the root of a container is looked for without leaving it', async () => {
  const root = join(folder, 'root');
  await mkdir(root);
  // Deeper than its root is: going up leads no further than to the root.
  swap(join(root, 'part'), `../../../../../../..${folder}/canary`, FOLDERS);
  const { said } = await act(async () => {
    await using file = await openFileInRoot(root, 'part/container/file');
    const found = await resolveInRoot(root, 'part/file');
    return `${found ?? ''} ${file === undefined ? '' : await file.readFile('utf8')}`;
  });
  expect(said).not.toContain(SECRET);
  expect(said).not.toContain('canary');
});

it.each([
  ['the folder of a pod’s logs', 'logs/pod', '', FOLDERS],
  ['the folder of a container’s logs', 'logs/pod/container', 'container', FOLDER],
  ['a log', 'logs/pod/container/0.log', '0.log', 'echo own >"$1"'],
  ['a log that was rotated', 'logs/pod/container/0.log.20260101-000000', '0.log', 'echo own >"$1"'],
  ['what it is compressed to', 'logs/pod/container/0.log.20260101-000000.tmp', '0.log', 'echo own >"$1"'],
])('%s is rotated without a link being followed', async (_what, place, target, make) => {
  const log = join(folder, 'logs/pod/container/0.log');
  await mkdir(dirname(log), { recursive: true });
  const before = await canary();
  swap(join(folder, place), join(folder, 'canary', target), make);
  const container = { id: 'a', state: 'running', labels: {}, logPath: log };
  const pods = {
    uids: () => ['uid'],
    getLastKnown: () => ({ uid: 'uid', name: 'pod', namespace: 'test', containers: [container] }),
  };
  let rotated = 0;
  for (let round = 0; round < ROUNDS / 4; round++) {
    const rotator = new LogRotator({
      ...{ clock: new SystemClock(), pods: pods as never, isOurs: () => true, maxSizeBytes: 1, maxFiles: 2 },
      podLogsDir: join(folder, 'logs'),
      changes: {
        reopenContainerLog: async () => {
          rotated++;
          await using file = await openLogFile(log);
          await file.write('own\n');
        },
      },
    });
    await rotator.rotate(new AbortController().signal);
  }
  expect(rotated).toBeGreaterThan(0);
  expect(await canary()).toEqual(before);
  await endSwapper(swapper!);
  swapper = undefined;
  const isOwn = (await realpath(dirname(log)).catch(() => '')) === dirname(log);
  for (const name of isOwn ? await readdir(dirname(log)) : []) {
    const path = join(dirname(log), name);
    const facts = await lstat(path).catch(() => undefined);
    if (facts?.isFile() !== true) continue;
    const content = await readFile(path);
    expect((name.endsWith('.gz') ? gunzipSync(content) : content).toString()).not.toContain(SECRET);
  }
});

/** A tar of what a container sends: a folder, a file, and two hard links to the file. */
function sentTar(): Buffer {
  const entry = (name: string, kind: string, content = '', target = ''): Buffer => {
    const size = Buffer.byteLength(content);
    const header = encodeHeader({ name: `src/${name}`, kind, size, mode: 0o644, modified: 0, target });
    return Buffer.concat([header, Buffer.from(content), padding(size)]);
  };
  return Buffer.concat([
    entry('part/container/made/', EntryKind.folder),
    entry('part/container/file', EntryKind.file, 'sent'),
    entry('part/container/again', EntryKind.hardLink, '', 'src/part/container/file'),
    entry('copy', EntryKind.hardLink, '', 'src/part/container/file'),
    Buffer.alloc(1024),
  ]);
}

it.each([
  ['a folder of the target', 'part', '', FOLDERS],
  ['a folder deeper in the target', 'part/container', 'container', FOLDER],
  ['a file of the target', 'part/container/file', 'file', 'echo own >"$1"'],
  ['a copy in the target', 'copy', 'file', 'echo own >"$1"'],
  // Each round unpacks a whole archive.
])(
  '%s is written by cp without a link being followed',
  { timeout: 240_000 },
  async (_what, place, target, make) => {
    const copyTarget = join(folder, 'copy-target');
    await mkdir(join(copyTarget, dirname(place)), { recursive: true });
    const before = await canary();
    swap(join(copyTarget, place), join(folder, 'canary', target), make);
    const { said, done } = await act(async () => {
      const unpacker = new TarUnpacker({ prefix: 'src', target: copyTarget, warn: () => Promise.resolve() });
      await unpacker.unpack(readSentTar(Readable.from([sentTar()]) as AsyncIterable<Buffer>));
      const copy = join(copyTarget, 'copy');
      // A link in the place of the copy itself is one that the swapping program has made.
      return (await lstat(copy)).isFile() && place !== 'copy' ? await readFile(copy, 'utf8') : '';
    });
    expect(done).toBeGreaterThan(0);
    expect(said).not.toContain(SECRET);
    expect(await canary()).toEqual(before);
  },
);

it.each([
  ['a folder', 'part', '', FOLDERS],
  ['a folder deeper in it', 'part/container', 'container', FOLDER],
  ['a file', 'part/container/file', 'file', 'echo own >"$1"'],
])('%s is sent by cp without a link being followed', async (_what, place, target, make) => {
  const source = join(folder, 'source');
  await mkdir(join(source, dirname(place)), { recursive: true });
  // Faster than `swap`: between two steps of the sending side is little time.
  exchange(join(source, place), join(folder, 'canary', target), make);
  const { said, done } = await act(async () =>
    (await buffer(Readable.from(writeTar(source, 'out', () => undefined)))).toString('latin1'),
  );
  expect(done).toBeGreaterThan(0);
  expect(said).not.toContain(SECRET);
});

it('is a swap that would be noticed: a careless reader is led out', async () => {
  await mkdir(join(folder, 'volume'));
  swap(join(folder, 'volume/part'), join(folder, 'canary'), FOLDERS);
  const { said } = await act(async () => {
    await using file = await open(join(folder, 'volume/part/container/file'));
    return await file.readFile('utf8');
  });
  expect(said).toContain(SECRET);
});
