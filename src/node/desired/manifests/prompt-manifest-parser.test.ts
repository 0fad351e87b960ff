import { expect, it } from 'vitest';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { type ManifestParser, parseManifest, type ParseRequest } from './parse-manifest.js';
import { PromptManifestParser } from './prompt-manifest-parser.js';

const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: b }] }\n';

const never = new AbortController().signal;
const request = (text: string): ParseRequest => ({
  ...{ bytes: Buffer.from(text), file: 'f.yaml', origin: { source: 'file', nodeName: 'node-1' } },
});

/** A clock that moves on by a step each time that somebody looks at it. */
class SteppingClock extends SystemClock implements Clock {
  nowMs = 1_000;
  stepMs = 0;

  override monotonicMs(): number {
    return (this.nowMs += this.stepMs);
  }
}

function setUp() {
  const left: string[] = [];
  const others: ManifestParser = {
    parse: async ({ file }) => {
      left.push(file);
      return Promise.resolve({ kind: 'gave-up', why: 'it was left to others' });
    },
  };
  const clock = new SteppingClock();
  return { clock, left, parser: new PromptManifestParser({ others, clock }) };
}

it('reads a small manifest itself, good or bad, and leaves larger ones to others', async () => {
  const { parser, left } = setUp();
  for (const text of [POD, '', 'a: [', POD.replace('image', 'imag')]) {
    const manifest = parseManifest(request(text));
    expect(await parser.parse(request(text), never)).toEqual({ kind: 'parsed', manifest });
  }
  const padding = '#'.repeat(2_048 - POD.length);
  expect((await parser.parse(request(POD + padding), never)).kind).toBe('parsed');
  expect(left).toEqual([]);
  expect((await parser.parse(request(`${POD}${padding}#`), never)).kind).toBe('gave-up');
  expect(left).toEqual(['f.yaml']);
});

it('rests nine times as long as it has read, and leaves to others what comes meanwhile', async () => {
  const { parser, left, clock } = setUp();
  clock.stepMs = 4;
  expect((await parser.parse(request(POD), never)).kind).toBe('parsed');
  clock.stepMs = 0;
  clock.nowMs += 35.9;
  expect((await parser.parse(request(POD), never)).kind).toBe('gave-up');
  clock.nowMs += 0.2;
  expect((await parser.parse(request(POD), never)).kind).toBe('parsed');
  expect(left).toEqual(['f.yaml']);
});

it('reads nothing for who has given up', async () => {
  const { parser } = setUp();
  const why = new Error('enough');
  await expect(parser.parse(request(POD), AbortSignal.abort(why))).rejects.toBe(why);
});
