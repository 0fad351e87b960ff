import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { messageOf } from '#base/errors/errors.js';
import { SystemClock } from '#base/time/clock.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type ImageVerifierOptions, ImageVerifiers, type ImageVerifiersOptions } from './image-verifiers.js';

const NEVER = new AbortController().signal;
const IMAGE = 'registry.test/app:1';
const TARGET = {
  mediaType: 'application/vnd.oci.image.index.v1+json',
  digest: `sha256:${'a'.repeat(64)}`,
  size: 1234,
  annotations: { secret: 'no' },
};
let folder: string;
let binDir: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-verifiers-'));
  binDir = join(folder, 'bin');
  await mkdir(binDir);
});
afterEach(() => rm(folder, { recursive: true }));

async function program(name: string, ...lines: string[]): Promise<void> {
  await writeFile(join(binDir, name), ['#!/bin/sh', ...lines].join('\n'), { mode: 0o755 });
}

function open(more: Partial<ImageVerifiersOptions> = {}): Promise<ImageVerifiers> {
  const { PATH } = process.env;
  const common = { binDir, clock: new SystemClock(), logger: new LogRecorder() };
  return ImageVerifiers.open({
    ...common,
    timeoutMs: 120_000,
    environment: { PATH, FOLDER: folder },
    ...more,
  });
}

async function verify(more?: Partial<ImageVerifierOptions>): Promise<string> {
  const verifiers = await open(more);
  return verifiers.verify(IMAGE, TARGET, NEVER).then(() => 'agreed', messageOf);
}

const refusal = (why: string): string =>
  `SignatureValidationFailed: image "${IMAGE}" (${TARGET.digest}): ${why}`;
const asked = async (): Promise<string[]> =>
  (await readFile(join(folder, 'asked'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
const NOTE = 'echo "${0##*/}: $* $(cat)" >> "$FOLDER/asked"';

describe('image verifiers', () => {
  it('are asked in the order of their names, with the descriptor, until one refuses', async () => {
    await program('20-signed', NOTE, 'echo no signature of the', 'echo "  release team"', 'exit 3');
    await program('10-known', NOTE, 'echo known', 'exit 0');
    await program('30-late', NOTE);
    expect(await verify()).toBe(
      refusal('the verifier 20-signed refuses it (exit code 3): no signature of the release team'),
    );
    const words = `-name ${IMAGE} -digest ${TARGET.digest} -stdin-media-type application/vnd.oci.descriptor.v1+json`;
    const { mediaType, digest, size } = TARGET;
    const input = JSON.stringify({ mediaType, digest, size });
    expect(await asked()).toEqual([`10-known: ${words} ${input}`, `20-signed: ${words} ${input}`]);
    await program('20-signed', 'exit 0');
    expect(await verify()).toBe('agreed');
    expect((await asked()).at(-1)).toContain('30-late: ');
  });

  it.each([
    ['is killed', ['kill -KILL $$'], 'the verifier v refuses it (exit code 137)'],
    ['does not read', ['exec <&-', 'exit 1'], 'the verifier v refuses it (exit code 1)'],
    [
      'prints much, and what a terminal would obey,',
      ['printf "\\033[31mred"', 'head -c 3000000 /dev/zero | tr "\\0" x', 'exit 1'],
      `the verifier v refuses it (exit code 1): ${' [31mred'.trim()}${'x'.repeat(1_000 - '[31mred'.length)}`,
    ],
  ])('that %s has refused', async (_, lines, why) => {
    await program('v', ...lines);
    expect(await verify()).toBe(refusal(why));
  });

  it.each([
    ['hangs', ['sleep 1000']],
    ['prints without end', ['while :; do echo yes; done']],
    ['leaves a child that hangs, and waits for it,', ['sleep 1000 &', 'wait']],
  ])('that %s is ended in time, and has refused', async (_, lines) => {
    const clock = new FakeClock();
    await program('v', `echo $$ > ${folder}/pid`, ...lines);
    const verifiers = await open({ clock, timeoutMs: undefined });
    const outcome = verifiers.verify(IMAGE, TARGET, NEVER).then(() => 'agreed', messageOf);
    await expect.poll(() => readFile(join(folder, 'pid'), 'utf8').catch(() => '')).toMatch(/\d\n/);
    await clock.advance(10_000);
    expect(await outcome).toBe(
      refusal('the verifier v gives no answer: v: did not end within 10 s and was killed'),
    );
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it('that cannot be run has refused', async () => {
    await program('v');
    await chmod(join(binDir, 'v'), 0o644);
    expect(await verify()).toContain(refusal('the verifier v gives no answer: '));
    expect(await verify()).toContain('cannot be executed');
  });

  it('end with the pull that they are for', async () => {
    await program('v', `echo $$ > ${folder}/pid`, 'sleep 1000');
    const leaves = new AbortController();
    const outcome = (await open()).verify(IMAGE, TARGET, leaves.signal).catch(messageOf);
    await expect.poll(() => readFile(join(folder, 'pid'), 'utf8').catch(() => '')).toMatch(/\d\n/);
    leaves.abort(new Error('left'));
    expect(await outcome).toBe('left');
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it('have to be there, and no more than may be: at the start, and at each pull', async () => {
    const fault = (more: Partial<ImageVerifierOptions> = {}) =>
      open(more).then(
        () => undefined,
        (error: unknown) => error,
      );
    const wrong = (why: string): unknown =>
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(why) as unknown });
    expect(await fault()).toEqual(wrong(`there is no image verifier in ${binDir}`));
    expect(await fault({ binDir: '/none' })).toEqual(
      wrong('the folder of image verifiers cannot be read: ENOENT'),
    );
    for (const name of ['a', 'b']) await program(name);
    const verifiers = await open({ maxVerifiers: 2 });
    await verifiers.verify(IMAGE, TARGET, NEVER);
    await program('c');
    const many = `there are 3 files in the folder of image verifiers ${binDir}, and at most 2 are allowed`;
    expect(await fault({ maxVerifiers: 2 })).toEqual(wrong(many));
    await expect(verifiers.verify(IMAGE, TARGET, NEVER)).rejects.toThrow(refusal(many));
    await rm(binDir, { recursive: true });
    await expect(verifiers.verify(IMAGE, TARGET, NEVER)).rejects.toThrow('cannot be read');
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
