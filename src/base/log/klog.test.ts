import { describe, expect, it } from 'vitest';
import { KlogLogger, type KlogLoggerOptions } from './klog.js';

const pod = { uid: 'b1c2', namespace: 'default', name: 'web' };

function aLogger(options: Partial<KlogLoggerOptions> = {}): { logger: KlogLogger; lines: string[] } {
  const lines: string[] = [];
  const logger = new KlogLogger({
    write: (line) => lines.push(line),
    // Local time, whatever this machine's zone.
    clock: { now: () => new Date(2026, 10, 21, 10, 26, 42, 444).getTime() + 0.25 },
    pid: 31_073,
    verbosity: 2,
    ...options,
  });
  return { logger, lines };
}

describe('the text form', () => {
  it("is klog's", () => {
    const { logger, lines } = aLogger({ verbosity: 4 });
    logger.info('GenericPLEG', { podUID: 'b1c2', oldState: 'running', newState: 'exited' }, 4);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^I1121 10:26:42\.444250   31073 klog\.test\.ts:\d+] "GenericPLEG" podUID="b1c2" oldState="running" newState="exited"$/,
    );
  });

  it('names the file and line of the caller', () => {
    const { logger, lines } = aLogger();
    const here = Number(/klog\.test\.ts:(\d+):/.exec(new Error().stack!)![1]);
    logger.info('one');
    logger.warn('two');
    logger.error('three');
    expect(lines.map((line) => /31073 (\S+)]/.exec(line)?.[1])).toEqual([
      `klog.test.ts:${here + 1}`,
      `klog.test.ts:${here + 2}`,
      `klog.test.ts:${here + 3}`,
    ]);
  });

  it('does not change the depth of other stack traces', () => {
    const before = Error.stackTraceLimit;
    aLogger().logger.info('one');
    expect(Error.stackTraceLimit).toBe(before);
  });

  it('puts the error before the fields, and has a letter for each level', () => {
    const { logger, lines } = aLogger();
    logger.error('Error syncing pod, skipping', new Error('no "image"'), { pod });
    logger.error('Without an error', undefined, { pod });
    logger.error('With what is no error', 'just text');
    logger.warn('Probe failed', { probeType: 'Liveness' });
    expect(lines.map((line) => `${line[0]!} ${line.slice(line.indexOf('] ') + 2)}`)).toEqual([
      String.raw`E "Error syncing pod, skipping" err="no \"image\"" pod="default/web" podUID="b1c2"`,
      'E "Without an error" pod="default/web" podUID="b1c2"',
      'E "With what is no error" err="just text"',
      'W "Probe failed" probeType="Liveness"',
    ]);
  });

  it('leaves out lines above the verbosity, but no warning or error', () => {
    const { logger, lines } = aLogger({ verbosity: 0 });
    logger.info('shown');
    logger.info('not shown', {}, 1);
    logger.warn('shown');
    logger.error('shown');
    expect(lines).toHaveLength(3);
    expect([logger.enabled(0), logger.enabled(1)]).toEqual([true, false]);
  });
});

describe('the JSON form', () => {
  it("is one object per line with the kubelet's keys", () => {
    const { logger, lines } = aLogger({ format: 'json' });
    logger.info('SyncLoop ADD', { source: 'file', pods: [pod], pod, gone: undefined, size: 3n }, 2);
    expect(JSON.parse(lines[0]!)).toEqual({
      ts: new Date(2026, 10, 21, 10, 26, 42, 444).getTime() + 0.25,
      caller: expect.stringMatching(/^klog\.test\.ts:\d+$/) as string,
      msg: 'SyncLoop ADD',
      v: 2,
      source: 'file',
      pods: [{ name: 'web', namespace: 'default' }],
      podUIDs: ['b1c2'],
      pod: { name: 'web', namespace: 'default' },
      podUID: 'b1c2',
      size: '3',
    });
  });

  it('marks errors by a missing v, and warnings by their severity', () => {
    const { logger, lines } = aLogger({ format: 'json' });
    logger.error('failed', new Error('why'), { pod });
    logger.warn('careful');
    expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'failed', err: 'why' });
    expect(JSON.parse(lines[0]!)).not.toHaveProperty('v');
    expect(JSON.parse(lines[1]!)).toMatchObject({ v: 0, severity: 'warning' });
  });

  it('separates fields called namespace and name from an object with that name', () => {
    const { logger, lines } = aLogger({ format: 'json' });
    logger.info('found', { namespace: 'default', name: 'web' });
    expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'found', namespace: 'default', name: 'web' });
  });

  it('loses no line because of an unprintable value', () => {
    const { logger, lines } = aLogger({ format: 'json' });
    const circle: Record<string, unknown> = {};
    circle['itself'] = circle;
    logger.info('odd', { circle, after: 1 });
    expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'odd', after: 1 });
  });
});

describe('a line about pods', () => {
  const web = { uid: 'u-web', namespace: 'default', name: 'web' };

  function written(fields: Record<string, unknown>, format: 'text' | 'json' = 'text'): string {
    const lines: string[] = [];
    const logger = new KlogLogger({
      ...{ write: (line) => void lines.push(line), clock: { now: () => 0 }, pid: 1, verbosity: 0, format },
    });
    logger.info('message', fields);
    return lines.join();
  }

  it('has their uids, though no caller passed them separately', () => {
    expect(written({ pod: web, exitCode: 3 })).toMatch(/ pod="default\/web" podUID="u-web" exitCode=3$/);
    expect(written({ source: 'file', pods: [web, { ...web, uid: 'u-2', name: 'job' }] })).toMatch(
      / pods=\["default\/web","default\/job"\] podUIDs=\["u-web","u-2"\]$/,
    );
    expect(JSON.parse(written({ pod: web }, 'json'))).toMatchObject({
      ...{ pod: { name: 'web', namespace: 'default' }, podUID: 'u-web' },
    });
  });

  it('has a uid once, and invents none', () => {
    expect(written({ pod: web, podUID: 'told' })).toMatch(/ pod="default\/web" podUID="told"$/);
    expect(written({ pod: 'default/web', pods: 3 })).toMatch(/ pod="default\/web" pods=3$/);
    expect(written({ pod: { namespace: 'a', name: 'b' } })).toMatch(/ pod="a\/b"$/);
  });
});
