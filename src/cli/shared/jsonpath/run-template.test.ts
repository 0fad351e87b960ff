import { describe, expect, it } from 'vitest';
import { parseTemplate, relaxTemplate } from './parse-template.js';
import { runTemplate } from './run-template.js';

/** The object of kubectl's own page about JSONPath, and some more. */
const LIST = {
  kind: 'List',
  items: [
    {
      kind: 'None',
      metadata: { name: '127.0.0.1', labels: { 'kubernetes.io/hostname': '127.0.0.1' } },
      status: { capacity: { cpu: '4' }, addresses: [{ type: 'LegacyHostIP', address: '127.0.0.1' }] },
    },
    {
      kind: 'None',
      metadata: { name: '127.0.0.2' },
      status: {
        capacity: { cpu: '8' },
        addresses: [
          { type: 'LegacyHostIP', address: '127.0.0.2' },
          { type: 'another', address: '127.0.0.3' },
        ],
      },
    },
  ],
  users: [
    { name: 'myself', user: {}, age: 3 },
    { name: 'e2e', user: { username: 'admin', password: 'secret' }, age: 10 },
  ],
  numbers: [0, 1, 2, 3, 4, 5],
  flag: true,
  nothing: null,
  half: 0.5,
};

function run(template: string, allowMissingKeys = false): string {
  return runTemplate(parseTemplate(template), LIST, { allowMissingKeys });
}

describe('a template of kubectl’s jsonpath', () => {
  it.each([
    ['kind is {.kind}', 'kind is List'],
    ['{.kind}', 'List'],
    ["{['kind']}", 'List'],
    ['{$.kind}', 'List'],
    ['the object is {@.kind}', 'the object is List'],
    ['{..name}', '127.0.0.1 127.0.0.2 myself e2e'],
    ['{.items[*].metadata.name}', '127.0.0.1 127.0.0.2'],
    ['{.users[0].name}', 'myself'],
    ['{.users[-1].name}', 'e2e'],
    ['{.users[-1:].name}', 'e2e'],
    ["{.items[*]['metadata.name', 'status.capacity']}", '127.0.0.1 127.0.0.2 {"cpu":"4"} {"cpu":"8"}'],
    ['{.users[?(@.name=="e2e")].user.password}', 'secret'],
    ["{.users[?(@.name=='e2e')].user.password}", 'secret'],
    ['{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}] {end}', '[127.0.0.1, 4] [127.0.0.2, 8] '],
    ["{range .items[*]}{.metadata.name}{'\\t'}{end}", '127.0.0.1\t127.0.0.2\t'],
    [String.raw`{.items[0].metadata.labels.kubernetes\.io/hostname}`, '127.0.0.1'],
    [String.raw`{.items[0].metadata.labels['kubernetes\.io/hostname']}`, '127.0.0.1'],
    ['{.items[1].status.addresses[?(@.type != "another")].address}', '127.0.0.2'],
    ['{.users[?(@.age > 3)].name}', 'e2e'],
    ['{.users[?(@.age >= 3)].name}', 'myself e2e'],
    ['{.users[?(@.age < 10)].name}', 'myself'],
    ['{.users[?(@.user.username)].name}', 'e2e'],
    ['{.numbers[1:3]}', '1 2'],
    ['{.numbers[:2]}', '0 1'],
    ['{.numbers[4:]}', '4 5'],
    ['{.numbers[0:5:2]}', '0 2 4'],
    ['{.numbers[*]}', '0 1 2 3 4 5'],
    ['{.numbers[2:2]}', ''],
    ['{.numbers[0,2]}', '0 2'],
    ['{.numbers}', '[0,1,2,3,4,5]'],
    ['{.users[1].user}', '{"password":"secret","username":"admin"}'],
    ['{.flag} {.half} {.nothing}', 'true 0.5 null'],
    ['{"a\\"b"}{\'c\'}', 'a"bc'],
    ['{"\\u00e9\\x41\\101\\n"}', 'éAA\n'],
    ['{.users[*].user.*}', 'secret admin'],
    ['{range .users[*]}{.name}:{range .user.*}{@}.{end};{end}', 'myself:;e2e:secret.admin.;'],
    ['{range .users[*]}{.name} ', 'myself e2e '],
    ['plain', 'plain'],
    ['', ''],
  ])('prints of %s what kubectl prints', (template, text) => {
    expect(run(template)).toBe(text);
  });

  it.each([
    ['{.items', 'unclosed action'],
    ['{.items[}', 'unterminated array'],
    ['{.items[x]}', 'invalid array index x'],
    ['{.items[?(@.a == "b"]}', 'unterminated filter'],
    ['{.items[?(@.a)}', 'unclosed array expect ]'],
    ['{"open}', 'unterminated quoted string'],
    ['{....name}', 'invalid multiple recursive descent'],
    ['{end}', 'not in range, nothing to end'],
    ['{hello}', 'unrecognized identifier hello'],
    ['{*}', "unrecognized character in action: U+002A '*'"],
    ['{"\\q"}', 'unquote string "\\q" error invalid syntax'],
    ['{.a[?(@.b=!"c")]}', 'unrecognized filter operator =!'],
    ['{1.2.3}', 'cannot parse number 1.2.3'],
  ])('refuses %s in kubectl’s words', (template, message) => {
    expect(() => parseTemplate(template)).toThrow(message);
  });

  it.each([
    ['{.missing}', 'missing is not found'],
    ['{.kind[0]}', 'string is not array or slice'],
    ['{.users[5]}', 'array index out of bounds: index 5, length 2'],
    ['{.numbers[7:9]}', 'array index out of bounds: index 7, length 6'],
    ['{.numbers[3:1]}', 'starting index 3 is greater than ending index 1'],
    ['{.numbers[0:2:0]}', 'step must be > 0'],
    ['{.users[?(@.age=="3")]}', 'incompatible types for comparison'],
    ['{.users[?(@.user<@.user)]}', 'invalid type for comparison'],
    ['{.kind[?(@.a)]}', 'string is not array or slice and cannot be filtered'],
    ['{.items[?(@.status.addresses[*].type=="another")]}', 'can only compare one element at a time'],
  ])('says of %s why it does not fit', (template, message) => {
    expect(() => run(template)).toThrow(message);
  });

  it('takes a field that is missing for nothing where that is wanted', () => {
    expect(run('[{.missing.more}]', true)).toBe('[]');
  });

  it('finds only what an object itself has', () => {
    expect(() => run('{.constructor}')).toThrow('constructor is not found');
    expect(() => run('{.__proto__}')).toThrow('__proto__ is not found');
  });
});

describe('a path as people write it', () => {
  it.each(['metadata.name', '.metadata.name', '{metadata.name}', '{.metadata.name}'])('may be %s', (text) => {
    expect(relaxTemplate(text)).toBe('{.metadata.name}');
  });

  it('may not be two', () => {
    expect(() => relaxTemplate('{.a}{.b}')).toThrow('unexpected path string');
  });
});
