/**
 * Rebuilds the disk of an emulated node as it was at many of its flushes, and opens on each what podloop calls durable.
 *
 * In: an image and a payload. Out: a result for each flush point. The node has a disk of its own for all that its agents
 * write, and the emulator logs every write to it (`blklogwrites`, in the format of dm-log-writes). The power is cut once;
 * then the log is replayed here, where no emulation slows it down: up to a flush, the disk holds just what it had promised
 * by then. What the ledger on that very disk says was confirmed must be there, and the history, the records and the store of
 * images must open.
 *
 * @module
 */
import { execFile, spawn } from 'node:child_process';
import { mkdir, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { ListContainersRequest, ListImagesRequest } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { CriDriver, imageService, runtimeService } from '../../containerd/harness/cri-driver.js';
import { bootMachine } from '../machine.js';
import { type AgentName, computePodStates, type LedgerLine, parseLedger } from './ledger.js';
import { churnUntilCut, type PowerCutOptions, setUpCutNode } from './power-cuts.js';
import { type LogEntry, WriteLog } from './write-log.js';

const run = promisify(execFile);
const DISK_BYTES = 4 * 2 ** 30;
const OPEN_LIMIT_MS = 120_000;
const AGENTS: readonly AgentName[] = ['containerd', 'box'];
const UNREADABLE = /cannot be read|is damaged|not whole/i;

/** What {@link runDiskReplay} needs. */
export interface DiskReplayOptions extends Omit<PowerCutOptions, 'cuts'> {
  /** How many flushes are chosen. */
  readonly points: number;
  /** An empty folder with room for two disks. */
  readonly folder: string;
}

/** Runs it; rejects when the machine cannot be set up, or on Ctrl-C. Takes root, to mount the disks. */
export async function runDiskReplay(options: DiskReplayOptions): Promise<void> {
  const { image, payload, seed, points, folder, say, onResult, signal } = options;
  const disk = path.join(folder, 'disk.raw');
  const log = path.join(folder, 'writes.log');
  for (const file of [disk, log]) await writeFile(file, '');
  await truncate(disk, DISK_BYTES);
  let churnFrom = 0;
  {
    const emulatorArguments = loggedDisk(disk, log);
    await using machine = await bootMachine(image, { payload, emulatorArguments, signal });
    await setUpCutNode(machine, say, signal);
    await machine.check('sync');
    churnFrom = (await stat(log)).size;
    say('changing pods until the power is cut');
    await churnUntilCut(machine, { seed, first: 1, signal });
  }
  await using writes = await WriteLog.open(log);
  const candidates = writes.flushes.filter(({ dataOffset }) => dataOffset >= churnFrom);
  const chosen = choosePoints(candidates, points, seed);
  say(
    `${writes.entries.length} writes, ${candidates.length} flushes under change, ${chosen.length} are tried`,
  );
  await rm(disk);
  await writeFile(disk, '');
  await truncate(disk, DISK_BYTES);
  let replayed = 0;
  for (const { index } of chosen) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    {
      await using file = await open(disk, 'r+');
      await writes.replay(file, replayed, index + 1);
    }
    replayed = index + 1;
    const problems = await checkDisk(disk, folder, signal);
    const title = `disk as it was at flush ${index}, seed ${seed}`;
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    onResult(
      problems.length === 0
        ? { title, verdict: 'passed', seconds }
        : { title, verdict: 'failed', seconds, reason: problems.join('\n').slice(0, 400) },
    );
  }
}

/** Spread over all flushes, by chance within each part; in their order. */
function choosePoints(flushes: readonly LogEntry[], count: number, seed: number): LogEntry[] {
  const width = flushes.length / Math.min(count, flushes.length);
  return Array.from({ length: Math.min(count, flushes.length) }, (_, part) => {
    const chance = (Math.imul(seed + part, 0x9e3779b1) >>> 0) / 2 ** 32;
    return flushes[Math.floor((part + chance) * width)]!;
  });
}

/**
 * Arguments of the emulator for a disk whose writes are logged; the machine sees it as /dev/vdc. Its address is behind those that
 * the emulator gives the other disks, whose names would move otherwise.
 */
function loggedDisk(disk: string, log: string): string[] {
  // The emulator is killed, this machine is not: what it has written need not wait for this machine's disk.
  const file = (filename: string) => ({ driver: 'file', filename, cache: { 'no-flush': true } });
  const node = {
    ...{ driver: 'blklogwrites', 'node-name': 'logged', 'log-sector-size': 512, discard: 'unmap' },
    ...{ file: file(disk), log: file(log) },
  };
  return ['-blockdev', JSON.stringify(node), '-device', 'virtio-blk-pci,drive=logged,addr=0x10'];
}

/** Everything that is wrong on a disk, in words. The disk itself is not changed. */
async function checkDisk(disk: string, folder: string, signal: AbortSignal): Promise<string[]> {
  const copy = path.join(folder, 'copy.raw');
  const home = path.join(folder, 'mounted');
  await run('cp', ['--sparse=always', disk, copy], { signal });
  await mkdir(home, { recursive: true });
  await run('mount', ['-o', 'loop', copy, home], { signal });
  try {
    const ledger = parseLedger(await readFile(path.join(home, 'ledger'), 'utf8').catch(() => ''));
    const problems: string[] = [];
    for (const agent of AGENTS) {
      const found = [
        ...(await checkManifests(path.join(home, agent), agent, ledger)),
        ...(await checkHistory(path.join(home, agent, 'agent'), agent, ledger, signal)),
        ...(await checkRecords(path.join(home, agent, 'agent'))),
      ];
      problems.push(...found.map((problem) => `${agent}: ${problem}`));
    }
    const store = await checkStore(home, signal);
    return [...problems, ...store.map((problem) => `runtime in the box: ${problem}`)];
  } finally {
    await run('umount', [home]);
    await rm(copy, { force: true });
  }
}

/** A confirmed manifest is there, and a confirmed delete is on record. */
async function checkManifests(
  home: string,
  agent: AgentName,
  ledger: readonly LedgerLine[],
): Promise<string[]> {
  const problems: string[] = [];
  const stopped = JSON.stringify(
    await readJson(path.join(home, 'agent', 'stopped-pods.json')).catch(() => []),
  );
  for (const [pod, { states }] of computePodStates(ledger, agent)) {
    const text = await readFile(path.join(home, 'manifests', `default_${pod}.pod.yaml`), 'utf8').catch(
      () => '',
    );
    const version = Number(/cut\.test\/version["']?: ["']?(\d+)/.exec(text)?.[1]);
    // A delete leaves the manifest: the version before it.
    const versions = ledger.flatMap((line) =>
      line.op === 'begin' && line.agent === agent && line.pod === pod && line.version !== undefined
        ? [line.version]
        : [],
    );
    if (!states.has('never') && !versions.includes(version)) problems.push(`the manifest of ${pod} is gone`);
    if (states.size > 1) continue;
    const [state] = states;
    if (typeof state === 'number' && version !== state)
      problems.push(`the manifest of ${pod} has version ${version}, ${state} was confirmed`);
    if (state === 'deleted' && !stopped.includes(`"${pod}-`))
      problems.push(`the delete of ${pod} is not on record`);
  }
  return problems;
}

/** `podloop events` reads it without an agent. */
async function checkHistory(
  root: string,
  agent: AgentName,
  ledger: readonly LedgerLine[],
  signal: AbortSignal,
): Promise<string[]> {
  const args = ['dist/program/podloop.js', 'events', '-A', '--root-dir', root, '-o', 'json'];
  const { stdout } = await run(process.execPath, args, { signal, maxBuffer: 256 * 2 ** 20 });
  const { items } = JSON.parse(stdout) as { items: { metadata: { uid: string }; reason: string }[] };
  const problems: string[] = [];
  if (!items.some(({ reason }) => reason === 'AgentStarted'))
    problems.push('the start of the agent is not in the history');
  for (const { reason } of items)
    if (reason === 'HistoryDamaged' || reason === 'RecordsLost') problems.push(`the history says ${reason}`);
  // The uid of an event is the id of its record.
  const ids = new Set(items.map(({ metadata }) => metadata.uid));
  for (const line of ledger)
    if (line.op === 'warning' && line.agent === agent && !ids.has(line.id))
      problems.push(`the warning ${line.id} is lost`);
  return problems;
}

/** Every record in JSON is whole. */
async function checkRecords(root: string): Promise<string[]> {
  const names = await readdir(root, { recursive: true });
  const records = names.filter((name) => /^(?:[\w-]+|pods\/[\w-]+\/(?:end|replaced))\.json$/.test(name));
  const checks = records.map(async (name) => {
    try {
      await readJson(path.join(root, name));
      return [];
    } catch (error) {
      return [`${name} is not whole: ${String(error)}`];
    }
  });
  return (await Promise.all(checks)).flat();
}

/** A runtime in the box opens what it had: containers, images, and the record of each. */
async function checkStore(home: string, signal: AbortSignal): Promise<string[]> {
  const root = path.join(home, 'box/agent/runtime/root');
  const socket = path.join(home, 'check.sock');
  const args = ['--listen', `unix://${socket}`, '--root', root, '--image-dir', path.join(home, 'images')];
  const child = spawn(process.execPath, ['dist/program/podloop.js', 'runtime', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const driver = new CriDriver(socket);
  try {
    const giveUpAt = performance.now() + OPEN_LIMIT_MS;
    for (;;) {
      signal.throwIfAborted();
      if (child.exitCode !== null) return [`it ended with ${child.exitCode}: ${log.slice(-300)}`];
      const answer = await driver
        .call(imageService.listImages, ListImagesRequest.fromPartial({}))
        .catch(() => undefined);
      if (answer !== undefined) {
        const { containers } = await driver.call(
          runtimeService.listContainers,
          ListContainersRequest.fromPartial({}),
        );
        const images = new Set(answer.images.map(({ id }) => id));
        const orphans = containers.filter(({ imageRef }) => imageRef !== '' && !images.has(imageRef));
        const lines = log.split('\n').filter((line) => UNREADABLE.test(line));
        return [...orphans.map(({ id }) => `the image of container ${id} is gone`), ...lines.slice(0, 3)];
      }
      if (performance.now() > giveUpAt) return [`it did not answer: ${log.slice(-300)}`];
      await sleep(100);
    }
  } finally {
    driver.close();
    child.kill('SIGTERM');
    await exited;
  }
}

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8')) as unknown;
}
