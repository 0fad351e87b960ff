import fc from 'fast-check';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type IdRange } from '#watch';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { type NodeIds } from './node-ids.js';
import { PodIdRanges } from './pod-id-ranges.js';

const UNIT = 65_536;

let folder: string;
let paths: PodPaths;
let logger: LogRecorder;
let ids: NodeIds;
/** What is chosen next; 0 afterwards. */
let chosen: number[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-id-ranges-'));
  paths = new PodPaths({ rootDir: folder, podLogsDir: join(folder, 'logs') });
  logger = new LogRecorder();
  ids = { first: UNIT, count: 4 * UNIT };
  chosen = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = async (idsPerPod = UNIT, present: readonly IdRange[] = []): Promise<PodIdRanges> =>
  PodIdRanges.open({
    ...{ paths, logger, idsPerPod, findPresent: () => present },
    readNodeIds: () => Promise.resolve(ids),
    random: () => chosen.shift() ?? 0,
  });

async function writeRange(uid: string, content: unknown): Promise<void> {
  await mkdir(paths.podDir(uid), { recursive: true });
  await writeFile(paths.idRangeFile(uid), typeof content === 'string' ? content : JSON.stringify(content));
}

const mapping = (hostId: number, length = UNIT) => {
  const list = [{ hostId, containerId: 0, length }];
  return { uidMappings: list, gidMappings: list };
};

describe('the ids of a pod', () => {
  it('are its own, the same each time, and known to the next agent', async () => {
    chosen = [2, 2, 3];
    const ranges = await open();
    expect(await ranges.take('u1')).toEqual({ hostId: 3 * UNIT, length: UNIT });
    expect(await ranges.take('u2')).toEqual({ hostId: 4 * UNIT, length: UNIT });
    expect(await ranges.take('u1')).toEqual({ hostId: 3 * UNIT, length: UNIT });
    expect((await stat(paths.idRangeFile('u1'))).mode & 0o777).toBe(0o600);
    const next = await open();
    // The last one is taken: the search goes on with the first.
    expect(await next.take('u3')).toEqual({ hostId: UNIT, length: UNIT });
    expect(await next.take('u1')).toEqual({ hostId: 3 * UNIT, length: UNIT });
    expect(logger.lines).toEqual([]);
  });

  it('are written as a kubelet writes them, and read as it has written them', async () => {
    await writeRange('u1', mapping(2 * UNIT));
    const ranges = await open();
    expect(await ranges.take('u1')).toEqual({ hostId: 2 * UNIT, length: UNIT });
    await ranges.take('u2');
    expect(JSON.parse(await readFile(paths.idRangeFile('u2'), 'utf8'))).toMatchObject(mapping(UNIT));
  });

  it('never overlap, not even where pods have had ranges of another length', async () => {
    await writeRange('old', mapping(2 * UNIT, UNIT));
    ids = { first: 2 * UNIT, count: 4 * UNIT };
    const ranges = await open(2 * UNIT);
    expect(await ranges.take('u1')).toEqual({ hostId: 4 * UNIT, length: 2 * UNIT });
    await expect(ranges.take('u2')).rejects.toThrow(
      'create user namespace: could not find an empty slot to allocate a user namespace',
    );
  });

  it('are none with which a sandbox of another agent runs', async () => {
    const present = [
      { hostId: UNIT - 1, length: 2 },
      { hostId: 2 * UNIT, length: UNIT },
    ];
    const ranges = await open(UNIT, present);
    expect(await ranges.take('u1')).toEqual({ hostId: 3 * UNIT, length: UNIT });
  });

  it('are those with which its sandbox runs where the file is lost', async () => {
    const ranges = await open();
    const present = { hostId: 4 * UNIT, length: UNIT };
    expect(await ranges.take('u1', present)).toEqual(present);
    await expect(ranges.take('u2', present)).rejects.toThrow('already taken by pod "u1"');
    await rm(paths.podDir('u1'), { recursive: true });
    expect(await ranges.take('u1')).toEqual(present);
    expect(await (await open()).take('u1')).toEqual(present);
  });

  it('are not guessed for a sandbox whose ids nobody knows', async () => {
    const ranges = await open();
    await expect(ranges.take('u1', 'unknown')).rejects.toThrow(/is lost, .* "podloop restart" gives it new/);
    await expect(stat(paths.idRangeFile('u1'))).rejects.toThrow('ENOENT');
    const present = { hostId: 4 * UNIT, length: UNIT };
    expect(await ranges.take('u1', present)).toEqual(present);
    expect(await ranges.take('u1', 'unknown')).toEqual(present);
    await rm(paths.podDir('u1'), { recursive: true });
    expect(await ranges.take('u1', 'unknown')).toEqual(present);
  });

  it('go back when nobody wants the pod and its folder is gone, and not before', async () => {
    ids = { first: UNIT, count: UNIT };
    const ranges = await open();
    await ranges.take('u1');
    const view = { mayRemove: (uid: string) => uid === 'u1' };
    await ranges.cleanUp(view);
    await expect(ranges.take('u2')).rejects.toThrow('could not find an empty slot');
    await rm(paths.podDir('u1'), { recursive: true });
    await ranges.cleanUp({ mayRemove: () => false });
    await expect(ranges.take('u2')).rejects.toThrow('could not find an empty slot');
    await ranges.cleanUp(view);
    expect(await ranges.take('u2')).toEqual({ hostId: UNIT, length: UNIT });
  });

  it('go back when they cannot be written', async () => {
    ids = { first: UNIT, count: UNIT };
    const ranges = await open();
    await mkdir(paths.podsDir, { recursive: true });
    await writeFile(paths.podDir('u1'), 'no folder');
    await expect(ranges.take('u1')).rejects.toThrow(/^(create )?user namespace: /);
    expect(await ranges.take('u2')).toEqual({ hostId: UNIT, length: UNIT });
  });

  it.each([
    ['not JSON', 'it is damaged'],
    [{ uidMappings: [], gidMappings: [] }, 'no more than one mapping allowed'],
    [{ uidMappings: mapping(UNIT).uidMappings }, 'no more than one mapping allowed'],
    [
      { ...mapping(UNIT), gidMappings: mapping(2 * UNIT).gidMappings },
      'GID and UID mapping should be identical',
    ],
    [
      { ...mapping(UNIT), uidMappings: [{ hostId: UNIT, containerId: 1, length: UNIT }] },
      'UID 0 must be mapped',
    ],
    [mapping(0), 'host ID 0 must not be mapped'],
    [mapping(2 ** 32 - UNIT), 'it is not what was written'],
    [mapping(UNIT, 0), 'it is not what was written'],
    [mapping(-UNIT), 'it is not what was written'],
  ])('are not guessed from %j: the pod starts nothing, and others do', async (content, message) => {
    await writeRange('u1', content);
    const ranges = await open();
    expect(logger.lines).toMatchObject([{ message: 'Ids of a pod cannot be read' }]);
    await expect(ranges.take('u1')).rejects.toThrow(message);
    expect(await ranges.take('u2')).toEqual({ hostId: UNIT, length: UNIT });
  });

  it('are one pod’s where two files have the same', async () => {
    await writeRange('u1', mapping(UNIT));
    await writeRange('u2', mapping(UNIT));
    const ranges = await open();
    const outcomes = await Promise.allSettled([ranges.take('u1'), ranges.take('u2')]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it.each([
    [{ first: 100, count: 4 * UNIT }, 'kubelet user assigned ID 100 is not a multiple of 65536'],
    [{ first: 0, count: 4 * UNIT }, 'kubelet user assigned ID 0 must be greater or equal to 65536'],
    [{ first: UNIT, count: 1_000 }, 'could not find an empty slot'],
  ])('are none of %j', async (given, message) => {
    ids = given;
    await expect((await open()).take('u1')).rejects.toThrow(message);
  });

  it('overlap in no order of starts, ends and restarts', async () => {
    const uids = ['a', 'b', 'c', 'd', 'e'];
    const step = fc.oneof(
      fc.record({ kind: fc.constant('take' as const), uid: fc.constantFrom(...uids), at: fc.nat(3) }),
      fc.record({ kind: fc.constant('end' as const), uid: fc.constantFrom(...uids), at: fc.nat(3) }),
      fc.record({ kind: fc.constant('restart' as const), uid: fc.constant(''), at: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        await rm(paths.podsDir, { recursive: true, force: true });
        const known = new Map<string, number>();
        let ranges = await open();
        for (const { kind, uid, at } of steps) {
          if (kind === 'restart') {
            ranges = await open();
          } else if (kind === 'end') {
            await rm(paths.podDir(uid), { recursive: true, force: true });
            await ranges.cleanUp({ mayRemove: (each) => each === uid });
            known.delete(uid);
          } else {
            chosen = [at];
            const taken = await ranges.take(uid).catch(() => undefined);
            // There are four, and each has one or gets one while there is room.
            expect(taken === undefined).toBe(!known.has(uid) && known.size === 4);
            if (taken === undefined) continue;
            expect(known.get(uid) ?? taken.hostId).toBe(taken.hostId);
            known.set(uid, taken.hostId);
          }
          expect(new Set(known.values()).size).toBe(known.size);
        }
      }),
      { numRuns: 40 },
    );
  });
});
