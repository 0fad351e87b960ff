import { appendFile, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LogPosition, readLogPosition, recoverPosition, writeLogPosition } from './log-position.js';

const LINE = '2006-01-02T15:04:05.999999999Z stdout F hello\n';
const OTHER = '2006-01-02T15:04:05.999999999Z stderr P oops\n';

let folder = '';
let log = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-position-'));
  log = join(folder, 'c.log');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function positionAfter(text: string): Promise<LogPosition> {
  await writeFile(log, text);
  const { ino } = await stat(log);
  return { inode: String(ino), logBytes: Buffer.byteLength(text), stdout: 6, stderr: 0, final: false };
}

describe('recoverPosition', () => {
  it('counts what was written after the position was', async () => {
    const position = await positionAfter(LINE);
    expect(await recoverPosition(position, log)).toEqual({ stdout: 6, stderr: 0, torn: undefined });
    await appendFile(log, LINE + OTHER + LINE);
    expect(await recoverPosition(position, log)).toEqual({ stdout: 18, stderr: 4, torn: undefined });
  });

  it('finds a line that was cut short, and where to cut it off', async () => {
    const position = await positionAfter(LINE);
    await appendFile(log, OTHER + LINE.slice(0, 30));
    const torn = { path: log, wholeBytes: LINE.length + OTHER.length };
    expect(await recoverPosition(position, log)).toEqual({ stdout: 6, stderr: 4, torn });
  });

  it('finds the file again after somebody has renamed it', async () => {
    const position = await positionAfter(LINE);
    await appendFile(log, OTHER);
    await rename(log, `${log}.1`);
    expect(await recoverPosition(position, log)).toEqual({ stdout: 6, stderr: 4, torn: undefined });
  });

  it('goes by the position alone when the file is gone', async () => {
    const position = await positionAfter(LINE);
    await rm(log);
    await writeFile(`${log}.other`, LINE);
    const recovered = await recoverPosition({ ...position, inode: '1' }, log);
    expect(recovered).toEqual({ stdout: 6, stderr: 0, torn: undefined });
  });

  it('does not lengthen a log that somebody has emptied', async () => {
    const position = await positionAfter(LINE + LINE);
    await writeFile(log, '');
    expect(await recoverPosition(position, log)).toEqual({ stdout: 6, stderr: 0, torn: undefined });
  });

  it('reads a long log in pieces', async () => {
    const position = await positionAfter('');
    await appendFile(log, LINE.repeat(60_000));
    expect((await recoverPosition(position, log)).stdout).toBe(6 + 6 * 60_000);
  });
});

describe('readLogPosition', () => {
  it('reads what writeLogPosition wrote, and nothing where nothing is', async () => {
    const path = join(folder, 'position.json');
    expect(await readLogPosition(path)).toBeUndefined();
    const position = await positionAfter(LINE);
    await writeLogPosition(path, position);
    expect(await readLogPosition(path)).toEqual(position);
  });
});

it('a position that is empty, cut off or something else is none', async () => {
  const path = join(folder, 'position.json');
  for (const text of [
    '',
    '{"inode":"1","logBytes":1',
    'null',
    '{}',
    '{"inode":"1","logBytes":1,"stdout":1,"final":false}',
  ]) {
    await writeFile(path, text);
    expect(await readLogPosition(path)).toBeUndefined();
  }
});
