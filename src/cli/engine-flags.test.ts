import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { chooseEngineFlags, setEngineFlags } from './engine-flags.js';

const namesOf = (flags: readonly string[]): string[] => flags.map((flag) => flag.split('=')[0]!);

describe('the flags of the engine', () => {
  it('are those that a release of Node has', () => {
    const [budget, growth] = ['--interrupt-budget', '--semi-space-growth-factor'];
    expect(namesOf(chooseEngineFlags('20.19.0', [], 'run'))).toEqual([budget, growth]);
    expect(namesOf(chooseEngineFlags('24.1.0', [], undefined))).toEqual([growth]);
    expect(chooseEngineFlags('99.0.0', [], 'observe')).toEqual([]);
  });

  it('are left to whoever sets them', () => {
    const given = [
      ...['--interrupt_budget=5', '--inspect', '--semi-space-growth-factor=2'],
      ...['--heap-growing-percent=50', '--no-optimize-for-size'],
    ];
    expect(chooseEngineFlags('20.20.2', given, 'observe')).toEqual([]);
    expect(chooseEngineFlags('20.20.2', ['--interrupt-budget-factor=1'], 'run')).toHaveLength(2);
  });

  it('keep an observer small', () => {
    expect(chooseEngineFlags('22.0.0', [], 'observe')).toEqual([
      '--semi-space-growth-factor=1',
      '--heap-growing-percent=20',
      '--optimize-for-size',
    ]);
    expect(chooseEngineFlags('22.0.0', [], 'run')).toEqual(['--semi-space-growth-factor=16']);
  });

  it.each(['run', 'observe'])(
    'are known to the Node that runs here, which would say so otherwise: %s',
    (command) => {
      const flags = chooseEngineFlags(process.versions.node, [], command);
      const script = `for (const flag of ${JSON.stringify(flags)}) require('node:v8').setFlagsFromString(flag); console.error('end');`;
      const said = execFileSync('sh', ['-c', 'exec "$0" -e "$1" 2>&1', process.execPath, script], {
        encoding: 'utf8',
      });
      expect(said).toBe('end\n');
    },
  );

  it('are set again until a thread is online, as V8 corrects them when it makes its heap', async () => {
    const set: string[] = [];
    const listeners = process.listeners('worker');
    setEngineFlags(['--one=1', '--two=2'], process, (flag) => set.push(flag));
    const own = process.listeners('worker').find((listener) => !listeners.includes(listener))!;
    try {
      expect(set).toEqual(['--one=1', '--two=2']);
      const thread = new Worker('setInterval(() => {}, 1_000)', { eval: true });
      await once(thread, 'online');
      expect(set.length).toBeGreaterThanOrEqual(4);
      expect(set.slice(-2)).toEqual(['--one=1', '--two=2']);
      const before = set.length;
      await thread.terminate();
      expect(set).toHaveLength(before + 2);
    } finally {
      process.off('worker', own);
    }
  });
});
