import { describe, expect, it } from 'vitest';
import { KlogLogger } from './klog.js';
import { matchesFile, parseVModule } from './log-settings.js';

describe('--vmodule', () => {
  it('parses patterns with levels', () => {
    expect(parseVModule('pleg=4, sync-*=5,')).toEqual([
      { filePattern: 'pleg', verbosity: 4 },
      { filePattern: 'sync-*', verbosity: 5 },
    ]);
    expect(parseVModule('')).toEqual([]);
  });

  it.each(['pleg', 'pleg=x', '=3', 'pleg=-1', 'pleg=4.5'])(
    'refuses %j, naming it and what would be right',
    (text) => {
      expect(() => parseVModule(`sync=3,${text}`)).toThrow(
        `--vmodule: ${JSON.stringify(text)} is not pattern=N`,
      );
    },
  );

  it('rejects folders, as lines name files without them', () => {
    expect(() => parseVModule('pleg/*=4')).toThrow(
      '--vmodule: "pleg/*=4" has a pattern that no file of podloop has',
    );
  });

  it.each([
    ['pleg', 'pleg.js', true],
    ['pleg', 'pleg-state.js', false],
    ['pleg*', 'pleg-state.js', true],
    ['*state', 'pleg-state.js', true],
    ['p?eg', 'pleg.js', true],
    ['p?eg', 'peg.js', false],
    ['*', 'x.js', true],
    ['a*b*c', 'a-b-b-c.js', true],
    ['a*b*c', 'a-c-b.js', false],
  ])('%s matches %s: %s', (pattern, file, isMeant) => {
    expect(matchesFile(pattern, file)).toBe(isMeant);
  });

  it('is no slower for a pattern of stars alone', () => {
    expect(matchesFile('*a'.repeat(50), `${'a'.repeat(5_000)}b.js`)).toBe(false);
  });

  it('shows more from the matching files, or less', () => {
    const lines: string[] = [];
    const open = (vmodule: string): KlogLogger =>
      new KlogLogger({
        ...{ write: (line) => void lines.push(line), clock: { now: () => 0 }, pid: 1, verbosity: 2 },
        vmodule: parseVModule(vmodule),
      });
    const more = open('log-settings.*=5');
    more.info('five', {}, 5);
    more.info('six', {}, 6);
    expect([more.enabled(5), more.enabled(6)]).toEqual([true, false]);
    open('log-settings*=1').info('two', {}, 2);
    open('other=9').info('nine', {}, 9);
    open('other=9').info('two of this file', {}, 2);
    expect(lines.map((line) => /"(.*)"/.exec(line)?.[1])).toEqual(['five', 'two of this file']);
  });
});
