import { describe, expect, it } from 'vitest';
import { parseJsonObject } from './parse-json-object.js';

describe('a JSON object', () => {
  it.each(['{}', ' {"a": [1, {"b": null}]}\n', '{"__proto__": 1}'])('is read from %j', (text) => {
    expect(parseJsonObject(text)).toEqual(JSON.parse(text));
  });

  it.each(['', '{', '[]', '[{}]', 'null', '1', '"{}"', 'true', '{"a":1} x'])(
    'is not read from %j',
    (text) => {
      expect(parseJsonObject(text)).toBeUndefined();
    },
  );
});
