import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RuntimeImage } from '../runtime/runtime-changes.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { keyOf } from './pull-record-files.js';
import { PullRecords } from './pull-records.js';
import { type UsedLogin } from './pulled-names.js';

const APP = 'r.test/team/app:1';
const LOGIN: UsedLogin = { hash: 'h1', secret: { uid: 'u1', namespace: 'team', name: 'pull' } };
const FIVE_MINUTES = 5 * 60_000;
const RUNTIME = 'unix:///run/a.sock';
const OTHER = anImage('sha256:other', 'r.test/pause:3');

let root: string;
let folder: string;
let clock: FakeClock;
let log: LogRecorder;
let records: PullRecords;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-pulls-'));
  folder = join(root, 'image-pulls');
  clock = new FakeClock();
  log = new LogRecorder();
  await restart();
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

/** Another agent begins with what the last one has left. */
async function restart(runtime = RUNTIME): Promise<void> {
  records = await PullRecords.open({ folder, runtime, clock, logger: log });
}

/** Looks until what is gone is known to be, and begins after a while. */
async function lookTwice(...images: RuntimeImage[]): Promise<void> {
  for (let looks = 0; looks < 2; looks++) {
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([OTHER, ...images], clock.monotonicMs());
  }
}

function anImage(id: string, ...tags: string[]): RuntimeImage {
  return { id, tags, digests: [], sizeBytes: 1n, pinned: false, uid: undefined, username: '' };
}

async function pull(id: string, image: string, login?: UsedLogin): Promise<void> {
  const begun = await records.begin(image, undefined);
  expect(await records.record(id, image, login)).toBe(true);
  await records.end(begun, false);
}

const filesIn = async (kind: string): Promise<string[]> => readdir(join(folder, kind)).catch(() => []);
const namesOf = (image: RuntimeImage, asked = APP) => {
  const names = records.findNames(image, asked);
  return names === undefined ? undefined : Object.fromEntries(names);
};

describe('what is known of an image', () => {
  it('is nothing when somebody else has brought it, and nothing is on the disk then', async () => {
    expect(namesOf(anImage('sha256:a', APP))).toBeUndefined();
    expect(await readdir(root)).toEqual([]);
  });

  it('is how it was pulled, over a restart, for nobody else to read', async () => {
    await pull('sha256:a', APP, LOGIN);
    await pull('sha256:a', 'r.test/public/app:2', undefined);
    const known = { 'r.test/team/app': [LOGIN], 'r.test/public/app': 'anyone' };
    expect(namesOf(anImage('sha256:a'))).toEqual(known);
    await restart();
    expect(namesOf(anImage('sha256:a'))).toEqual(known);
    expect(records.counts).toEqual({ pulled: 1, begun: 0 });
    expect(await filesIn('pulling')).toEqual([]);
    for (const path of ['', 'key', 'pulled', `pulled/${keyOf('sha256:a')}.json`]) {
      expect([path, (await stat(join(folder, path))).mode & 0o077]).toEqual([path, 0]);
    }
    expect(log.complaints).toEqual([]);
  });

  it('is asked of the memory alone', async () => {
    await pull('sha256:a', APP, LOGIN);
    await rm(folder, { recursive: true });
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN] });
  });

  it('is written once: the same pull again is no news', async () => {
    await pull('sha256:a', APP, LOGIN);
    const path = join(folder, 'pulled', `${keyOf('sha256:a')}.json`);
    await writeFile(path, 'seen');
    await pull('sha256:a', APP, LOGIN);
    expect(await readFile(path, 'utf8')).toBe('seen');
  });

  it('grows by a login that was judged to count, and that goes to the disk', async () => {
    await pull('sha256:a', APP, LOGIN);
    const other = { ...LOGIN, secret: { ...LOGIN.secret!, uid: 'u2' } };
    records.note('sha256:a', APP, other);
    records.note('sha256:b', APP, other);
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN, other] });
    await records.settled();
    await restart();
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN, other] });
    expect(namesOf(anImage('sha256:b'))).toBeUndefined();
  });

  it('is whole, however many pulls end at once', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `sha256:${index % 5}`);
    await Promise.all(ids.map(async (id, index) => pull(id, APP, { hash: `h${index}` })));
    await restart();
    for (const id of new Set(ids)) {
      expect(records.findNames(anImage(id), APP)!.get('r.test/team/app')).toHaveLength(4);
    }
    expect(await filesIn('pulling')).toEqual([]);
  });
});

describe('the hash of a login', () => {
  const login = { username: 'me', password: 'hunter2' };

  it('is the same after a restart, another on another node, and says nothing of the login', async () => {
    const hash = records.hashOf(login);
    await pull('sha256:a', APP, { hash });
    await restart();
    expect(records.hashOf(login)).toBe(hash);
    expect(records.hashOf({ username: 'mehu', password: 'nter2' })).not.toBe(hash);
    const other = await PullRecords.open({ folder: join(root, 'other'), runtime: RUNTIME, clock });
    expect(other.hashOf(login)).not.toBe(hash);
    expect(await readFile(join(folder, 'pulled', `${keyOf('sha256:a')}.json`), 'utf8')).not.toContain(
      'hunter',
    );
  });

  it.each(['', 'no key', 'ab'.repeat(31)])('is another one when the key says %j', async (text) => {
    const hash = records.hashOf(login);
    await pull('sha256:a', APP, { hash });
    await writeFile(join(folder, 'key'), text);
    await restart();
    expect(records.hashOf(login)).not.toBe(hash);
    expect(log.complaints).toMatchObject([{ fields: { path: join(folder, 'key') } }]);
    await pull('sha256:b', APP, { hash: records.hashOf(login) });
    const now = records.hashOf(login);
    await restart();
    expect(records.hashOf(login)).toBe(now);
  });
});

describe('a pull that has begun', () => {
  it('is on the disk before the runtime is asked, and what it brings is known not to be from elsewhere', async () => {
    const image = anImage('sha256:a', APP);
    const begun = await records.begin(APP, undefined);
    expect(await filesIn('pulling')).toEqual([`${keyOf(APP)}.json`]);
    expect(namesOf(image)).toEqual({});
    // By whatever it is asked for.
    expect(namesOf(image, 'sha256:a')).toEqual({});
    expect(namesOf({ ...image, tags: [], digests: ['r.test/team/app@sha256:' + '0'.repeat(64)] })).toEqual(
      {},
    );
    expect(namesOf(anImage('sha256:b', 'r.test/team/app:2'), 'r.test/team/app:2')).toBeUndefined();
    await records.end(begun, false);
    expect(namesOf(image)).toBeUndefined();
    expect(await filesIn('pulling')).toEqual([]);
  });

  it('goes by the name that the runtime gives an image', async () => {
    await records.begin('app', undefined);
    expect(namesOf(anImage('sha256:a', 'docker.io/library/app:latest'), 'x')).toEqual({});
  });

  it('is over when the last of those that were under way is', async () => {
    const image = anImage('sha256:a', APP);
    const [one, other] = await Promise.all([records.begin(APP, undefined), records.begin(APP, undefined)]);
    await records.end(one, false);
    expect(namesOf(image)).toEqual({});
    await records.end(other, false);
    expect(namesOf(image)).toBeUndefined();
    await records.begin(APP, undefined);
    expect(await filesIn('pulling')).toHaveLength(1);
  });

  it('must not begin when that cannot be written', async () => {
    await writeFile(folder, 'a file');
    await expect(records.begin(APP, undefined)).rejects.toThrow(
      `Failed to record image pull intent for container image "${APP}": `,
    );
    expect(namesOf(anImage('sha256:a', APP))).toBeUndefined();
    await rm(folder);
    await pull('sha256:a', APP, LOGIN);
  });

  it('and whose end no agent saw leaves an image of unknown origin', async () => {
    await records.begin(APP, undefined);
    await restart();
    const image = anImage('sha256:a', APP);
    expect(namesOf(image)).toEqual({});
    expect(namesOf(anImage('sha256:b', 'r.test/other:1'), 'r.test/other:1')).toBeUndefined();
    // The name means another image soon.
    await clock.advance(1_000);
    const begun = await records.begin(APP, image);
    await records.record('sha256:new', APP, LOGIN);
    await records.end(begun, false);
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([image, anImage('sha256:new', APP)], clock.monotonicMs());
    expect(await filesIn('pulling')).toEqual([]);
    await restart();
    expect(namesOf(anImage('sha256:a'), 'r.test/team/app@sha256:' + '0'.repeat(64))).toEqual({});
    expect(namesOf(anImage('sha256:c', APP))).toBeUndefined();
  });

  it('and that no agent saw end is settled by a look some minutes later', async () => {
    await records.begin(APP, undefined);
    await records.begin('r.test/never-came:1', undefined);
    await restart();
    const image = anImage('sha256:a', APP);
    await records.keepOnly([image], clock.monotonicMs());
    expect(await filesIn('pulling')).toHaveLength(2);
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([image], clock.monotonicMs());
    expect(await filesIn('pulling')).toEqual([`${keyOf('r.test/never-came:1')}.json`]);
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([image], clock.monotonicMs());
    expect([await filesIn('pulling'), await filesIn('pulled')]).toEqual([[], [`${keyOf('sha256:a')}.json`]]);
    expect(namesOf(image)).toEqual({});
    expect(namesOf(anImage('sha256:c', 'r.test/never-came:1'), 'r.test/never-came:1')).toBeUndefined();
  });

  it('and was lost is not over because another one ends, whenever that had begun', async () => {
    const image = anImage('sha256:a', APP);
    const [one, other] = [await records.begin(APP, undefined), await records.begin(APP, undefined)];
    await records.end(one, true);
    await records.end(other, false);
    expect(namesOf(image)).toEqual({});
    await clock.advance(1_000);
    // With another login, which is refused, and seen to before the first one had brought the image.
    await records.end(await records.begin(APP, undefined), false);
    expect(namesOf(image)).toEqual({});
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([image], clock.monotonicMs());
    expect([namesOf(image), await filesIn('pulling')]).toEqual([{}, []]);
  });

  it('does not begin where what has its name now, of one that was lost, cannot be kept', async () => {
    await records.end(await records.begin(APP, undefined), true);
    await writeFile(join(folder, 'pulled'), 'a file');
    await expect(records.begin(APP, anImage('sha256:a', APP))).rejects.toThrow(
      `Failed to record image pull intent for container image "${APP}": the image that has its name now`,
    );
    await rm(join(folder, 'pulled'));
    const begun = await records.begin(APP, anImage('sha256:a', APP));
    await records.end(begun, false);
    expect([await filesIn('pulled'), await filesIn('pulling')]).toEqual([
      [`${keyOf('sha256:a')}.json`],
      [`${keyOf(APP)}.json`],
    ]);
  });
});

describe('an image that is gone', () => {
  it('is forgotten when it is removed, and when two looks in a row do not find it', async () => {
    await pull('sha256:a', APP, LOGIN);
    await pull('sha256:b', APP, LOGIN);
    await pull('sha256:c', APP, LOGIN);
    await clock.advance(1);
    await records.forget('sha256:a', clock.monotonicMs());
    expect(await filesIn('pulled')).toHaveLength(2);
    await records.keepOnly([anImage('sha256:c')], clock.monotonicMs());
    expect(await filesIn('pulled')).toHaveLength(2);
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([anImage('sha256:c')], clock.monotonicMs());
    expect(await filesIn('pulled')).toEqual([`${keyOf('sha256:c')}.json`]);
    await restart();
    expect(['a', 'b', 'c'].map((id) => namesOf(anImage(`sha256:${id}`)) === undefined)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('is not one that was pulled, or pulled again, after the look had begun', async () => {
    await pull('sha256:a', APP, LOGIN);
    await clock.advance(1_000);
    const lookedAtMs = clock.monotonicMs();
    await clock.advance(1_000);
    await pull('sha256:a', APP, LOGIN);
    await pull('sha256:b', APP, LOGIN);
    await records.keepOnly([OTHER], lookedAtMs);
    await records.forget('sha256:b', lookedAtMs);
    expect(await filesIn('pulled')).toHaveLength(2);
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN] });
    // It does not count among the two that miss it, either.
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([OTHER], clock.monotonicMs());
    expect(await filesIn('pulled')).toHaveLength(2);
  });

  it('is not one that one look has missed, nor two between which it was pulled or seen', async () => {
    const image = anImage('sha256:a', APP);
    const look = async (...images: RuntimeImage[]): Promise<void> => {
      await clock.advance(FIVE_MINUTES);
      await records.keepOnly([OTHER, ...images], clock.monotonicMs());
    };
    await pull('sha256:a', APP, LOGIN);
    await look();
    await look(image);
    await look();
    await pull('sha256:a', APP, LOGIN);
    await look();
    // Another agent starts to count again.
    await restart();
    await look();
    expect(namesOf(image)).toEqual({ 'r.test/team/app': [LOGIN] });
    await look();
    expect(namesOf(image)).toBeUndefined();
  });

  it('is not one of all those that a runtime leaves out which shows nothing at all', async () => {
    await pull('sha256:a', APP, LOGIN);
    await records.end(await records.begin('r.test/late:1', undefined), true);
    for (let looks = 0; looks < 4; looks++) {
      await clock.advance(FIVE_MINUTES);
      await records.keepOnly([], clock.monotonicMs());
    }
    expect([await filesIn('pulled'), await filesIn('pulling')]).toEqual([
      [`${keyOf('sha256:a')}.json`],
      [`${keyOf('r.test/late:1')}.json`],
    ]);
    expect(namesOf(anImage('sha256:a', APP))).toEqual({ 'r.test/team/app': [LOGIN] });
    expect(namesOf(anImage('sha256:late', 'r.test/late:1'))).toEqual({});
  });

  it('is gone as well that a pull may have brought whose end nobody saw, when two looks have missed its name', async () => {
    await records.end(await records.begin(APP, undefined), true);
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([OTHER], clock.monotonicMs());
    expect(namesOf(anImage('sha256:a', APP))).toEqual({});
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([OTHER], clock.monotonicMs());
    expect([namesOf(anImage('sha256:a', APP)), await filesIn('pulling')]).toEqual([undefined, []]);
  });
});

describe('behind which there is another runtime for a while', () => {
  const B = 'unix:///run/b.sock';
  const image = anImage('sha256:a', APP);

  it('a record stays for the one in which the image was pulled', async () => {
    await pull('sha256:a', APP, LOGIN);
    await restart(B);
    // The same id is the same content.
    expect(namesOf(image)).toEqual({ 'r.test/team/app': [LOGIN] });
    await lookTwice();
    await clock.advance(1);
    await records.forget('sha256:a', clock.monotonicMs());
    await restart();
    expect(namesOf(image)).toEqual({ 'r.test/team/app': [LOGIN] });
    await lookTwice();
    expect([namesOf(image), await filesIn('pulled')]).toEqual([undefined, []]);
  });

  it('a record goes when its image is gone from all in which it was pulled', async () => {
    await pull('sha256:a', APP, LOGIN);
    await restart(B);
    await pull('sha256:a', APP, undefined);
    await restart();
    await lookTwice();
    await restart();
    expect(namesOf(image)).toEqual({ 'r.test/team/app': 'anyone' });
    await lookTwice();
    await restart(B);
    expect(namesOf(image)).toEqual({ 'r.test/team/app': 'anyone' });
    await lookTwice();
    expect([namesOf(image), await filesIn('pulled')]).toEqual([undefined, []]);
  });

  it('a pull of whose end nobody knows is settled in the one in which it began', async () => {
    await records.begin(APP, undefined);
    await restart(B);
    await lookTwice();
    // One of the same name here ends for itself.
    await records.end(await records.begin(APP, undefined), false);
    expect([namesOf(image), await filesIn('pulling')]).toEqual([{}, [`${keyOf(APP)}.json`]]);
    await restart();
    expect(namesOf(image)).toEqual({});
    await lookTwice(image);
    await restart();
    expect([namesOf(image), await filesIn('pulling')]).toEqual([{}, []]);
    expect(namesOf(anImage('sha256:b', APP))).toBeUndefined();
  });

  it('pulls that are lost in both are settled in each', async () => {
    await records.begin(APP, undefined);
    await restart(B);
    await records.begin(APP, undefined);
    await restart(B);
    await lookTwice();
    await restart();
    expect(namesOf(image)).toEqual({});
    await lookTwice();
    expect([namesOf(image), await filesIn('pulling')]).toEqual([undefined, []]);
  });

  it('what does not say in which runtime it was counts for the one that is there', async () => {
    const [pulled, pulling] = [join(folder, 'pulled'), join(folder, 'pulling')];
    for (const path of [pulled, pulling]) await mkdir(path, { recursive: true });
    const names = { 'r.test/team/app': 'anyone' };
    await writeFile(
      join(pulled, `${keyOf('sha256:a')}.json`),
      JSON.stringify({ format: 1, id: 'sha256:a', names }),
    );
    await writeFile(join(pulling, `${keyOf('r.test/x:1')}.json`), '');
    await restart();
    expect([namesOf(image), namesOf(anImage('sha256:x', 'r.test/x:1'))]).toEqual([names, {}]);
    await lookTwice();
    expect([await filesIn('pulled'), await filesIn('pulling')]).toEqual([[], []]);
  });
});

describe('a record that cannot be read', () => {
  const path = (): string => join(folder, 'pulled', `${keyOf('sha256:a')}.json`);
  const of = (names: unknown, id = 'sha256:a'): string => JSON.stringify({ format: 1, id, names });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"format":2,"id":"sha256:a","names":{}}',
    of({}, 'sha256:b'),
    of(null),
    of({ x: 'everyone' }),
    of({ x: [null] }),
    of({ x: [{ hash: '' }] }),
    of({ x: [{ hash: 'h', secret: { uid: 'u', namespace: 'n' } }] }),
  ])('counts as unknown, is reported by its name, and rewritten: %j', async (text) => {
    await pull('sha256:a', APP, LOGIN);
    await pull('sha256:b', APP, LOGIN);
    await writeFile(path(), text);
    await restart();
    expect(namesOf(anImage('sha256:a'))).toEqual({});
    expect(namesOf(anImage('sha256:b'))).toEqual({ 'r.test/team/app': [LOGIN] });
    expect(log.complaints).toMatchObject([{ level: 'error', fields: { path: path() } }]);
    await pull('sha256:a', APP, LOGIN);
    await restart();
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN] });
  });

  it('goes with its image', async () => {
    await pull('sha256:a', APP, LOGIN);
    await writeFile(path(), '{');
    await restart();
    await lookTwice();
    expect(await filesIn('pulled')).toEqual([]);
  });

  it('is no file that was left half written, or is nobody’s', async () => {
    await pull('sha256:a', APP, LOGIN);
    await writeFile(`${path()}.tmp`, '{');
    await writeFile(join(folder, 'pulled', 'notes.txt'), 'mine');
    await restart();
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN] });
    expect(await filesIn('pulled')).toEqual([`${keyOf('sha256:a')}.json`, 'notes.txt'].sort());
    expect(log.complaints).toEqual([]);
  });

  it('among others that cannot be found makes all images such', async () => {
    await mkdir(folder);
    await writeFile(join(folder, 'pulled'), 'a file');
    await restart();
    expect(namesOf(anImage('sha256:x'))).toEqual({});
    expect(log.complaints).toMatchObject([{ fields: { path: join(folder, 'pulled') } }]);
    // What is pulled from now on is known, if only to this agent.
    expect(await records.record('sha256:x', APP, LOGIN)).toBe(false);
    expect(namesOf(anImage('sha256:x'))).toEqual({ 'r.test/team/app': [LOGIN] });
    expect(log.complaints).toHaveLength(2);
  });
});

describe('a record that cannot be written', () => {
  it('holds all the same, and leaves word for the next agent, until it can', async () => {
    const begun = await records.begin(APP, undefined);
    await writeFile(join(folder, 'pulled'), 'a file');
    expect(await records.record('sha256:a', APP, LOGIN)).toBe(false);
    await records.end(begun, true);
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN] });
    await clock.advance(FIVE_MINUTES);
    await records.keepOnly([anImage('sha256:a', APP)], clock.monotonicMs());
    expect(await filesIn('pulling')).toHaveLength(1);
    await rm(join(folder, 'pulled'));
    await records.keepOnly([anImage('sha256:a', APP)], clock.monotonicMs());
    expect(await filesIn('pulling')).toEqual([]);
    await restart();
    expect(namesOf(anImage('sha256:a'))).toEqual({ 'r.test/team/app': [LOGIN] });
  });
});
