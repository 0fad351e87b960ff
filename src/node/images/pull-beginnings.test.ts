import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { Mutex } from '#base/async/mutex.js';
import { PullBeginnings, type PullBeginningsOptions } from './pull-beginnings.js';
import { type KeptBeginning, keyOf, PullRecordFiles } from './pull-record-files.js';

const APP = 'r.test/team/app:1';
const OTHER = 'r.test/team/other:1';
const FIVE_MINUTES = 5 * 60_000;
const RUNTIME = 'unix:///run/a.sock';
const ELSEWHERE = 'unix:///run/b.sock';

let clock: FakeClock;
let log: LogRecorder;
/** Ids of images that are recorded as pulled in an unknown way. */
let unknown: string[];
beforeEach(() => {
  clock = new FakeClock();
  log = new LogRecorder();
  unknown = [];
});

function anImage(id: string, ...tags: string[]): RuntimeImage {
  return { id, tags, digests: [], sizeBytes: 1n, pinned: false, uid: undefined, username: '' };
}

function open(options: Pick<PullBeginningsOptions, 'files'> & Partial<PullBeginningsOptions>) {
  return new PullBeginnings({
    ...{ changes: new Mutex(), kept: new Map(), runtime: RUNTIME, clock, logger: log },
    keepUnknown: async ({ id }) => unknown.push(id) > 0,
    ...options,
  });
}

describe('what an earlier agent has left of pulls that had begun', () => {
  let root: string;
  let folder: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'podloop-beginnings-'));
    folder = join(root, 'image-pulls');
  });
  afterEach(async () => rm(root, { recursive: true }));

  async function load(): Promise<{ readonly beginnings: PullBeginnings; readonly isPartial: boolean }> {
    const files = new PullRecordFiles(folder, log);
    const { begun, isPartial } = await files.load(RUNTIME);
    return { beginnings: open({ files, kept: begun }), isPartial };
  }

  it('is nothing where there is no folder, and none is made', async () => {
    const { beginnings, isPartial } = await load();
    expect([beginnings.keptCount, isPartial]).toEqual([0, false]);
    expect(beginnings.mayHaveBrought(anImage('sha256:a', APP), APP)).toBe(false);
    await beginnings.settleLost([anImage('sha256:a', APP)], clock.monotonicMs());
    expect(await readdir(root)).toEqual([]);
    expect(log.complaints).toEqual([]);
  });

  it('is not all there may be where the folder cannot be read', async () => {
    await mkdir(folder);
    await writeFile(join(folder, 'pulling'), 'a file');
    const { beginnings, isPartial } = await load();
    expect([beginnings.keptCount, isPartial]).toEqual([0, true]);
    expect(log.complaints).toMatchObject([{ fields: { path: join(folder, 'pulling') } }]);
  });

  it.each<[string, string]>([
    ['is empty', ''],
    ['is torn', '{"format":1,"name":"r.test/te'],
    ['says nothing', 'null'],
    ['names nothing that could be', '{"format":1,"name":7,"runtimes":[7]}'],
    ['names no runtime', `{"format":1,"name":"${APP}","runtimes":[]}`],
    ['says more than is known', `{"format":2,"name":"${APP}","runtimes":["${RUNTIME}"],"login":"x"}`],
  ])('counts by the name of its file alone when that %s', async (_what, text) => {
    const pulling = join(folder, 'pulling');
    await mkdir(pulling, { recursive: true });
    await writeFile(join(pulling, `${keyOf(APP)}.json`), text);
    await writeFile(join(pulling, `${keyOf(OTHER)}.json.tmp`), text);
    const { beginnings } = await load();
    const image = anImage('sha256:a', APP);
    expect(beginnings.keptCount).toBe(1);
    expect(beginnings.mayHaveBrought(image, APP)).toBe(true);
    expect(beginnings.mayHaveBrought(anImage('sha256:b', OTHER), OTHER)).toBe(false);
    await clock.advance(FIVE_MINUTES);
    await beginnings.settleLost([image], clock.monotonicMs());
    expect(unknown).toEqual(['sha256:a']);
    expect(beginnings.mayHaveBrought(image, APP)).toBe(false);
    expect(await readdir(pulling)).toEqual([]);
  });
});

/** Files, some of which cannot be written. */
class FailingFiles {
  readonly kept = new Map<string, KeptBeginning>();
  failures = 0;

  readonly writeBegun = async (key: string, beginning: KeptBeginning): Promise<void> => {
    if (this.failures-- > 0) throw new Error('no room');
    this.kept.set(key, beginning);
  };

  readonly removeBegun = async (key: string): Promise<void> => {
    this.kept.delete(key);
  };
}

describe('pulls with a login', () => {
  const image = anImage('sha256:a', APP);
  let files: FailingFiles;
  beforeEach(() => {
    files = new FailingFiles();
  });

  it('begin at once for one name, though one of them cannot', async () => {
    const beginnings = open({ files });
    files.failures = 1;
    const [first, second] = await Promise.allSettled([
      beginnings.begin(APP, undefined),
      beginnings.begin(APP, undefined),
    ]);
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
    expect([...files.kept.keys()]).toEqual([keyOf(APP)]);
    await beginnings.end({ image: APP }, false);
    expect(beginnings.mayHaveBrought(image, APP)).toBe(false);
    expect(files.kept.size).toBe(0);
  });

  it('count on where it cannot be kept that they are over', async () => {
    const kept = new Map([[keyOf(APP), { name: APP, runtimes: [ELSEWHERE] }]]);
    const beginnings = open({ files, kept });
    const begun = await beginnings.begin(APP, undefined);
    expect(files.kept.get(keyOf(APP))?.runtimes).toEqual([ELSEWHERE, RUNTIME]);
    files.failures = 1;
    await beginnings.end(begun, false);
    expect(log.complaints).toMatchObject([{ message: 'The end of a pull cannot be recorded on the disk' }]);
    expect(beginnings.mayHaveBrought(image, APP)).toBe(true);
    // The next one that ends writes it as well.
    await beginnings.end(await beginnings.begin(APP, undefined), false);
    expect(files.kept.get(keyOf(APP))?.runtimes).toEqual([ELSEWHERE]);
  });

  it('of others hold although they cannot be kept, each name by itself', async () => {
    const beginnings = open({ files });
    files.failures = 1;
    expect(await beginnings.takeOver([APP, OTHER], false)).toBe(false);
    expect(log.complaints).toMatchObject([{ fields: { image: APP } }]);
    expect([...files.kept.keys()]).toEqual([keyOf(OTHER)]);
    expect(beginnings.mayHaveBrought(image, APP)).toBe(true);
    expect(await beginnings.takeOver([APP], false)).toBe(true);
    expect(beginnings.keptCount).toBe(2);
  });

  it('by names that nobody knows may have brought any image, until two looks have shown all', async () => {
    const beginnings = open({ files });
    expect(await beginnings.takeOver([], true)).toBe(true);
    const other = anImage('sha256:b', OTHER);
    for (let looks = 0; looks < 2; looks++) {
      expect(beginnings.mayHaveBrought(other, OTHER)).toBe(true);
      await clock.advance(FIVE_MINUTES);
      await beginnings.settleLost([image, other], clock.monotonicMs());
    }
    expect(new Set(unknown)).toEqual(new Set(['sha256:a', 'sha256:b']));
    expect(beginnings.mayHaveBrought(other, OTHER)).toBe(false);
    expect(files.kept.size).toBe(0);
  });

  it('that begin while a lost one is being settled leave it to the next look', async () => {
    let answer: (isKept: boolean) => void = () => undefined;
    const beginnings = open({ files, keepUnknown: async () => new Promise((resolve) => (answer = resolve)) });
    await beginnings.takeOver([APP], false);
    await clock.advance(FIVE_MINUTES);
    const settling = beginnings.settleLost([image], clock.monotonicMs());
    const begun = await beginnings.begin(APP, undefined);
    answer(true);
    await settling;
    await beginnings.end(begun, false);
    expect(beginnings.mayHaveBrought(image, APP)).toBe(true);
    expect(files.kept.size).toBe(1);
    const next = beginnings.settleLost([image], clock.monotonicMs());
    answer(true);
    await next;
    expect(beginnings.mayHaveBrought(image, APP)).toBe(false);
    expect(files.kept.size).toBe(0);
  });
});
