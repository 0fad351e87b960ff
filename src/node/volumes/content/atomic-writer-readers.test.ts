import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { AtomicWriter, DEFINITION_DIGITS } from './atomic-writer.js';
import { type ContentPayload } from './content-payload.js';

/**
 * Reads both files again and again, by their names in the volume and within one generation, until it is told to end.
 * Prints what it finds wrong, and in the end how often it has read.
 */
const READER = `
  const fs = require('node:fs');
  const [folder] = process.argv.slice(1);
  const check = (path) => {
    const [number, rest] = fs.readFileSync(path, 'utf8').split(' ');
    if (rest !== 'x'.repeat(5000)) throw new Error(path + ' is torn');
    return Number(number);
  };
  let [reads, newest, ended] = [0, 0, false];
  process.stdin.on('data', () => (ended = true));
  console.log('ready');
  const look = () => {
    try {
      for (let time = 0; time < 50; time++) {
        for (const name of ['a', 'sub/b']) {
          const seen = check(folder + '/' + name);
          if (seen < newest) throw new Error(name + ' went back from ' + newest + ' to ' + seen);
          newest = Math.max(newest, seen);
        }
        reads++;
        const generation = folder + '/' + fs.readlinkSync(folder + '/..data');
        try {
          if (check(generation + '/a') !== check(generation + '/sub/b')) throw new Error('a mixture');
        } catch (error) {
          // It was held up for two updates.
          if (error.code !== 'ENOENT') throw error;
        }
      }
    } catch (error) {
      console.log('wrong: ' + error.message);
      process.exit(1);
    }
    if (ended) { console.log('reads ' + (reads > 50) + ' newest ' + newest); process.exit(0); }
    setImmediate(look);
  };
  look();
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-readers-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function payload(number: number): ContentPayload {
  const data = Buffer.from(`${number} ${'x'.repeat(5_000)}`);
  return new Map(['a', 'sub/b'].map((path) => [path, { data, mode: 0o644 }]));
}

it('whoever reads all the time while two hundred updates are written finds every file, whole and never an older one', async () => {
  const definition = '0'.repeat(DEFINITION_DIGITS);
  const writer = new AtomicWriter({ folder, definition, clock: new SystemClock() });
  await writer.write(payload(0));
  const reader = spawn(process.execPath, ['-e', READER, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    let said = '';
    reader.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const end = once(reader, 'close');
    await once(reader.stdout, 'data');
    for (let number = 1; number <= 200; number++) await writer.write(payload(number));
    reader.stdin.write('end');
    await end;
    expect(said).toBe('ready\nreads true newest 200\n');
  } finally {
    reader.kill('SIGKILL');
  }
}, 120_000);
