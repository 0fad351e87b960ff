import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { aManifest } from '#support/builders/a-manifest.js';
import { FakeClock } from '#testing/fake-clock.js';
import { formatConfigProblem } from '../config-problem.js';
import { INLINE_PARSER, type ManifestParser } from '../manifests/parse-manifest.js';
import { type DeliveryOptions } from '../pod-config.js';
import { ProblemBook } from '../problem-book.js';
import { StdinSource } from './stdin-source.js';

function lab(parser: ManifestParser = INLINE_PARSER): {
  stdin: PassThrough;
  clock: FakeClock;
  delivered: string[];
  objects: string[];
  told: string[];
  stop: AbortController;
  running: Promise<void>;
} {
  const [stdin, clock, stop] = [new PassThrough(), new FakeClock(), new AbortController()];
  const [delivered, objects, told]: [string[], string[], string[]] = [[], [], []];
  const problems = new ProblemBook({ onProblem: (problem) => told.push(formatConfigProblem(problem)) });
  const port = {
    deliver: (
      pods: readonly { metadata: { name: string } }[],
      { isComplete = true, objects: all = [] }: DeliveryOptions = {},
    ) => {
      objects.splice(0, objects.length, ...all.map(({ metadata }) => metadata.name));
      delivered.push(`${pods.map(({ metadata }) => metadata.name).join()}${isComplete ? '' : ' …'}`);
    },
  };
  const source = new StdinSource({ stdin, clock, nodeName: 'node', port, problems, parser });
  return { stdin, clock, delivered, objects, told, stop, running: source.run(stop.signal) };
}

describe('standard input', () => {
  it('is delivered when it ends', async () => {
    const { stdin, clock, delivered, told, running } = lab();
    stdin.write(aManifest('a'));
    await clock.advance(10_000);
    expect(delivered).toEqual([]);
    stdin.end(`---\n${aManifest('b')}`);
    await running;
    expect(delivered).toEqual(['a-node,b-node']);
    expect(told).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('has its complete documents delivered while it pauses', async () => {
    const { stdin, clock, delivered, running } = lab();
    stdin.write(`${aManifest('a')}---\n${aManifest('b').slice(0, 30)}`);
    await clock.advance(100);
    expect(delivered).toEqual([]);
    await clock.advance(200);
    expect(delivered).toEqual(['a-node …']);
    stdin.write(`${aManifest('b').slice(30)}...\n`);
    await clock.advance(1_000);
    expect(delivered).toEqual(['a-node …', 'a-node,b-node …']);
    stdin.end();
    await running;
    expect(delivered.at(-1)).toBe('a-node,b-node');
  });

  it('may hold objects, and one twice', async () => {
    const object = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n';
    const { stdin, delivered, objects, told, running } = lab();
    stdin.end(`${aManifest('a')}---\n${object}---\n${object}`);
    await running;
    expect(delivered).toEqual(['a-node']);
    expect(objects).toEqual(['a']);
    expect(told).toEqual([
      '<stdin>:10:1: metadata.name: Duplicate value: "a": the ConfigMap stands at <stdin>:6 already',
    ]);
  });

  it('may hold bad documents beside good ones, and a pod twice', async () => {
    const { stdin, delivered, told, running } = lab();
    stdin.end(`${aManifest('a')}---\n${aManifest('b').replace('image', 'imag')}---\n${aManifest('a')}`);
    await running;
    expect(delivered).toEqual(['a-node']);
    expect(told).toEqual([
      expect.stringMatching(/^<stdin>:9:\d+: spec\.containers\[0\]\.image: Required value/),
      expect.stringMatching(/^<stdin>:9:\d+: spec\.containers\[0\]\.imag: unknown field/),
      expect.stringMatching(/: Duplicate value: "a": stands at <stdin>:1 already$/),
    ]);
  });

  it('that is empty is reported', async () => {
    const { stdin, delivered, told, running } = lab();
    stdin.end();
    await running;
    expect(delivered).toEqual(['']);
    expect(told).toEqual([expect.stringContaining('<stdin>: there is no pod in it')]);
  });

  it('that fails has not been seen to its end', async () => {
    const { stdin, clock, delivered, told, running } = lab();
    stdin.write(`${aManifest('a')}---\n`);
    await clock.settle();
    stdin.destroy(new Error('EIO'));
    await running;
    expect(delivered).toEqual(['a-node …']);
    expect(told).toEqual(['<stdin>: cannot be read to its end: EIO']);
  });

  it('that is too large is read no further', async () => {
    const { stdin, delivered, told, running } = lab();
    stdin.write(`# ${'x'.repeat(1024 * 1024)}`);
    await running;
    expect(delivered).toEqual(['']);
    expect(told[0]).toContain('has more than 1048576 bytes');
  });

  it('keeps what was delivered when the rest is given up', async () => {
    let calls = 0;
    const { stdin, clock, delivered, told, running } = lab({
      parse: async (request, signal) =>
        ++calls === 1
          ? INLINE_PARSER.parse(request, signal)
          : { kind: 'gave-up', why: 'reading it takes too long' },
    });
    stdin.write(`${aManifest('a')}---\n`);
    await clock.advance(500);
    stdin.end(aManifest('b'));
    await running;
    expect(delivered).toEqual(['a-node …', 'a-node']);
    expect(told).toEqual(['<stdin>: reading it takes too long']);
  });

  it('is left alone when all ends', async () => {
    const { stdin, clock, delivered, stop, running } = lab();
    stdin.write(aManifest('a'));
    await clock.settle();
    stop.abort();
    await running;
    expect(delivered).toEqual([]);
    expect(stdin.isPaused()).toBe(true);
  });
});
