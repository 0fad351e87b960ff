import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { RecordFile, type RecordFileOptions } from './record-file.js';

interface Count {
  readonly count: number;
}

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-record-'));
  path = join(folder, 'count.json');
});
afterEach(async () => rm(folder, { recursive: true }));

function parse({ count }: Readonly<Record<string, unknown>>): Count {
  if (typeof count !== 'number') throw new Error('it has no count');
  return { count };
}

const open = (options: Partial<RecordFileOptions<Count>> = {}) => new RecordFile({ path, parse, ...options });

describe('a record', () => {
  it('is there for the next process, whatever it says', async () => {
    const values = fc.asyncProperty(fc.jsonValue(), async (value) => {
      const form = { parse: (content: Readonly<Record<string, unknown>>) => content['value'] };
      const options = { path, ...form, format: (content: unknown) => ({ value: content }) };
      await new RecordFile<unknown>(options).write(value);
      expect(JSON.stringify(await new RecordFile<unknown>(options).read())).toBe(JSON.stringify(value));
    });
    await fc.assert(values, { numRuns: 20 });
  });

  it('is one line of JSON with its version', async () => {
    await open({ version: 3 }).write({ count: 1 });
    expect(await readFile(path, 'utf8')).toBe('{"version":3,"count":1}\n');
    expect(await readdir(folder)).toEqual(['count.json']);
  });

  it('is none without a file', async () => {
    expect(await open().read()).toBeUndefined();
    await open().remove();
  });

  it.each(['{"count":4}', '{"format":1,"count":4}', '{"version":1,"count":4}'])(
    'of the first version may say so or not: %s',
    async (text) => {
      await writeFile(path, text);
      expect(await open().read()).toEqual({ count: 4 });
      await expect(open({ version: 2 }).read()).rejects.toThrow('it is of version 1, and not 2');
    },
  );

  it.each([
    ['', 'it is damaged'],
    ['{"count": "the password"', 'it is damaged'],
    ['null', 'it is not what was written'],
    ['[4]', 'it is not what was written'],
    ['{"version":2,"count":4}', 'it is of version 2, and not 1'],
    ['{"version":"1","count":4}', 'it is of version "1", and not 1'],
    ['{"count":"4"}', 'it has no count'],
  ])('that is no whole one is refused, in words that quote none of it: %s', async (text, message) => {
    await writeFile(path, text);
    await expect(open().read()).rejects.toThrow(new Error(message));
    expect(await open().read(() => ({ count: 0 }))).toEqual({ count: 0 });
    expect(await open().read(() => undefined)).toBeUndefined();
    expect(await readFile(path, 'utf8')).toBe(text);
  });

  it('that the system refuses to read is not taken for a damaged one', async () => {
    await mkdir(path);
    await expect(open().read(() => ({ count: 0 }))).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('keeps its value when the next one cannot be written', async () => {
    const file = open();
    await file.write({ count: 1 });
    await mkdir(`${path}.tmp`);
    await expect(file.write({ count: 2 })).rejects.toThrow();
    expect(await file.read()).toEqual({ count: 1 });
    await rm(`${path}.tmp`, { recursive: true, force: true });
    await file.write({ count: 3 });
    expect(await file.read()).toEqual({ count: 3 });
  });

  it('has the value of the last call, however many come at once', async () => {
    const file = open();
    await Promise.all([1, 2, 3, 4, 5].map((count) => file.write({ count })));
    expect(await file.read()).toEqual({ count: 5 });
    await Promise.all([file.write({ count: 6 }), file.remove()]);
    expect(await readdir(folder)).toEqual([]);
    expect(file.isIdle).toBe(true);
  });
});

describe('a record that is written later', () => {
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  beforeEach(() => (errors.length = 0));

  it('waits for more that comes soon, and then has the newest value', async () => {
    const clock = new FakeClock();
    const file = open({ later: { onError, delay: { clock, ms: 100 } } });
    let count = 0;
    file.writeSoon(() => ({ count: ++count }));
    file.writeSoon(() => ({ count: ++count }));
    await clock.advance(99);
    expect([count, file.isIdle, await readdir(folder)]).toEqual([0, false, []]);
    await clock.advance(1);
    await file.flush();
    expect([count, file.isIdle, await file.read()]).toEqual([1, true, { count: 1 }]);
    file.writeSoon(() => ({ count: 7 }));
    await file.flush();
    expect(await file.read()).toEqual({ count: 7 });
    await clock.advance(1_000);
    expect(errors).toEqual([]);
  });

  it('without a delay waits for the write under way alone', async () => {
    const file = open({ later: { onError } });
    const written: number[] = [];
    const save = (count: number): void =>
      file.writeSoon(() => {
        written.push(count);
        return { count };
      });
    const first = file.write({ count: 0 });
    for (let count = 1; count <= 20; count++) save(count);
    await first;
    await file.flush();
    expect([written, await file.read()]).toEqual([[20], { count: 20 }]);
  });

  it('is removed when there is no value any more', async () => {
    const file = open({ later: { onError } });
    await file.write({ count: 1 });
    file.writeSoon(() => undefined);
    await file.flush();
    expect(await readdir(folder)).toEqual([]);
  });

  it('reports that it cannot be written, and is written the next time', async () => {
    const file = open({ later: { onError } });
    await mkdir(path);
    file.writeSoon(() => ({ count: 1 }));
    await file.flush();
    expect(errors).toHaveLength(1);
    await rm(path, { recursive: true });
    file.writeSoon(() => ({ count: 2 }));
    await file.flush();
    expect([errors.length, await file.read()]).toEqual([1, { count: 2 }]);
  });
});
