import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { BoundedLooks, UnansweredError } from './bounded-looks.js';
import { type LookPlace } from './find-look-place.js';

let clock: FakeClock;
let looks: BoundedLooks;
beforeEach(() => {
  clock = new FakeClock();
  looks = new BoundedLooks({ clock });
});

const never = () => new Promise<never>(() => undefined);
/** A look that is answered when the test says so. */
function asked<T>(): { look: () => Promise<T>; answer: (value: T) => void; readonly begun: number } {
  const state: { begun: number; resolve: (value: T) => void } = { begun: 0, resolve: () => undefined };
  const answered = new Promise<T>((resolve) => (state.resolve = resolve));
  return {
    look: async () => {
      state.begun++;
      return answered;
    },
    answer: (value) => state.resolve(value),
    get begun() {
      return state.begun;
    },
  };
}

describe('a look at a place', () => {
  it('is its answer, or what it rejects with', async () => {
    expect(await looks.run('/a', async () => 7)).toBe(7);
    await expect(looks.run('/a', async () => Promise.reject(new Error('no such file')))).rejects.toThrow(
      'no such file',
    );
    expect(looks.underWay).toBe(0);
  });

  it('that is not answered within ten seconds is given up by who asked, and keeps its place until it is', async () => {
    const slow = asked<string>();
    const late: string[] = [];
    const first = looks.run('/nfs', slow.look, (value) => late.push(value)).catch(String);
    await clock.advance(10_000);
    expect(await first).toBe('Error: /nfs does not answer');
    const second = looks.run('/nfs', slow.look).catch((error: unknown) => error);
    await clock.advance(10_000);
    expect(await second).toBeInstanceOf(UnansweredError);
    expect(slow.begun).toBe(1);
    slow.answer('late');
    await clock.advance(0);
    expect(late).toEqual(['late']);
    expect(await looks.run('/nfs', async () => 'again')).toBe('again');
  });

  it('waits for its turn: two at once take all that may hang', async () => {
    const one = asked<number>();
    const running = [looks.run('/nfs/1', one.look), looks.run('/nfs/2', never)].map((each) =>
      each.catch(String),
    );
    const third = looks.run('/etc', async () => 3);
    const fourth = looks.run('/nfs/1', async () => 4);
    await clock.advance(1_000);
    expect(looks.underWay).toBe(2);
    one.answer(1);
    expect(await Promise.all([running[0], third, fourth])).toEqual([1, 3, 4]);
    expect(looks.underWay).toBe(1);
  });

  it('is not begun for ever: it says who does not answer', async () => {
    for (const place of ['/nfs/1', '/nfs/2']) void looks.run(place, never).catch(() => undefined);
    let begun = 0;
    const third = looks.run('/etc', async () => begun++).catch(String);
    await clock.advance(10_000);
    expect(await third).toBe('Error: /etc is not looked at: /nfs/1 and /nfs/2 do not answer');
    expect(begun).toBe(0);
  });
});

describe('a look at a path whose mount is known', () => {
  /** On a node where /nfs/NAME are file servers, and all else is on disks. */
  beforeEach(() => {
    const findPlace = async (path: string): Promise<LookPlace> => {
      const [, first = '', second = ''] = path.split('/');
      return first === 'nfs'
        ? { name: `/nfs/${second}`, mayHang: true }
        : { name: `/${first}`, mayHang: false };
    };
    looks = new BoundedLooks({ clock, findPlace });
  });
  const failing = (path: string, look: () => Promise<unknown> = never): Promise<unknown> =>
    looks.run(path, look).catch(String);

  it('of the node waits for nobody, however many file servers are gone', async () => {
    void failing('/nfs/1/a');
    void failing('/nfs/2/a');
    await clock.advance(60_000);
    expect(await Promise.all([1, 2, 3].map((each) => looks.run('/disk/a', async () => each)))).toEqual([
      1, 2, 3,
    ]);
  });

  it('of a file server takes one turn for all of its paths', async () => {
    const first = failing('/nfs/1/a');
    const second = failing('/nfs/1/b');
    expect(await looks.run('/nfs/2/a', async () => 2)).toBe(2);
    await clock.advance(10_000);
    expect(await Promise.all([first, second])).toEqual([
      'Error: /nfs/1/a does not answer',
      'Error: /nfs/1/b is not looked at: /nfs/1 does not answer',
    ]);
    expect(looks.underWay).toBe(1);
  });

  it('of a disk that has stopped answering is not begun until it does', async () => {
    const slow = asked<number>();
    const first = failing('/disk/a', slow.look);
    await clock.advance(10_000);
    expect(await first).toBe('Error: /disk/a does not answer');
    expect(await failing('/disk/b')).toBe('Error: /disk/b is not looked at: /disk does not answer');
    expect(await looks.run('/other/b', async () => 7)).toBe(7);
    slow.answer(1);
    await clock.advance(0);
    expect(await looks.run('/disk/b', async () => 7)).toBe(7);
  });

  it('ends in time where not even its mount can be found', async () => {
    looks = new BoundedLooks({ clock, findPlace: never });
    const looked = failing('/disk/a');
    await clock.advance(10_000);
    expect(await looked).toBe('Error: /disk/a does not answer');
  });
});
