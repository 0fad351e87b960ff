import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { ImageProgress } from './image-progress.js';

const aLayer = (digit: string, fetched: number, unpacked: number) => ({
  digest: `sha256:${digit.repeat(64)}`,
  ...{ size: 3_000_000, fetched, unpacked },
});

function aHost(drawn: string[] | undefined, written: string[]): CliHost {
  const stdout = new PassThrough();
  stdout.on('data', (chunk) => written.push(String(chunk)));
  const never = () => () => undefined;
  const terminal = { columns: 80, rows: 4, onResize: never, onExit: never };
  return {
    ...{ env: {}, pid: 1, clock: new FakeClock(), selfCommand: ['podloop'], stdin: new PassThrough() },
    ...{ stdout: new LineOutput(stdout), stderr: new LineOutput(new PassThrough()) },
    ...(drawn !== undefined && { terminal: { ...terminal, write: (text: string) => void drawn.push(text) } }),
    listenForInterrupts: () => new AbortController().signal,
    onUserSignal: never,
  };
}

it('draws a bar for each layer over the one before, and no more of them than there are rows', async () => {
  const drawn: string[] = [];
  const progress = new ImageProgress(aHost(drawn, []));
  await progress.show([aLayer('a', 3_000_000, 3_000_000), aLayer('b', 0, 0)]);
  await progress.show([aLayer('b', 1_500_000, 0)]);
  await progress.show([aLayer('b', 1_500_000, 0)]);
  await progress.show([aLayer('b', 3_000_000, 1_000_000), aLayer('c', 0, 0), aLayer('d', 0, 0)]);
  await progress.show([aLayer('b', 3_000_000, 3_000_000)]);
  const id = (digit: string): string => digit.repeat(12);
  const at = (line: string): string => `\r\u001B[K${line}\n`;
  expect(drawn).toEqual([
    at(`${id('a')}: Already exists`) + at(`${id('b')}: Pulling fs layer`),
    `\u001B[2A${at(`${id('a')}: Already exists`)}${at(`${id('b')}: Downloading [===============>              ] 1.5MB/3MB`)}`,
    `\u001B[2A${at(`${id('b')}: Extracting [==========>                   ] 1MB/3MB`)}${at(`${id('c')}: Pulling fs layer`)}${at(`${id('d')}: Pulling fs layer`)}`,
    `\u001B[3A${at(`${id('b')}: Pull complete`)}${at(`${id('c')}: Pulling fs layer`)}${at(`${id('d')}: Pulling fs layer`)}`,
  ]);
});

it('writes a line for each step that is complete where there is no terminal', async () => {
  const written: string[] = [];
  const progress = new ImageProgress(aHost(undefined, written));
  for (const [fetched, unpacked] of [
    [0, 0],
    [1_000_000, 0],
    [2_000_000, 0],
    [3_000_000, 0],
    [3_000_000, 1_000_000],
    [3_000_000, 3_000_000],
  ] as const)
    await progress.show([aLayer('a', fetched, unpacked)]);
  expect(written.join('')).toBe(
    ['Pulling fs layer', 'Download complete', 'Pull complete']
      .map((step) => `aaaaaaaaaaaa: ${step}\n`)
      .join(''),
  );
});
