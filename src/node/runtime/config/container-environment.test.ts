import { expect, it } from 'vitest';
import { ContainerEnvironment, expandVariables } from './container-environment.js';

const valueOf = (name: string): string | undefined => ({ A: 'a', EMPTY: '' })[name];

function environmentOf(...variables: (readonly [string, string])[]): ContainerEnvironment {
  const environment = new ContainerEnvironment();
  for (const [name, text] of variables) environment.setExpanded(name, text);
  return environment;
}

const textsOf = ({ entries }: ContainerEnvironment): string[] =>
  entries.map(({ name, value }) => `${name}=${value.toString()}`);

it.each([
  ['$(A)', 'a'],
  ['x$(A)y$(A)', 'xaya'],
  ['$(EMPTY)', ''],
  ['$(UNKNOWN)', '$(UNKNOWN)'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$a'],
  ['$$$$(A)', '$$(A)'],
  ['$(A$(A))', '$(A$(A))'],
  ['$()', '$()'],
  ['$A', '$A'],
  ['$(A', '$(A'],
  ['100$', '100$'],
  ['$$', '$'],
])('expands %s to %s', (text, expanded) => {
  expect(expandVariables(text, valueOf)).toBe(expanded);
});

it('looks for the end of a reference once where there is none', () => {
  const beginnings = '$('.repeat(500_000);
  expect(expandVariables(beginnings, valueOf)).toBe(beginnings);
  expect(expandVariables(`${beginnings}$$`, valueOf)).toBe(`${beginnings}$`);
});

it('refuses what grows beyond all bounds before it does', () => {
  const words = 'come to more than 16777216 bytes; mount large values as files';
  const environment = environmentOf(['V0', 'x'.repeat(1_000)]);
  const grow = (): void => {
    for (let at = 1; at < 60; at++) environment.setExpanded(`V${at}`, `$(V${at - 1})`.repeat(10));
  };
  expect(grow).toThrow(words);
  const large = environmentOf(['LARGE', 'x'.repeat(100_000)]);
  const expandAll = (): void => {
    for (let count = 0; count < 100_000; count++) large.expand('$(LARGE)');
  };
  expect(expandAll).toThrow(words);
  expect(() => large.setVerbatim('FROM_ELSEWHERE', 'y'.repeat(1_000_000))).toThrow(words);
});

it('expands a variable with those before it, and not with those after', () => {
  const environment = environmentOf(
    ['FIRST', 'see $(SECOND)'],
    ['SECOND', '2'],
    ['THIRD', '$(SECOND)+1'],
    ['NOTHING', ''],
  );
  expect(textsOf(environment)).toEqual(['FIRST=see $(SECOND)', 'SECOND=2', 'THIRD=2+1', 'NOTHING=']);
});

it('lets the last of a name hold, which may build on the one before', () => {
  const environment = environmentOf(['P', '/bin'], ['Q', 'q'], ['P', '/opt:$(P)']);
  expect(textsOf(environment)).toEqual(['Q=q', 'P=/opt:/bin']);
  expect(environment.expand('see $(P)')).toBe('see /opt:/bin');
});

it('takes no value for a reference', () => {
  const environment = new ContainerEnvironment();
  environment.setVerbatim('SECRET', '$(HOME) $$');
  environment.setExpanded('HOME', '/root');
  environment.setExpanded('URL', 'x=$(SECRET)');
  expect(environment.find('URL')).toBe('x=$(HOME) $$');
  expect(environment.find('NONE')).toBeUndefined();
});

it('hands bytes on that are no text, and puts them into no command', () => {
  const environment = new ContainerEnvironment();
  environment.setVerbatim('RAW', new Uint8Array([0xff, 0x41]));
  environment.setExpanded('MORE', 'ä$(RAW)');
  expect(environment.entries[1]?.value).toEqual(Buffer.from([0xc3, 0xa4, 0xff, 0x41]));
  expect(environment.expand('wörld')).toBe('wörld');
  expect(() => environment.expand('say $(MORE)')).toThrow(
    '"say $(MORE)" refers to a variable that is no UTF-8 text',
  );
});

it('refuses what no variable can hold, without saying the value', () => {
  const environment = new ContainerEnvironment();
  expect(() => environment.setVerbatim('KEY', 'hid\0den')).toThrow(
    'environment variable "KEY" has a NUL character, which none can hold',
  );
});

it.each([
  ['of one line', 'correct-horse-battery'],
  ['of several lines', 'correct-horse\nbattery-staple\r\nand-the-rest\n'],
  ['with what has to be quoted', 'correct"horse\tbattery\\staple'],
  ['that an earlier variable of the name had', 'correct-horse\nbattery-staple', 'another-value'],
])('hides a value %s wherever a message ends', (_what, ...values) => {
  const environment = new ContainerEnvironment();
  for (const value of values) environment.setSecret('KEY', Buffer.from(value));
  const [value] = values as [string];
  for (const quote of [String, JSON.stringify, (text: string) => JSON.stringify(JSON.stringify(text))]) {
    const whole = `exec: ${quote(`/bin/${value}/x`)}: no such file`;
    const from = whole.indexOf('/bin/') + '/bin/'.length;
    for (let end = from + 6; end <= whole.length; end++) {
      // A word of less than six characters may be any.
      expect(environment.hideSecrets(whole.slice(0, end))).not.toMatch(/correct|horse-b|battery|staple|rest/);
    }
    for (const line of value.split('\n').filter((each) => each.trim() !== ''))
      expect(environment.hideSecrets(`exec: ${quote(`/bin/${line.trim()}`)}`)).not.toMatch(
        /horse|battery|rest/,
      );
  }
  expect(environment.hideSecrets('exec: /bin/sh: no such file')).toBe('exec: /bin/sh: no such file');
});
